"""python -m pyburn: the command `pyburn`."""

from __future__ import annotations

import sys

from pyburn.cli import main

if __name__ == "__main__":
    sys.exit(main())
