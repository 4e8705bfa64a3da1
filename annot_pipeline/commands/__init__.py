"""What the commands do, importable from Python."""
