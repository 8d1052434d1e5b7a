"""The runner: trains the missing cells of a plan on a backend."""
