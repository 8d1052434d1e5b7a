"""What to compare: variants of strategies, plans, and grids of them."""
