"""One framework in a process of its own: measures when asked, blocks in between.

Commands arrive on standard input, one JSON list per line; answers leave the same way.
    ["prepare", key, threads, layout]   -> null, or the text of an error
    ["turn", seconds]                   -> seconds per call, the median over this turn
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
    module = __import__(framework)
    __import__(f"{framework}.nn.functional")
    return module


class Layout:
    """The framework, with the order in which images are to lie in memory."""

    def __init__(self, module: Any, layout: str) -> None:
        self._module, self.layout = module, layout

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def main() -> None:
    framework = sys.argv[1]
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not disturb the answers
    module = load(framework)
    from workloads import WORKLOADS

    by_key = {w.key: w for w in WORKLOADS}
    call: Any = None
    calls = 1

    def timed(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    for line in sys.stdin:
        command, *arguments = json.loads(line)
        answer: Any = None
        if command == "version":
            answer = module.__version__
        elif command == "prepare":
            key, threads, layout = arguments
            call = None
            gc.collect()
            try:
                if framework != "jax":
                    module.set_num_threads(threads)
                workload = by_key[key]
                make = workload.jax if framework == "jax" else workload.make
                assert make is not None
                call = make(Layout(module, layout) if framework != "jax" else module)
                timed(2)
                calls = max(1, int(2e-3 / max(timed(1), 1e-8)))  # each sample takes two milliseconds, or one call
            except Exception as error:
                answer = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        else:
            end = time.perf_counter() + arguments[0]
            gc.disable()
            samples = [timed(calls), timed(calls)]
            while time.perf_counter() < end:
                samples.append(timed(calls))
            gc.enable()
            answer = statistics.median(samples)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
