"""``python -m qcore_inspector [path]``."""

import sys

from .app import main

if __name__ == "__main__":
    sys.exit(main())
