"""What was measured, against whom; not part of the test run."""
