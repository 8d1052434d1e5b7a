"""Models from tables in files: fits a classifier, predicts and explains."""
