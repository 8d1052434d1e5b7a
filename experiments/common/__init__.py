"""Files, collected errors and progress: shared by all experiments."""
