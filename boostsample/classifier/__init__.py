"""What the scikit-learn classifier is made of: inputs, probabilities, early stopping."""
