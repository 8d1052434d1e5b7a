"""``python -m boostsample`` is the command ``boostsample``."""

import sys

from boostsample.experiments.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
