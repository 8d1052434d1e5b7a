"""Plans a comparison: strategies with settings, data sets, tuning grids and grid files."""
