"""Trained models, and the input of the classifier that trains them."""
