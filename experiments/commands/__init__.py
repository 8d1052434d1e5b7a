"""The commands of `boostsample`, one module each; importing them is light."""
