"""Models of labels, their calibration and their scores."""
