"""Benchmarks of looks, rounds and their growth."""
