"""A week of nightly exports: what comes in, and what the pipeline says and publishes."""
