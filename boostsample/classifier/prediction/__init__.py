"""What a fitted classifier gives: labels, probabilities, and their export."""
