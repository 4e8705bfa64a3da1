"""Campaigns with a known truth, made from a seed: what methods can be held against."""
