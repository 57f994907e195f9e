"""What the tests of optimizers share: PyTorch's recorded steps, their tolerance, parameters of one element."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pyburn
from pyburn import nn

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
import optim_cases

GOLDEN = json.loads(gzip.decompress((Path(__file__).parent.parent / "golden" / "optim.json.gz").read_bytes()))
NAMES = [*optim_cases.OPTIONS, "LBFGS"]
# PyTorch keeps numbers of these in float32; L-BFGS follows small differences for many steps.
TOLERANCE = {"NAdam": 1e-6, "ASGD": 1e-6, "LBFGS": 1e-5}


def tolerance_of(name, lr=1e-3):
    """Muon computes directions in bfloat16, rounded elsewhere than PyTorch's: half a step at most."""
    return 0.5 * lr if name == "Muon" else TOLERANCE.get(name, 1e-9)


def parameter(value=1.0, dtype=pyburn.float64):
    return nn.Parameter(pyburn.full((1,), value, dtype=dtype))


def set_gradient(p, value):
    p.grad = pyburn.full((1,), value, dtype=p.dtype)
