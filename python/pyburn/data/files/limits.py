"""Limits on what a data file may ask for, listed in docs/limits.md. Assign to one to raise it."""

from __future__ import annotations

DEFLATE_RATIO = 1032  # one byte of deflate never becomes more than this many: what claims more is damaged, whatever it claims
MOST_INFLATED = 4 << 30  # bytes of a gzip file when unpacked in memory
DEEPEST_PICKLE = 50  # containers inside each other
SQLITE_SECONDS = 30.0  # processor time of one query
SQLITE_LARGEST_VALUE = 1 << 28  # bytes of one text or blob
