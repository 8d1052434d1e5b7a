"""Tasting: features held from each family say which family is useful."""
