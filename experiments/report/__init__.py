"""The report: one HTML file of tables, pictures and facts."""
