"""Scores of items: standardize by judge, average, EASL."""
