"""Benchmarks of looks, rounds and their growth, and the check against kept ratios."""
