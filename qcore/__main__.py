"""``python -m qcore`` is ``qcore``."""

import sys

from qcore.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
