"""Work shared among threads, with results that do not depend on their number."""
