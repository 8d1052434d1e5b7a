"""Families of features of images, one module each."""
