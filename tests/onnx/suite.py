"""ONNX's own backend suite on pyburn: what is run, and what is expected of it.

python tests/onnx/suite.py            runs everything and says what differs from expected_failures.json
python tests/onnx/suite.py --write    writes that file; reasons are kept, and those of new failures are the errors
"""

from __future__ import annotations

import functools
import glob
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")  # 'real' models are downloads
EXPECTED = Path(__file__).with_name("expected_failures.json")
ONNXRUNTIME = Path(__file__).with_name("onnxruntime_passes.txt")


@functools.cache
def cases() -> dict[str, Any]:
    """All cases by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for kind in KINDS for case in load_model_tests(kind=kind)}


def expected_failures() -> dict[str, str]:
    """The reason for each case that is expected to fail."""
    return json.loads(EXPECTED.read_text())


def _array(value: Any) -> Any:
    import onnx
    from onnx import numpy_helper

    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    return numpy_helper.to_optional(value) if isinstance(value, onnx.OptionalProto) else value


def _read(path: str, kind: Any) -> Any:
    import onnx

    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto, "tensor_type": onnx.TensorProto}
    message: Any = kinds[kind.WhichOneof("value")]()
    message.ParseFromString(Path(path).read_bytes())
    return _array(message)


def _data_sets(case: Any, model: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    if case.model_dir is None:
        for inputs, outputs in case.data_sets:
            yield [_array(v) for v in inputs], [_array(v) for v in outputs]
        return
    for folder in sorted(glob.glob(os.path.join(case.model_dir, "test_data_set_*" + os.sep))):
        found = [len(glob.glob(os.path.join(folder, name + "_*.pb"))) for name in ("input", "output")]
        yield (
            [_read(os.path.join(folder, f"input_{i}.pb"), model.graph.input[i].type) for i in range(found[0])],
            [_read(os.path.join(folder, f"output_{i}.pb"), model.graph.output[i].type) for i in range(found[1])],
        )


def run(name: str) -> None:
    """Runs a case; raises where the results are not those of the case."""
    import onnx
    from onnx.backend.test.runner import Runner

    from pyburn.onnx import backend

    case = cases()[name]
    model = case.model if case.model_dir is None else onnx.load(os.path.join(case.model_dir, "model.onnx"))
    prepared = backend.prepare(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inputs, outputs in _data_sets(case, model):
            Runner.assert_similar_outputs(outputs, list(prepared.run(inputs)), rtol=case.rtol, atol=case.atol, model_dir=case.model_dir)


def main() -> int:
    failures = {}
    for name in cases():
        try:
            run(name)
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    known = expected_failures() if EXPECTED.exists() else {}
    runtime = ONNXRUNTIME.read_text().split() if ONNXRUNTIME.exists() else []
    print(f"{len(cases()) - len(failures)} of {len(cases())} pass", end="")
    print(f"; of the {len(runtime)} that ONNX Runtime passes, {sum(name not in failures for name in runtime)}")
    for name in sorted(failures.keys() - known.keys()):
        print(f"fails: {name}: {failures[name]}")
    for name in sorted(known.keys() - failures.keys()):
        print(f"passes: {name}")
    if "--write" in sys.argv:
        table = {name: known.get(name, failures[name]) for name in sorted(failures)}
        EXPECTED.write_text(json.dumps(table, indent=1) + "\n")
    return failures.keys() != known.keys()


if __name__ == "__main__":
    sys.exit(main())
