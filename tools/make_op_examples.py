"""Writes tools/op_examples.json: what the examples of the operations print. Run tools/generate.py afterwards.

PYTHONPATH=build/stage python tools/make_op_examples.py
"""

from __future__ import annotations

import code
import contextlib
import io
import json

from op_docs import EXAMPLES
from schema import read_all

import pyburn


def output(example: str) -> str:
    """What the interactive interpreter prints for an example."""
    pyburn.manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code.InteractiveInterpreter({"pyburn": pyburn}).runsource(example)
    text = printed.getvalue().rstrip()
    if "Traceback" in text:
        raise SystemExit(f"{example}\n{text}")
    return text


def main() -> None:
    outputs = {e.name: output(e.example) for e in read_all() if e.public and e.example}
    EXAMPLES.write_text(json.dumps(outputs, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
