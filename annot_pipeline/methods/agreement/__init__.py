"""Coefficients of agreement."""
