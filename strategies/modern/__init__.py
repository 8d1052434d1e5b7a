"""Samplers of later papers and of other libraries, one file each."""
