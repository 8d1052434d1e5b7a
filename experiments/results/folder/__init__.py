"""Folders of results: written, read and continued."""
