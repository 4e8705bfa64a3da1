"""Labels of items: votes, Dawid-Skene, calibration, experts' decisions."""
