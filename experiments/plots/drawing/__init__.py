"""How pictures are drawn, laid out and written."""
