"""What changed between two releases, and why: states in between, built and compared."""
