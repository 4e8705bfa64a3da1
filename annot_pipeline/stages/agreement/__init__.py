"""Agreement of judges on labels, scores and preferences."""
