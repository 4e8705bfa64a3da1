"""Exports become judgments: archive, parse, resolve identities and fates."""
