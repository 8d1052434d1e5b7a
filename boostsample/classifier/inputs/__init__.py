"""What a fit is given: examples, labels, weights, and rows held out."""
