"""Loads data sets: named benchmark sets, synthetic tasks and the user's own files."""
