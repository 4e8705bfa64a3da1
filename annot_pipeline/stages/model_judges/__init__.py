"""Model judges held against people."""
