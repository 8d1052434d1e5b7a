"""Calibration of planning: measured and predicted edges of searches of Q features on T examples."""
