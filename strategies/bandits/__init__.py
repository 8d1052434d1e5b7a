"""Strategies whose arms are families or features, pulled by a policy of `boostsample.bandits`."""
