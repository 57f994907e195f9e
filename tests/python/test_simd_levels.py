"""PYBURN_SIMD: every instruction set that this machine has computes the same, and other words are refused."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ARM = platform.machine().lower() in ("aarch64", "arm64")
LEVELS = ("neon", "baseline") if ARM else ("avx2", "baseline")

# One kernel of each kind that is compiled for each instruction set; NaN in all, because processors differ in what they do with it.
PROGRAM = """
import sys
import numpy as np
import pyburn
import pyburn.nn.functional as F
x = pyburn.sin(pyburn.arange(24.0 * 37)).reshape(24, 37) * 3
holes = pyburn.where(pyburn.arange(24 * 37).reshape(24, 37) % 11 == 0, float("nan"), x)
planes = x[:, :36].reshape(2, 12, 6, 6)
results = {"matmul": x @ x.T, "conv": F.conv2d(planes, x[:, :36].reshape(8, 12, 3, 3), padding=1), "sort": x.sort(dim=1).values,
           "depthwise": F.conv2d(planes, x[:12, :9].reshape(12, 1, 3, 3), stride=2, groups=12), "half": x.half().float()}
grid = pyburn.sin(pyburn.arange(2.0 * 7 * 9 * 2)).reshape(2, 7, 9, 2) * 1.2
for mode in "bilinear nearest bicubic".split():
    results["grid_sample " + mode] = F.grid_sample(planes, grid, mode, "reflection")
    results["grid_sample_grid " + mode] = pyburn.grid_sample_grid(pyburn.ones(2, 12, 7, 9), planes, grid, mode, "zeros", False)
    results["grid_sample_input " + mode] = pyburn.grid_sample_input(pyburn.ones(2, 12, 7, 9), grid, (6, 6), mode, "zeros", False)
for name in "exp expm1 log10 tan erf erfc".split():
    results[name + " of doubles"] = getattr(pyburn, name)(x.double())
results["pow of doubles"], results["gelu of doubles"] = pyburn.pow(x.double().abs(), x.double()), F.gelu(x.double())
for name in "softmax log_softmax cumsum".split():
    results[name] = getattr(pyburn, name)(x, dim=1)
for name in "exp log log1p expm1 tanh sigmoid sin cos tan atan asinh erf erfc sqrt sum amax std".split():
    results[name], results[name + " of NaN"] = getattr(pyburn, name)(x), getattr(pyburn, name)(holes)
for name in "gelu silu softplus logsigmoid elu".split():
    results[name], results[name + " of NaN"] = getattr(F, name)(x), getattr(F, name)(holes)
np.savez(sys.argv[1], level=pyburn._core._simd_level(), **{name: y.numpy() for name, y in results.items()})
"""


def run(level: str, target: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYBURN_SIMD": level}
    return subprocess.run([sys.executable, "-c", PROGRAM, target], env=environment, capture_output=True, text=True, check=False)


def test_every_level_computes_the_same(tmp_path: Path) -> None:
    found = {}
    for level in ("", *LEVELS):
        process = run(level, tmp_path / "results.npz")
        assert process.returncode == 0, process.stderr
        found[level] = dict(np.load(tmp_path / "results.npz"))
    best = found.pop("")
    for level, results in found.items():
        for name, y in results.items():
            if name != "level":
                np.testing.assert_allclose(y, best[name], rtol=2e-5, atol=2e-5, err_msg=f"{name} with {level}")
    if not ARM:
        assert found["avx2"]["level"] == "AVX2" or best["level"] == found["baseline"]["level"]
        assert found["baseline"]["level"] in ("SCALAR", "EMU128", "SSE2")
    for name, y in best.items():
        if name.endswith("of NaN"):
            assert np.isnan(y.reshape(-1)[::11]).all(), name


@pytest.mark.parametrize("word", ["fast", "avx2" if ARM else "neon"])
def test_another_word_is_refused(word: str, tmp_path: Path) -> None:
    process = run(word, tmp_path / "results.npz")
    assert process.returncode != 0
    assert f"[PYBURN_SIMD] expected one of {'neon' if ARM else 'avx512, avx2'}, baseline: got {word}" in process.stderr
