"""Feature banks: every feature of every example as one byte, in memory, on disk or lazily."""
