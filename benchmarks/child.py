"""One framework in a process of its own: measures when asked, blocks in between.

Commands arrive on standard input, one JSON list per line; answers leave the same way.
    ["prepare", key, threads, layout]   -> null, or the text of an error; the workload is kept under its layout
    ["turn", layout, seconds]           -> [median, mean] seconds per call over this turn
    ["forget"]                          -> null; what was prepared is gone
    ["version"]                         -> text
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import types
from typing import Any


def load(framework: str) -> Any:
    if framework == "jax":
        import jax
        import jax.numpy

        return types.SimpleNamespace(jax=jax, jnp=jax.numpy, __version__=jax.__version__)
    if framework == "onnxruntime":
        import numpy
        import onnx
        import onnx.parser
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        return types.SimpleNamespace(onnx=onnx, onnxruntime=onnxruntime, numpy=numpy, __version__=onnxruntime.__version__)
    module = __import__(framework)
    __import__(f"{framework}.nn.functional")
    __import__(f"{framework}.optim")
    return module


class Layout:
    """The framework, with the way in which it is to do the work."""

    def __init__(self, module: Any, layout: str) -> None:
        self._module, self.layout = module, layout

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class Timed:
    """A call, with how often it is repeated per sample."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.sample(1)
        once = self.sample(1)
        if once < 0.2:
            once = self.sample(1)
        self.calls = max(1, int(2e-3 / max(once, 1e-8)))  # each sample takes two milliseconds, or one call

    def sample(self, count: int) -> float:
        call = self.call
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    def turn(self, seconds: float) -> tuple[float, float]:
        end = time.perf_counter() + seconds
        gc.disable()
        samples = [self.sample(self.calls)]
        while time.perf_counter() < end:
            samples.append(self.sample(self.calls))
        gc.enable()
        return statistics.median(samples), statistics.fmean(samples)


def main() -> None:
    framework = sys.argv[1]
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not disturb the answers
    module = load(framework)
    from workloads import WORKLOADS

    by_key = {w.key: w for w in WORKLOADS}
    prepared: dict[str, Timed] = {}

    def prepare(key: str, threads: int, layout: str) -> str | None:
        workload = by_key[key]
        make = {"jax": workload.jax, "onnxruntime": workload.onnx}.get(framework, workload.make)
        assert make is not None
        try:
            if framework == "onnxruntime":
                module.threads = threads
            elif framework != "jax":
                module.set_num_threads(threads)
            prepared[layout] = Timed(make(Layout(module, layout) if framework in ("pyburn", "torch") else module))
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return None

    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: Any = None
        if command == "version":
            answer = module.__version__
        elif command == "prepare":
            answer = prepare(*arguments)
        elif command == "forget":
            prepared.clear()
            gc.collect()
        else:
            layout, seconds = arguments
            answer = prepared[layout].turn(seconds)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
