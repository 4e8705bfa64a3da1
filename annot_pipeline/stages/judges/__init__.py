"""Judge control: pair control items, test judges, drop those who fail."""
