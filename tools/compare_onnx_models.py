"""Runs ONNX files with pyburn and with ONNX Runtime on the same inputs: do they agree, and how long does each take?

For an interpreter that has both, such as that of the peers with pyburn beside it (make build-torch):

    PYTHONPATH=build/torch .venv-peers/bin/python tools/compare_onnx_models.py FOLDER... --threads 1 --table models.md

The inputs of NAME.onnx are the arrays of NAME.npz, in order, where that file exists. Others are made from the shapes that the model states:
random numbers of a fixed seed, with the sizes and values that SIZES and VALUES know by the names of the file and of the input.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Shapes of inputs whose sizes the file leaves open, by patterns of the file and of the input; the first that fits counts.
SIZES: list[tuple[str, str, tuple[int, ...]]] = [
    (r"cycle_center", "input", (1, 3, 256, 256)),
    (r"silero_encoder", "input", (1, 576)),
    (r"silero_decoder", "input", (1, 128, 4)),
    (r"nsnet2.*48k", "input", (1, 20, 513)),
    (r"nsnet2", "input", (1, 20, 161)),
    (r"(_|^)v?rec(\.|_)|_rec_", "x", (1, 3, 48, 160)),
    (r"cls", "x", (1, 3, 48, 192)),
    (r"slanet", "x", (1, 3, 488, 488)),
    (r"orientation", "x", (1, 3, 224, 224)),
    (r"det", "x", (1, 3, 320, 320)),
    (r"lore_detect", "input", (1, 3, 256, 256)),
    (r"lore_process", "slct_logi_feat", (1, 20, 256)),
    (r"lore_process", "dets", (1, 20, 8)),
    (r"320n", "images", (1, 3, 320, 320)),
    (r"common", "input1", (1, 1, 64, 160)),
    (r"silero_vad(_v6|_16k_sequence)", "input", (3, 576)),
    (r"silero", "input", (1, 512)),
    (r"openwakeword.*silero|silero_vad_legacy", "h|c", (2, 1, 64)),
    (r"silero", "state", (2, 1, 128)),
    (r"melspectrogram", "input", (1, 16000)),
    (r"Run_", "input", (1, 3, 100, 160)),
    (r"plcmos", "degraded_audio", (1, 1, 100, 257)),
    (r"nakdimon", "input_1", (1, 20)),
    (r"yunet", "input", (1, 3, 320, 320)),
    (r"", "waveforms", (1, 16000)),
    (r"", "audio", (1, 16000)),
    (r"piper", "char_inputs|diac_inputs", (1, 24)),
]
# Values that are not random, by the same patterns.
VALUES: list[tuple[str, str, Callable[[Any], Any]]] = [
    (r"", "sr", lambda x: x * 0 + 16000),
    (r"", "waveforms_lens", lambda x: x * 0 + 16000),
    (r"", "input_lengths", lambda x: x * 0 + 24),
    (r"", "fmin", lambda x: x * 0 + 46.875),
    (r"", "fmax", lambda x: x * 0 + 2093.75),
    (r"nakdimon", "input_1", lambda x: abs(x * 8).round()),
    (r"silero", "state|h|c", lambda x: x * 0),
]
DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(uint8)": "uint8",
    "tensor(int8)": "int8",
    "tensor(bool)": "bool",
}
HEAD = """# ONNX files that were run

`tools/compare_onnx_models.py` wrote this page: pyburn {} beside ONNX Runtime {}, {} thread(s) each, on the same inputs. The names are
those of the packages (PyPI, npm) and of the files in them; `sk_`, `lgbm_` and `xgb_` were made by skl2onnx and onnxmltools, `.qop`,
`.qdq` and `.dyn` by ONNX Runtime's quantisers, `.ext` are its optimised files, and `tv_` and `hf_` were exported by PyTorch from
torchvision and transformers.

"Difference" is the greatest one of all outputs, relative to the greatest expected value (at least 0.001). Quantised models differ by
steps of their rounding, as ONNX Runtime differs from itself without optimisations. "First run" is load and first run together; the times
are medians on a machine that did other work, so they say the order of magnitude. "Operation by operation" marks models whose outputs or
branches a session cannot capture.

"""
WORDS = ("good", "bad", "red", "blue", "S", "M", "a good film", "unknown")


def make_inputs(path: Path, inputs: list[Any]) -> dict[str, Any]:
    """Makes the inputs of a model; `inputs` are ONNX Runtime's descriptions of them."""
    import numpy as np

    if path.with_suffix(".npz").exists():
        arrays = np.load(path.with_suffix(".npz"))
        return dict(zip([i.name for i in inputs], [arrays[name] for name in arrays.files], strict=True))
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for i in inputs:
        shape = [n if isinstance(n, int) and n > 0 else 1 for n in i.shape] if i.shape else []
        if shape != list(i.shape or []):
            known = [size for file, name, size in SIZES if re.search(file, path.name) and re.fullmatch(name, i.name)]
            shape = list(known[0]) if known and len(known[0]) == len(shape) else shape
        if i.type == "tensor(string)":
            made[i.name] = rng.choice(np.array(WORDS, dtype=object), shape)
        elif i.type.startswith("map("):
            made[i.name] = {"a": 1.5, "b": 2.5}
        elif "float" in i.type or "double" in i.type:
            made[i.name] = np.asarray(rng.standard_normal(shape)).astype(DTYPES[i.type])
        else:
            made[i.name] = np.asarray(rng.integers(0, 2 if "bool" in i.type else 12, shape)).astype(DTYPES[i.type])
        for file, name, change in VALUES:
            if re.search(file, path.name) and re.fullmatch(name, i.name):
                made[i.name] = np.asarray(change(made[i.name])).astype(made[i.name].dtype)
    return made


