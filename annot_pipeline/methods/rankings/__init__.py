"""Rankings of systems that allow for judges and segments that repeat."""
