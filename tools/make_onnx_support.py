"""Writes docs/parity/onnx.md: the operators of ONNX, and how many cases of ONNX's backend suite pass.

python tools/make_onnx_support.py    (needs pyburn and the onnx package)
"""

from __future__ import annotations

import collections
import os
import sys
from pathlib import Path
from typing import Any

import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "onnx"))
import suite  # type: ignore[import-not-found]  # noqa: E402

from pyburn import _core  # noqa: E402

HEAD = """# Operators of ONNX

`tools/make_onnx_support.py` wrote this page from the table of operators and from `tests/onnx`, which runs the backend suite of onnx
{version}: {passed} of {total} cases pass; of the {runtime} that ONNX Runtime 1.31 passes, {of_runtime}.

A version is that of the operator set from which a row serves. A model that needs an operator in an older one is refused when it is loaded.
"Cases" counts the cases of the suite in which the operator is a node of the main graph.

| operator | versions | cases |
|---|---|---|
"""


def operators_of(case: Any) -> set[tuple[str, str]]:
    folder = case.model_dir
    model = case.model if folder is None else onnx.load(os.path.join(folder, "model.onnx"))
    return {("" if node.domain == "ai.onnx" else node.domain, node.op_type) for node in model.graph.node}


def main() -> None:
    failures, runtime = suite.expected_failures(), suite.ONNXRUNTIME.read_text().split()
    versions: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    passed: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    total: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for domain, name, since in _core._onnx.operators():
        versions[domain, name].append(since)
    for name, case in suite.cases().items():
        for operator in operators_of(case):
            total[operator].append(name)
            if name not in failures:
                passed[operator].append(name)
    lines = []
    for domain, name in sorted(versions.keys() | total.keys()):
        rows = ", ".join(str(v) for v in sorted(versions[domain, name])) or ("by its body" if passed[domain, name] else "not supported")
        counts = f"{len(passed[domain, name])} of {len(total[domain, name])}" if total[domain, name] else ""
        lines.append(f"| {domain + '::' if domain else ''}{name} | {rows} | {counts} |\n")
    head = HEAD.format(
        version=onnx.__version__,
        passed=len(suite.cases()) - len(failures),
        total=len(suite.cases()),
        runtime=len(runtime),
        of_runtime=sum(name not in failures for name in runtime),
    )
    (ROOT / "docs" / "parity" / "onnx.md").write_text(head + "".join(lines))


if __name__ == "__main__":
    main()
