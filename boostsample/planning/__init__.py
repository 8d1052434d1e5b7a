"""Planning of searches: Gaussian mixtures of edges, and the expected edge e(Q,T)."""
