"""Scores of items and systems."""
