"""Helpers shared by all experiments: files, collected errors, progress, size of the memory."""
