"""Plan the next HITs."""
