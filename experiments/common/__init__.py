"""Helpers shared by all experiments: files, collected errors, progress, random streams, memory."""
