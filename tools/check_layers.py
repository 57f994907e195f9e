"""Fails when a folder of src/pyburn includes one that comes after it.

python tools/check_layers.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src" / "pyburn"

# Each may include itself and the ones before it.
LAYERS = [
    "support",
    "tensor",
    "ir",
    "runtime",
    "ops",
    "graph",
    "backends",
    "decorators",
    "nn",
    "optim",
    "io",
    "onnx",
    "inference",
]
# Siblings: a folder inside one of these includes none of the others.
SIBLINGS = ("backends", "decorators")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]pyburn/([^">]+)[">]')


def complaint(folder: tuple[str, ...], included: tuple[str, ...]) -> str | None:
    """Why a file in `folder` may not include a file of `included` (folders below src/pyburn), or None."""
    if not folder:
        return None  # pyburn.h and its source see everything
    if not included:
        return "files of the root are for users"
    if included[0] not in LAYERS:
        return f"{included[0]}/ is not a layer"
    if folder[0] in SIBLINGS and included[0] in SIBLINGS:
        return None if folder[:2] == included[:2] else f"{'/'.join(folder[:2])} and {'/'.join(included[:2])} are siblings"
    if LAYERS.index(included[0]) > LAYERS.index(folder[0]):
        return f"{included[0]}/ comes after {folder[0]}/"
    return None


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".h", ".cpp", ".inc")):
        folder = path.relative_to(root).parts[:-1]
        if folder and folder[0] not in LAYERS:
            found.append(f"{path}:1: {folder[0]}/ is not a layer")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and (why := complaint(folder, tuple(match[1].split("/")[:-1]))):
                found.append(f'{path}:{number}: includes "pyburn/{match[1]}", but {why}')
    return found


def main() -> int:
    found = violations(SOURCES)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
