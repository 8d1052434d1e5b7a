"""Runs comparisons: trains the missing cells of plans on a backend."""
