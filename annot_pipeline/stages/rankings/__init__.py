"""Comparisons of outputs, and rankings of segments and systems."""
