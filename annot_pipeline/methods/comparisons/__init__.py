"""Rankings from comparisons, and graphs of comparisons."""
