"""Maximum Adaptive Sampling, which plans a search by models of the edges of each family."""
