"""Writes docs/parity/gpu.md: where each operation runs on the GPU backend, from the samples of the conformance suite.

python tools/make_gpu_support.py [device]    (needs pyburn, wgpu and an adapter)
"""

from __future__ import annotations

import collections
import os
import sys
from pathlib import Path

from pyburn.backend import gpu
from pyburn.testing.conformance.calls import Call, all_samples, fits, results_of

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# Operations on the GPU

`tools/make_gpu_support.py` wrote this page: it ran the samples of the conformance suite on `wgpu` and noted which of them called the CPU.

- **GPU**: every sample runs as kernels of the GPU, of the operation itself or of its decomposition.
- **partly**: some samples run on the CPU, on copies. The column counts those that do not.
- **CPU**: there is no kernel and no decomposition; the operation copies its inputs to the CPU and its results back.

Results are the same everywhere; the first call that goes to the CPU writes a line to the log.
{gpu} operations run on the GPU, {partly} partly, {cpu} on the CPU.

| operation | runs on | samples on the GPU |
|---|---|---|
"""


def measured(device: str) -> dict[str, tuple[int, int]]:
    """Per operation, the samples that stayed on the GPU, and all samples."""
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for sample in all_samples():
        if sample.error or not fits(sample, device):
            continue
        call = Call(sample, device, gradient=False)
        before = gpu.counters(device).host_calls
        results_of(call())
        # What makes the inputs of a sample is no part of the operation.
        counts[sample.op][0] += gpu.counters(device).host_calls == before
        counts[sample.op][1] += 1
    return {op: (here, total) for op, (here, total) in counts.items()}


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "wgpu"
    os.environ.setdefault("PYBURN_LOG", "error")
    where = measured(device)
    rows, totals = [], collections.Counter[str]()
    for op, (here, total) in sorted(where.items()):
        place = "GPU" if here == total else "partly" if here else "CPU"
        totals[place] += 1
        rows.append(f"| `{op}` | {place} | {here} of {total} |\n")
    page = HEAD.format(gpu=totals["GPU"], partly=totals["partly"], cpu=totals["CPU"]) + "".join(rows)
    (ROOT / "docs" / "parity" / "gpu.md").write_text(page)
    print(dict(totals))


if __name__ == "__main__":
    main()
