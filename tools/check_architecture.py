"""Fails when the folders in the tables of ARCHITECTURE.md are not those of the tree, or when it names a file that does not exist.

python tools/check_architecture.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "ARCHITECTURE.md"
# Folders whose subfolders are in the tables.
PARENTS = ("src/pyburn/", "src/pyburn/backends/", "src/pyburn/decorators/", "python/", "python/pyburn/")
INNER = {"src/pyburn/ops/generated/", "python/pyburn/"}  # parts of a row, not rows
# What the paths of the text are relative to.
BASES = ("", "src/pyburn/", "src/pyburn/backends/cpu/", "python/", "python/pyburn/")


def folders(files: list[str]) -> set[str]:
    """The folders directly below PARENTS that hold sources."""
    found = set()
    for file in files:
        for parent in PARENTS:
            child = file.removeprefix(parent).partition("/")
            if file.startswith(parent) and child[1] and file.endswith((".py", ".cpp", ".h")):
                found.add(f"{parent}{child[0]}/")
    return found - INNER


def complaints(page: str, files: list[str]) -> list[str]:
    """What is wrong with the page, given all files of the tree."""
    listed = set(re.findall(r"^\| `([\w/]+/)` \|", page, re.MULTILINE))
    tree = folders(files)
    found = [f"{PAGE}: no row for {folder}" for folder in sorted(tree - listed)]
    found += [f"{PAGE}: {folder} does not exist" for folder in sorted(listed - tree)]
    everything = {*files, *(str(parent) + "/" for file in files for parent in Path(file).parents)}
    for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?|\w+\.(?:h|cpp|py))`", page):
        known = any(base + path in everything or base + path + "/" in everything for base in BASES)
        if path not in listed and not known and not any(file.endswith("/" + path) for file in files):
            found.append(f"{PAGE}: {path} does not exist")
    return found


def main() -> int:
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    files = [file for file in listing.stdout.splitlines() if (ROOT / file).is_file()]
    found = complaints((ROOT / PAGE).read_text(encoding="utf-8"), files)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
