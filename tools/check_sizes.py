"""Fails where sizes are multiplied without a check for overflow.

python tools/check_sizes.py

Extents, strides and the options of layers come from users and files. Where the code that computes shapes and layouts multiplies them, one
factor is a `Checked` (support/checked.h), which raises on overflow. A product that cannot overflow says why: `// fits: ...` on its line.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src" / "pyburn"
FOLDERS = ("tensor", "ir", "runtime", "ops", "graph", "inference", "io", "nn", "onnx", "optim")

# An element of a list of sizes, or a number of elements.
SIZE = r"(?:shapes?(?:\(\))?|strides?(?:\(\))?|sizes?|extents?|dilations?|paddings?|kernels?(?:_size)?|whole|padded|repeats|steps|reps)"
OPTION = r"\b(?:stride|dilation|padding|kernel|repeats)\b(?![\[(])"  # of one dimension
FACTOR = rf"(?:{OPTION}|\b{SIZE}\[[^\]]*\]|\b{SIZE}(?:\(\))?\.back\(\)|\bnumel\(\)|\bcount\([^()]*\))"
PRODUCT = re.compile(rf"{FACTOR}\)* \* [\w(]|[\w)\]] \* \(?[\w.\->]*{FACTOR}")
HARMLESS = re.compile(r"\bChecked\b|\bdouble\b|// fits: \w")


def code_of(text: str) -> list[str]:
    """The lines, with text in quotes and raw strings left out: samples and documentation are no code."""
    blank = re.compile(r'R"\((.*?)\)"', re.DOTALL)
    text = blank.sub(lambda m: '""' + "\n" * m[0].count("\n"), text)
    return [re.sub(r'"(?:[^"\\]|\\.)*"', '""', line) for line in text.splitlines()]


def complaints(path: Path) -> list[str]:
    return [
        f"{path}:{number}: sizes are multiplied without Checked(): {line.strip()}"
        for number, line in enumerate(code_of(path.read_text()), 1)
        if PRODUCT.search(line) and not HARMLESS.search(line) and not line.lstrip().startswith("//")
    ]


def violations(root: Path) -> list[str]:
    files = (p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.suffix in (".h", ".cpp"))
    return [line for path in files if "generated" not in path.parts for line in complaints(path)]


def main() -> int:
    found = violations(SOURCES)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
