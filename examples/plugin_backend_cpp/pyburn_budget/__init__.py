"""The device `budget:<megabytes>` for pyburn: the CPU with a limit on its memory."""

from pathlib import Path

import pyburn

pyburn.load_library(Path(__file__).parent / "plugin.so")
