"""Limits for reading untrusted data files, described in docs/limits.md. Assign to a constant to raise it."""

from __future__ import annotations

DEFLATE_RATIO = 1032  # maximum expansion of deflate: larger claims can only come from damaged files
MOST_INFLATED = 4 << 30  # decompressed bytes of a gzip file in memory
DEEPEST_PICKLE = 50  # nested containers
SQLITE_SECONDS = 30.0  # CPU time per query
SQLITE_LARGEST_VALUE = 1 << 28  # bytes per text or blob
