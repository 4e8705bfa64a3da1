"""The version of the code, which every manifest and signature carries."""

__version__ = "0.1.0"
