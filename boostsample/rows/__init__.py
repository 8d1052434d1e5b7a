"""The rows of a run: weights, draws of examples, searches and updates."""
