"""What operations keep for the backward pass, compared with PyTorch (tools/make_saved_goldens.py)."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import _core

sys.path.insert(0, str(Path(__file__).resolve().parent))
from saved_cases import call, refused_writes, samples_of, subsets_of  # noqa: E402

GOLDEN: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
    gzip.decompress((Path(__file__).parents[1] / "golden" / "saved.json.gz").read_bytes())
)
ROWS = {row["name"]: row for row in _core._op_table() if row["name"] in GOLDEN}

# Operations that keep a tensor of the user's where PyTorch keeps one of its own of the same size, by the reason.
KEPT_OTHERWISE = {
    "the loss is computed from the logits, which are kept instead of their log_softmax": {"cross_entropy"},
    "attention and recurrent layers are one kernel each, which keeps inputs and results": {
        "attention", "scaled_dot_product_attention", "lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell",
        "rnn_relu_cell",
    },
    "PyTorch copies an input before it uses it (folds, pads, repeats, or reads it on the host)": {
        "matmul", "einsum", "kron", "conv1d.padding", "conv2d.padding", "conv3d.padding", "instance_norm", "ctc_loss", "ldexp",
    },
    "the result has a derivative through others of its inputs": {
        "reciprocal", "linalg_inv", "inverse", "cholesky_solve", "cholesky_inverse", "linalg_matrix_power", "matrix_power", "corrcoef",
    },
    "PyTorch keeps the normalised elements": {"rms_norm", "batch_norm", "normalise_rows", "normalise_batch"},
    "operations of pyburn that PyTorch has no name for": {
        "silu_gradient", "gelu_gradient", "grid_sample_input", "grid_sample_grid", "sample_planes", "sample_planes_input", "sample_planes_weight",
    },
    "views whose elements share memory cannot be written at all": {"unfold", "as_strided"},
}  # fmt: skip
EXCEPTIONS = {name for names in KEPT_OTHERWISE.values() for name in names}


def function_of(name: str) -> Any:
    return getattr(_core, name.split(".")[0])


@pytest.mark.parametrize("name", sorted(GOLDEN.keys() - EXCEPTIONS))
def test_a_write_is_refused_only_where_pytorch_refuses_it(name: str) -> None:
    samples = {s.line: s for s in samples_of(ROWS[name])}
    for line, by_inputs in GOLDEN[name].items():
        for inputs, expected in by_inputs.items():
            wanting = tuple(map(int, inputs.split(",")))
            found = refused_writes(pyburn, function_of(name), samples[line], wanting)
            assert set(found) <= set(expected), f"{name}({line}), gradients of inputs {inputs}"


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_gradients_do_not_depend_on_which_others_are_wanted(name: str) -> None:
    """An operation that keeps too little for some gradients would give wrong ones, or none."""
    for sample in (s for s in samples_of(ROWS[name]) if s.line in GOLDEN[name]):
        together: dict[int, Any] = {}
        for wanting in sorted(subsets_of(sample), key=len, reverse=True):
            if ",".join(map(str, wanting)) not in GOLDEN[name][sample.line]:
                continue
            leaves, _, results = call(pyburn, function_of(name), sample, wanting)
            if not any(r.requires_grad for r in results):
                continue
            sum((r * r).sum() for r in results if r.requires_grad).backward()
            for i, leaf in zip(wanting, leaves):
                gradient = None if leaf.grad is None else leaf.grad.double().numpy()
                known = together.setdefault(i, gradient)
                assert (gradient is None) == (known is None)
                if gradient is not None:
                    np.testing.assert_allclose(gradient, known, rtol=1e-5, atol=1e-6, err_msg=f"{name}({sample.line}), {wanting}")


def test_quotients_and_products_may_be_written_in_place() -> None:
    w, mask = pyburn.tensor([1.0, 2.0, 3.0], requires_grad=True), pyburn.tensor([1.0, 0.0, 1.0])
    x = w * 2
    d = x + 1
    x /= d
    x *= mask
    x.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), [2 / 9, 0, 2 / 49], rtol=1e-6)


def kept(make: Any) -> list[tuple[int, ...]]:
    shapes: list[tuple[int, ...]] = []

    def pack(t: Any) -> Any:
        shapes.append(tuple(t.shape))
        return t

    with pyburn.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        make()
    return shapes


def test_nothing_is_kept_for_gradients_that_nobody_wants() -> None:
    x, y = pyburn.ones(2, 3, requires_grad=True), pyburn.ones(2, 3)
    index, condition = pyburn.zeros(1, 3, dtype=pyburn.int64), y > 0
    assert kept(lambda: x * 2) == kept(lambda: x / 2) == kept(lambda: x + y) == []
    assert len(kept(lambda: x * y)) == len(kept(lambda: x / y)) == len(kept(lambda: 2 / x)) == 1
    assert len(kept(lambda: y / x)) == 2
    assert kept(lambda: x.gather(0, index)) == kept(lambda: x.scatter(0, index, y)) == [(1, 3)]
    assert len(kept(lambda: pyburn.where(condition, x, y))) == 1
    assert len(kept(lambda: pyburn.addcmul(x, y, y))) == 0 and len(kept(lambda: pyburn.addcmul(y, x, y))) == 1
    assert len(kept(lambda: pyburn.lerp(x, y, 0.5))) == 0 and len(kept(lambda: pyburn.lerp(x, y, y))) == 1
    assert kept(lambda: x[index[0]]) == [(3,)]
    assert kept(lambda: pyburn.remainder(x, y)) == [] and kept(lambda: pyburn.nn.functional.embedding(index, x)) == [(1, 3)]


def test_a_quotient_is_differentiated_twice() -> None:
    x, y = (pyburn.tensor([v], dtype=pyburn.float64, requires_grad=True) for v in (2.0, 4.0))
    (g,) = pyburn.autograd.grad(x / y, y, create_graph=True)
    gx, gy = pyburn.autograd.grad(g, (x, y))
    assert (g.item(), gx.item(), gy.item()) == (-0.125, -0.0625, 0.0625)
