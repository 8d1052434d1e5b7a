"""Kernels that find the best stump of features: histograms of bins, sweeps over cuts."""
