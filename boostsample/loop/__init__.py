"""The boosting loop."""
