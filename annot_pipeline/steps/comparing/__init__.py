"""Comparisons of outputs: how preferences, rankings and HITs become them, and all made of them."""
