"""The boosting loop: rounds, searches, weights, draws of examples and the ledger of looks."""
