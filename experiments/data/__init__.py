"""Data sets: by name, from files, or made."""
