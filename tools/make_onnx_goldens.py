"""Writes tests/onnx/real_models.json: what ONNX Runtime computes with the models of the shared data.

python tools/make_onnx_goldens.py DATA    (needs onnxruntime; DATA is the folder of the shared data)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-not-found]

TARGET = Path(__file__).resolve().parent.parent / "tests" / "onnx" / "real_models.json"
INPUTS: dict[str, list[dict[str, list[int] | int]]] = {
    "mnist.onnx": [{"input.1": [1, 1, 28, 28]}],
    "yunet_n_320_320.onnx": [{"input": [1, 3, 320, 320]}],
    "yunet_n_dynamic.onnx": [{"input": [1, 3, 320, 320]}, {"input": [2, 3, 96, 160]}],
    "silero_vad_op18_ifless.onnx": [
        {"input": [1, 576], "state": [2, 1, 128], "sr": 16000},
        {"input": [3, 576], "state": [2, 3, 128], "sr": 16000},
        {"input": [1, 288], "state": [2, 1, 128], "sr": 8000},
    ],
}


def make_input(size: list[int] | int) -> Any:
    """The same numbers everywhere: a wave, or the integer itself."""
    if isinstance(size, int):
        return np.array(size, np.int64)
    return np.sin(np.arange(int(np.prod(size)), dtype=np.float64) * 0.37).astype(np.float32).reshape(size)


def main() -> None:
    rows = []
    for name, sets in INPUTS.items():
        session = onnxruntime.InferenceSession(Path(sys.argv[1]) / "models" / name, providers=["CPUExecutionProvider"])
        for sizes in sets:
            outputs = session.run(None, {key: make_input(size) for key, size in sizes.items()})
            table = {}
            for info, value in zip(session.get_outputs(), outputs, strict=True):
                flat = value.ravel().astype(np.float64)
                picked = np.linspace(0, flat.size - 1, min(flat.size, 16)).astype(int)
                table[info.name] = {"shape": list(value.shape), "sum": float(flat.sum()), "picked": [float(v) for v in flat[picked]]}
            rows.append({"model": name, "inputs": sizes, "outputs": table})
    TARGET.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
