"""Optimiser steps: one operation for many tensors, the same on every device as written out in numpy."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import optim_cases
import pytest
from harness import DEVICES

import pyburn
from pyburn import _core, optim
from pyburn.testing.conformance.calls import assert_close, download, upload

GOLDEN = json.loads(gzip.decompress((Path(__file__).parent.parent / "golden" / "optim.json.gz").read_bytes()))["optimizers"]
# The defaults of each optimiser, and options that depend on each other: the decompositions and the kernels have one formula.
RECORDED = [(case, row) for case, row in zip(optim_cases.optimizer_cases(), GOLDEN) if not case[1] or case in optim_cases.TOGETHER]

SHAPES = [(3, 2), (), (0,), (5,)]
STEPS = 3


def sgd(p, gradients, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    buffer = None
    for g in gradients:
        d = (-g if maximize else g) + weight_decay * p
        if momentum:
            buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
            d = d + momentum * buffer if nesterov else buffer
        p = p - lr * d
    return p


def adam(p, gradients, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, decoupled=False):
    m = v = largest = np.zeros_like(p)
    for step, g in enumerate(gradients, 1):
        d = (-g if maximize else g) + (0 if decoupled else weight_decay) * p
        m, v = betas[0] * m + (1 - betas[0]) * d, betas[1] * v + (1 - betas[1]) * d * d
        largest = np.maximum(largest, v)
        root = np.sqrt(largest if amsgrad else v) / np.sqrt(1 - betas[1] ** step)
        p = p * (1 - lr * weight_decay) if decoupled else p
        p = p - lr / (1 - betas[0] ** step) * m / (root + eps)
    return p


def adamw(p, gradients, **options):
    return adam(p, gradients, decoupled=True, **options)


CASES = [
    (optim.SGD, sgd, {}),
    (optim.SGD, sgd, {"momentum": 0.9}),
    (optim.SGD, sgd, {"momentum": 0.9, "dampening": 0.25, "weight_decay": 0.125}),
    (optim.SGD, sgd, {"momentum": 0.5, "nesterov": True, "maximize": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"weight_decay": 0.125, "amsgrad": True}),
    (optim.Adam, adam, {"betas": (0.5, 0.75), "eps": 1e-3, "maximize": True}),
    (optim.AdamW, adamw, {"weight_decay": 0.125}),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("optimiser", "reference", "options"), CASES)
def test_steps(optimiser, reference, options, dtype, device):
    g = np.random.default_rng(7)
    start = [g.normal(size=s).astype(dtype) for s in SHAPES]
    gradients = [[g.normal(size=s).astype(dtype) for s in SHAPES] for _ in range(STEPS)]
    parameters = [upload(a, dtype, device) for a in start]
    for p in parameters:
        _core._set_requires_grad(p, True)
    steps = optimiser(parameters, lr=0.1, **options)
    for arrays in gradients:
        for p, a in zip(parameters, arrays):
            p.grad = upload(a, dtype, device)
        steps.step()
    for i, p in enumerate(parameters):
        assert_close(download(p), np.asarray(reference(start[i], [arrays[i] for arrays in gradients], lr=0.1, **options), dtype), dtype)
        assert p._version >= STEPS  # a decomposition writes once more


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("case", "expected"), RECORDED, ids=[optim_cases.case_id(case) for case, _ in RECORDED])
def test_steps_are_pytorchs(case, expected, device):
    name, options = case
    usual = pyburn.get_default_device()
    pyburn.set_default_device(f"autodiff({device})")
    try:
        after, optimizer = optim_cases.run_optimizer(pyburn, name, options)
    finally:
        pyburn.set_default_device(usual)
    tolerance = 0.5 * optimizer.param_groups[0]["lr"] if name == "Muon" else 1e-6
    for step, values in expected["after"].items():
        for mine, theirs in zip(after[step], values):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance)


def test_gradient_must_fit():
    p = pyburn.zeros(2, requires_grad=True)
    with pytest.raises(pyburn.PyburnError):
        p.grad = pyburn.zeros(3)
