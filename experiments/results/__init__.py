"""Results of runs: rows, curves, levels and results folders."""
