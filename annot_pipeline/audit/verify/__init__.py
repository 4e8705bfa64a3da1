"""A proof for every file of a release, and of the archive behind it."""
