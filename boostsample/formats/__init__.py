"""Readers of files with very many columns, as tables that are read by columns."""
