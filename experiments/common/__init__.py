"""Helpers shared by all experiments: files, collected errors, progress, machine and versions."""
