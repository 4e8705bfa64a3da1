"""The sections of the report, each a function of its contents that gives HTML, or nothing."""
