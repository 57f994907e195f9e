"""Sessions of one framework in a process of its own: pyburn's, or ONNX Runtime's on what PyTorch exports.

Commands arrive on standard input, one JSON list per line; answers leave the same way.
    ["export", name, batch, folder]            -> null; the peer writes model.onnx, weights.pt, input.npy there
    ["prepare", name, batch, folder, threads]  -> {"load": s, "first": s, "memory": bytes}; output.npy is written
    ["turn", "", seconds]                      -> [median, mean] seconds per run
    ["forget"], ["version"]
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from child import Timed

from models.zoo import MODELS, OTHERS

BY_NAME = {m.name: m for m in MODELS + OTHERS}


def resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


class OnnxRuntime:
    """ONNX Runtime on PyTorch's export."""

    def __init__(self) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self.runtime, self.version = onnxruntime, f"ONNX Runtime {onnxruntime.__version__}"

    def export(self, name: str, batch: int, folder: Path) -> None:
        import numpy
        import torch
        import torchvision

        torch.manual_seed(0)
        model = BY_NAME[name].make(torch, torchvision.models).eval()
        for module in model.modules():  # statistics that are not all 0 and 1
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(std=0.1)
                module.running_var.uniform_(0.8, 1.2)
        x = torch.randn(batch, *BY_NAME[name].shape)
        torch.onnx.export(model, (x,), str(folder / "model.onnx"), dynamo=False, input_names=["x"], output_names=["y"])
        torch.save(model.state_dict(), folder / "weights.pt")
        numpy.save(folder / "input.npy", x.numpy())

    def prepare(self, name: str, folder: Path, threads: int) -> Any:
        import numpy

        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = threads
        x = numpy.load(folder / "input.npy")
        before, start = resident(), time.perf_counter()
        session = self.runtime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        loaded = time.perf_counter()
        y = session.run(None, {"x": x})[0]
        figures = {"load": loaded - start, "first": time.perf_counter() - loaded, "memory": resident() - before}
        numpy.save(folder / "output_onnxruntime.npy", y)
        return figures, lambda: session.run(None, {"x": x})


class Pyburn:
    def __init__(self) -> None:
        import pyburn

        self.pyburn, self.version = pyburn, f"pyburn {pyburn.__version__}"

    def export(self, name: str, batch: int, folder: Path) -> None:
        import numpy

        import p_vision

        pyburn = self.pyburn
        model = BY_NAME[name].make(pyburn, p_vision.models).eval()
        model.load_state_dict(pyburn.load(folder / "weights.pt"))
        x = pyburn.tensor(numpy.load(folder / "input.npy"))
        pyburn.inference.compile(model, x).save(folder / "model.graph")

    def prepare(self, name: str, folder: Path, threads: int) -> Any:
        import numpy

        pyburn = self.pyburn
        pyburn.set_num_threads(threads)
        x = pyburn.tensor(numpy.load(folder / "input.npy"))
        load = pyburn.inference.load
        before, start = resident(), time.perf_counter()
        session = load(folder / "model.graph")
        loaded = time.perf_counter()
        y = session(x)
        figures = {"load": loaded - start, "first": time.perf_counter() - loaded, "memory": resident() - before}
        numpy.save(folder / "output_pyburn.npy", y.numpy())
        return figures, lambda: session(x)


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not disturb the answers
    side: Any = Pyburn() if sys.argv[1] == "pyburn" else OnnxRuntime()
    timed: Any = None
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: Any = None
        try:
            if command == "version":
                answer = side.version
            elif command == "export":
                side.export(arguments[0], arguments[1], Path(arguments[2]))
            elif command == "prepare":
                name, _, folder, threads = arguments
                answer, call = side.prepare(name, Path(folder), threads)
                timed = Timed(call)
            elif command == "forget":
                timed = None
                gc.collect()
            else:
                answer = timed.turn(arguments[1])
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
