"""``python -m qcore.cli``."""

import sys

from qcore.cli.app import main

sys.exit(main())
