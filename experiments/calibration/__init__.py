"""Calibration of the planner: true mean edges beside predicted ones."""
