"""What every operation and function of the table must bring along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import golden_lines
from schema import parse_schema

import pyburn
from pyburn import _core
from pyburn.testing.conformance.calls import TABLE
from pyburn.testing.conformance.samples import Input, Sample, lines_of, samples_of

# Without samples, because no line of text can say what they do; each has a test of its own.
WITHOUT_SAMPLES = {
    "random": "is given a seed and a counter: test_random.py",
    **dict.fromkeys(
        (
            "rand",
            "randn",
            "randint",
            "randint.below",
            "rand_like",
            "randn_like",
            "randint_like",
            "randint_like.below",
            "randperm",
            "normal",
            "normal.each_deviation",
            "normal.each",
            "normal.size",
            "bernoulli",
            "bernoulli.p",
            "multinomial",
            "uniform_",
            "normal_",
            "bernoulli_",
            "bernoulli_.each",
            "exponential_",
        ),
        "draws: test_random.py",
    ),
    **dict.fromkeys(
        (
            "seeded_dropout",
            "dropout",
            "alpha_dropout",
            "dropout1d",
            "dropout2d",
            "dropout3d",
            "feature_alpha_dropout",
        ),
        "draws a mask: test_dropout.py",
    ),
    **dict.fromkeys(
        ("gumbel_softmax", "rrelu", "random_", "geometric_", "cauchy_", "log_normal_", "poisson", "binomial"),
        "draws: test_random.py",
    ),
    **dict.fromkeys(("linalg_eigh", "linalg_svd"), "vectors have no sign of their own: test_linalg.py"),
    "svd": "vectors have no sign of their own: ../python/test_factors.py",
    **dict.fromkeys(("svd_lowrank", "pca_lowrank"), "begins at random: ../python/test_factors.py"),
    "rnn_steps": "keeps gates for its gradient, which is one number too many to look at: test_rnn.py",
    "rnn_steps_grad": "takes what rnn_steps kept: test_rnn.py",
    **dict.fromkeys((name for name in TABLE if name.endswith("_step")), "writes many tensors: test_updates.py"),
    **dict.fromkeys(("cond", "while_loop", "scan"), "hold graphs: ../python/test_control_flow.py"),
    "extent_of": "made while capturing: ../python/test_control_flow.py",
    "fused": "holds a graph that fusion made: the samples of all others on fusion(cpu), and ../unit/test_fusion.cpp",
}
ROWS = [row for row in TABLE.values() if row["row"]]
SAMPLED = [row for row in TABLE.values() if row["name"] not in WITHOUT_SAMPLES]
DTYPES = [pyburn.float32, pyburn.int64, pyburn.bool]

each_sampled = pytest.mark.parametrize("row", SAMPLED, ids=lambda row: row["name"])
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])


def bound(row: dict[str, Any], sample: Sample) -> dict[str, Any]:
    """The arguments of a sample by name, with defaults filled in as text."""
    _, parameters, _ = parse_schema(row["schema"])
    values = {p.name: p.default for p in parameters}
    values |= {p.name: a for p, a in zip(parameters, sample.arguments)}
    return values | sample.keywords


def tensor_shapes(sample: Sample) -> list[tuple[int, ...]]:
    return [x.values().shape for x in sample.inputs]


def is_strided(x: Input) -> bool:
    return any(name != "expand" for name, _ in x.steps) and not x.values().flags.c_contiguous


def takes_tensors(row: dict[str, Any]) -> bool:
    return any(p.type.startswith("Tensor") for p in parse_schema(row["schema"])[1])


def test_exceptions_exist_and_are_tested():
    here = Path(__file__).parent
    for name, reason in WITHOUT_SAMPLES.items():
        assert name in TABLE
        assert (here / reason.split()[-1]).exists(), reason


@each_row
def test_row_has_inference(row):
    assert row["has_infer"] or row["kind"] == "dynamic"


@each_row
def test_row_has_a_gradient_or_says_why_not(row):
    assert row["has_grad"] != bool(row["no_grad"])


@each_row
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_row_has_a_kernel_or_a_decomposition(row, device):
    assert row["kind"] == "view" or row["has_decomposition"] or any(_core._supports(device, row["name"], d) for d in DTYPES)


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row["name"])
def test_documented(row):
    assert row["doc"].endswith(".")
    assert row["example"] or row["kind"] == "update" or row["name"] in ("random", "fused", "cond", "while_loop", "scan", "extent_of")


@each_sampled
def test_goldens_are_up_to_date(row):
    lines = [line for line in lines_of(row) if " ! " not in line]
    assert golden_lines(row["name"]) == lines, "run tools/make_goldens.py"


@each_sampled
def test_samples_show_an_error(row):
    assert any(s.error for s in samples_of(row))


# The other value raises: complex dtypes do not exist, and pivot=False is for PyTorch's GPUs.
REFUSED = {"return_complex", "pivot"}


@each_sampled
def test_samples_show_each_argument_at_two_values(row):
    samples = [bound(row, s) for s in samples_of(row) if not s.error]
    for p in parse_schema(row["schema"])[1]:
        if p.type in ("Device?", "Generator?", "Tensor") or p.name in REFUSED:
            continue
        if p.type == "Tensor|Scalar" or p.type == "Tensor?":
            seen = {isinstance(s[p.name], Input) for s in samples}
        else:
            seen = {str(s[p.name]) for s in samples}
        assert len(seen) >= 2, f"{p.name} is always {seen}"


@each_sampled
def test_samples_show_tensors_of_all_kinds(row):
    if not takes_tensors(row):
        pytest.skip("takes no tensors")
    samples = samples_of(row)
    shapes = [tensor_shapes(s) for s in samples]
    inputs = [x for s in samples for x in s.inputs]
    assert any(() in some for some in shapes), "no tensor without axes"
    assert any(np.prod(shape) == 0 for some in shapes for shape in some), "no empty tensor"
    assert any(is_strided(x) for x in inputs), "no tensor whose elements lie in another order"
    if not row["name"].endswith("_"):  # a stretched tensor cannot be written to
        stretched = any(name == "expand" for x in inputs for name, _ in x.steps)
        assert stretched or (row["kind"] == "elementwise" and any(len(set(some)) > 1 for some in shapes)), "no stretched tensor"


@each_sampled
def test_samples_show_sizes_of_all_kinds(row):
    _, parameters, _ = parse_schema(row["schema"])
    if takes_tensors(row) or not any(p.name == "size" for p in parameters):
        pytest.skip("is not made from a size")
    sizes = [bound(row, s)["size"] for s in samples_of(row)]
    assert () in sizes and any(0 in size for size in sizes)
