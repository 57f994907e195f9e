"""Runs pyright and mypy over the programs of the documentation and the examples, as users' editors do.

    python tools/check_types.py                # counts and lists what they say, reveal_type included; fails if it is anything
    python tools/check_types.py docs/train.md  # of these files

The Python blocks of a page are one program, whose lines have the numbers that they have on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted(p for p in (ROOT / "examples").rglob("*.py") if "build" not in p.parts)
MYPY_LINE = re.compile(r"(.*?):(\d+): (?:error|note): (.*)")
Complaint = tuple[str, int, str]  # file, line, text


def program_of(page: Path) -> str:
    """The Python blocks of a page, with an empty line for every line outside of them."""
    lines, inside = [], False
    for line in page.read_text().splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines) + "\n"


def pyright(files: list[Path]) -> list[Complaint]:
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "pythonVersion": "3.10",
            "typeCheckingMode": "basic",
            "extraPaths": [str(ROOT / "python"), *sorted({str(file.parent) for file in files})],
            "include": [os.path.relpath(file, Path(folder).resolve()) for file in files],
            "reportMissingImports": False,  # PyTorch and other libraries that a program compares with
            "reportMissingModuleSource": False,
        }
        (Path(folder) / "pyrightconfig.json").write_text(json.dumps(config))
        command = [sys.executable, "-m", "pyright", "--outputjson", "--project", folder, "--pythonpath", sys.executable]
        done = subprocess.run(command, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    if answer["summary"]["filesAnalyzed"] < len(files):
        raise RuntimeError(f"pyright read {answer['summary']['filesAnalyzed']} of {len(files)} files: {done.stderr}")
    found = [d for d in answer["generalDiagnostics"] if d["severity"] == "error" or d["message"].startswith("Type of")]
    return [(d["file"], d["range"]["start"]["line"] + 1, d["message"] + (f" [{d['rule']}]" if "rule" in d else "")) for d in found]


def mypy(files: list[Path]) -> list[Complaint]:
    options = ["--config-file=", "--python-version=3.10", "--check-untyped-defs", "--ignore-missing-imports", "--follow-imports=silent"]
    options += [
        "--no-error-summary",
        "--scripts-are-modules",
        "--allow-redefinition-new",
        "--local-partial-types",
        "--cache-dir",
        str(ROOT / ".mypy_cache" / "users"),
    ]
    found = []
    for folder, group in groupby(sorted(files), key=lambda file: file.parent):  # files of one folder import each other
        command = [sys.executable, "-m", "mypy", *options, *map(str, group)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")}, cwd=folder)
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout + done.stderr)
        lines = [m for m in map(MYPY_LINE.match, done.stdout.splitlines()) if m and (": error: " in m[0] or "Revealed type" in m[3])]
        found += [(str((folder / m[1]).resolve()), int(m[2]), m[3]) for m in lines]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="pages (.md) and programs (.py); by default all of docs and examples")
    parser.add_argument("--checker", choices=("pyright", "mypy"), help="run this one alone")
    options = parser.parse_args()
    chosen = [file.resolve() for file in options.files] or PAGES + EXAMPLES
    with tempfile.TemporaryDirectory() as folder:
        programs = {}  # the file that is checked -> the file that it comes from
        for file in chosen:
            target = file
            if file.suffix == ".md":
                target = Path(folder).resolve() / f"{file.stem.replace('-', '_')}_page.py"
                target.write_text(program_of(file))
            programs[str(target)] = file
        status = 0
        for checker in (pyright, mypy):
            if options.checker in (None, checker.__name__):
                found = checker([Path(program) for program in programs])
                for path, line, text in found:
                    print(f"{os.path.relpath(programs.get(path, path))}:{line}: {text}")
                files = Counter(path for path, _, _ in found)
                print(f"{checker.__name__}: {len(found)} errors in {len(files)} of {len(programs)} programs")
                status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