def difference(ours: Any, theirs: Any) -> float:
    """The greatest difference, relative to the greatest magnitude of the expected values, or to 0.001 where all are smaller: float32 has
    errors of 1e-7 beside sums of order 1, which a sigmoid keeps. inf where shapes or kinds differ."""
    import numpy as np

    if isinstance(theirs, dict):
        same = isinstance(ours, dict) and ours.keys() == theirs.keys()
        return max((difference(ours[key], theirs[key]) for key in theirs), default=0.0) if same else float("inf")
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return float("inf")
        return max((difference(a, b) for a, b in zip(ours, theirs)), default=0.0)
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or (a.dtype.kind == "O") != (b.dtype.kind == "O"):
        return float("inf")
    if b.dtype.kind in "OUS":
        return 0.0 if a.tolist() == b.tolist() else float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    finite = np.isfinite(b)
    if not finite.any():
        return 0.0
    return float(np.abs(a - b)[finite].max() / max(1e-3, np.abs(b[finite]).max()))


def is_quantised(operators: Iterable[str]) -> bool:
    """Whether a model rounds while it runs: then a last bit decides between two steps, and ONNX Runtime differs from itself as much."""
    return any(re.search(r"Quantize|QLinear|Integer|::Q[A-Z]", name) for name in operators)


def median_time(run: Callable[[], Any], seconds: float) -> float:
    """The median time of a call, of at least 5 calls, for about so many seconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compare(path: Path, threads: int, seconds: float) -> dict[str, Any]:
    """Runs one file with both."""
    import numpy as np
    import onnxruntime  # type: ignore[import-not-found]

    import pyburn

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    start = time.perf_counter()
    peer = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = make_inputs(path, peer.get_inputs())
    expected = peer.run(None, given)
    first_peer = time.perf_counter() - start

    def value(array: Any) -> Any:
        return array if isinstance(array, dict) or array.dtype.kind in "OUS" else pyburn.from_numpy(np.array(array))

    def plain(result: Any) -> Any:
        if isinstance(result, list):
            return [plain(item) for item in result]
        if isinstance(result, pyburn.Tensor) and result.dtype is pyburn.bfloat16:
            return result.float().numpy()
        return result.numpy() if isinstance(result, pyburn.Tensor) else result

    start = time.perf_counter()
    session = pyburn.onnx.session(str(path))
    inputs = {name: value(array) for name, array in given.items()}
    results = session.run(inputs)
    first = time.perf_counter() - start
    worst = max(difference(plain(a), b) for a, b in zip(results.values(), expected, strict=True))
    row = {"file": path.name, "difference": worst, "first": first, "first_peer": first_peer}
    row["quantised"] = is_quantised(pyburn.onnx.info(session.model).operators)
    row["module"] = "operation by operation" in session.summary(*inputs.values())
    if seconds:
        row["time"] = median_time(lambda: session.run(inputs), seconds)
        row["time_peer"] = median_time(lambda: peer.run(None, given), seconds)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or folders of them")
    parser.add_argument("--threads", type=int, default=1, help="threads of both (default: 1)")
    parser.add_argument("--seconds", type=float, default=0.3, help="how long each is measured; 0: not at all (default: 0.3)")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="the relative difference that is accepted (default: 0.001)")
    parser.add_argument("--quantised", type=float, default=0.1, help="the same for models that round while they run (default: 0.1)")
    parser.add_argument("--table", type=Path, help="write a table in Markdown")
    options = parser.parse_args()
    os.environ["PYBURN_NUM_THREADS"] = str(options.threads)  # read when pyburn is imported
    import onnxruntime

    import pyburn

    failed = 0
    lines = ["| model | difference | first run | time | / ONNX Runtime |", "|---|---|---|---|---|"]
    for path in sorted(f for p in options.paths for f in (p.rglob("*.onnx") if p.is_dir() else [p])):
        try:
            row = compare(path, options.threads, options.seconds)
        except Exception as error:
            failed += 1
            text = " ".join(str(error).split())
            print(f"FAIL {path.name}: {type(error).__name__}: {text[:400]}", flush=True)
            lines.append(f"| {path.stem.replace('__', ': ')} | {type(error).__name__}: {text[:100]} | | | |")
            continue
        fits = row["difference"] <= (options.quantised if row["quantised"] else options.tolerance)
        failed += not fits
        times = f"{row['time'] * 1e3:.2f} ms | {row['time'] / row['time_peer']:.2f}" if "time" in row else " | "
        print(
            f"{'ok  ' if fits else 'DIFF'} {path.name}: {row['difference']:.1e}, first run "
            f"{row['first'] * 1e3:.0f} ms ({row['first'] / row['first_peer']:.2f}), {times.replace(' | ', ' (')})",
            flush=True,
        )
        kind = ", quantised" * row["quantised"] + ", operation by operation" * row["module"]
        lines.append(f"| {path.stem.replace('__', ': ')}{kind} | {row['difference']:.0e} | {row['first'] * 1e3:.0f} ms | {times} |")
    if options.table:
        options.table.write_text(HEAD.format(pyburn.__version__, onnxruntime.__version__, options.threads) + "\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
