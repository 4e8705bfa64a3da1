"""Shared numerics: bootstrap, moments, intervals, sorting."""
