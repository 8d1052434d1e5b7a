"""``python -m boostsample`` is the command ``boostsample``."""

import sys

from boostsample.cli import main

if __name__ == "__main__":
    sys.exit(main())
