"""Planning of searches: Gaussian mixtures of edges, and e(Q,T), the edge that they will find."""
