"""Kernels that fit Gaussian mixtures and integrate over their edges."""
