"""Designs of HITs."""
