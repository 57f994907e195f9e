"""Operators of ONNX that its own suite does not try, or tries on few numbers: com.microsoft, trees, strings, elements of few bits."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import onnx

sys.path.insert(0, str(Path(__file__).parent))
from onnx_files import FLOAT, INT8, INT64, STRING, TYPES, UINT8, one_node

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"
E4M3FN, E5M2, INT4, FLOAT4 = 17, 19, 22, 23


def _random(*shape: int) -> np.ndarray:
    return np.random.RandomState(sum(shape) + len(shape)).standard_normal(shape).astype(np.float32)


def run(op: str, *inputs: Any, **options: Any) -> Any:
    """The outputs of a node on arrays; None for an input that is left out."""
    types = [None if x is None else STRING if x.dtype.kind in "OU" else TYPES[x.dtype.name] for x in inputs]
    model = onnx.load(one_node(op, types, **options))
    given = [x if x.dtype.kind in "OU" else pyburn.from_numpy(np.ascontiguousarray(x)) for x in inputs if x is not None]
    with pyburn.no_grad():
        result = model(*given)
    results = [y.numpy() if isinstance(y, pyburn.Tensor) else y for y in (result if isinstance(result, tuple) else (result,))]
    return results[0] if len(results) == 1 else results


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x: np.ndarray, n: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: Any = 0.0) -> np.ndarray:
    y = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + bias) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# --- com.microsoft ---


def test_fused_products() -> None:
    a, b = _random(3, 4, 5), _random(3, 6, 5)
    close(run("FusedMatMul", a, b, domain=MICROSOFT, transB=1, alpha=0.5), a @ b.swapaxes(1, 2) * 0.5)
    x, w = _random(2, 3, 8, 8), _random(4, 3, 3, 3)
    found = run("FusedConv", x, w, domain=MICROSOFT, activation="Clip", activation_params=[0.0, 1.0], pads=[1, 1, 1, 1])
    plain = pyburn.nn.functional.conv2d(pyburn.from_numpy(x), pyburn.from_numpy(w), padding=1)
    close(found, plain.clamp(0, 1).numpy())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("with_zeros", [False, True])
def test_weights_of_few_bits(bits: int, with_zeros: bool) -> None:
    k, n, block = 40, 6, 16
    codes = np.random.RandomState(0).randint(0, 1 << bits, (n, 48))
    scales, zeros = _random(n * 3), np.random.RandomState(1).randint(0, 1 << bits, (n, 3))

    def packed(x: np.ndarray) -> np.ndarray:
        if bits == 8:
            return x.astype(np.uint8)
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, x.shape[-1] % 2)])
        return (x[..., ::2] | x[..., 1::2] << 4).astype(np.uint8)

    x = _random(2, k)
    given = [packed(zeros).reshape(-1)] if with_zeros else []
    found = run(
        "MatMulNBits", x, packed(codes.reshape(n, 3, block)), scales, *given, domain=MICROSOFT, K=k, N=n, bits=bits, block_size=block
    )
    middle = zeros if with_zeros else np.full((n, 3), 1 << (bits - 1))
    weight = (codes.reshape(n, 3, block) - middle[:, :, None]) * scales.reshape(n, 3, 1)
    close(found, x @ weight.reshape(n, 48)[:, :k].T, 1e-4)


def test_multi_head_attention_with_a_mask_and_a_cache() -> None:
    q, k, v, past = _random(2, 5, 8), _random(2, 7, 8), _random(2, 7, 8) * 2, _random(2, 2, 3, 4)
    mask = (np.arange(10) < np.array([[8], [10]])).astype(np.int32)
    y, keys, values = run(
        "MultiHeadAttention", q, k, v, None, mask, None, past, past * 2, outputs=3, domain=MICROSOFT, num_heads=2, mask_filter_value=-1e9
    )
    close(keys, np.concatenate([past, heads(k, 2)], 2))
    close(values, np.concatenate([past * 2, heads(v, 2)], 2))
    close(y, attended(heads(q, 2), keys, values, np.where(mask, 0, -1e9)[:, None, None]))


@pytest.mark.parametrize("window", [-1, 3])
def test_group_query_attention_over_a_cache(window: int) -> None:
    q, k, v, past = _random(2, 1, 32), _random(2, 1, 16), _random(2, 1, 16) + 1, _random(2, 2, 4, 8)
    last, total = np.array([4, 4], np.int32), np.array(5, np.int32)
    how = {"num_heads": 4, "kv_num_heads": 2, "local_window_size": window}
    y, keys, _ = run("GroupQueryAttention", q, k, v, past, past, last, total, outputs=3, domain=MICROSOFT, **how)
    all_k, all_v = np.concatenate([past, heads(k, 2)], 2), np.concatenate([past, heads(v, 2)], 2)
    close(keys, all_k)
    seen = np.where(np.arange(5) > 4 - window, 0, -np.inf) if window > 0 else 0.0
    close(y, attended(heads(q, 4), all_k.repeat(2, 1), all_v.repeat(2, 1), seen))


def test_skip_layer_normalization_gives_the_sum() -> None:
    x, skip, gamma, beta, bias = _random(2, 5, 8), _random(2, 5, 8) + 1, _random(8), _random(8), _random(8)
    y, mean, inverse, total = run("SkipLayerNormalization", x, skip, gamma, beta, bias, outputs=4, domain=MICROSOFT, epsilon=1e-5)
    summed = x + skip + bias
    close(total, summed)
    close(mean, summed.mean(-1, keepdims=True))
    close(y, (summed - mean) * inverse * gamma + beta)
    close(inverse, 1 / np.sqrt(summed.var(-1, keepdims=True) + 1e-5))


# --- quantised ---


def test_products_of_integers_are_exact() -> None:
    numbers = np.random.RandomState(0)
    a, b = numbers.randint(0, 256, (3, 2000)).astype(np.uint8), numbers.randint(-128, 128, (2000, 4)).astype(np.int8)
    found = run("MatMulInteger", a, b, np.array(250, np.uint8), np.array([-128, 127, 0, 5], np.int8), output_type=6)
    expected = (a.astype(np.int64) - 250) @ (b.astype(np.int64) - np.array([-128, 127, 0, 5]))
    assert found.dtype == np.int32 and (found == expected).all()


# --- elements of few bits ---


def test_floats_of_few_bits_are_rounded_to_even() -> None:
    x = np.array([0, -0.0, 0.48, 1.0625, 1.1875, 17, 19, 464, 465, 1e6, -1e6, 0.001, 2**-10, np.nan, np.inf], np.float32)
    two = onnx.load(one_node("Cast", [FLOAT], to=E4M3FN, output_type=E4M3FN))
    codes = two(pyburn.from_numpy(x)).numpy()
    back = onnx.load(one_node("Cast", [E4M3FN], to=FLOAT))(pyburn.from_numpy(codes)).numpy()
    expected = np.array([0, -0.0, 0.46875, 1, 1.25, 16, 20, 448, 448, 448, -448, 2**-9 * 1, 0, np.nan, 448], np.float32)
    expected[11] = 0.001953125 if 0.001 > 2**-10 else 0
    np.testing.assert_array_equal(back, expected)
    assert np.signbit(back[1]) and codes[7] == codes[8] == 0x7E
    loose = run("Cast", x, to=E5M2, saturate=0, output_type=E5M2)
    assert loose[9] == 0x7C and loose[10] == 0xFC and loose[14] == 0x7C


def test_every_code_comes_back_to_itself() -> None:
    for element_type, count in ((E4M3FN, 256), (18, 256), (E5M2, 256), (20, 256), (24, 256), (FLOAT4, 16)):
        codes = np.arange(count, dtype=np.uint8)
        numbers = onnx.load(one_node("Cast", [element_type], to=FLOAT))(pyburn.from_numpy(codes)).numpy()
        again = run("Cast", numbers, to=element_type, saturate=0, output_type=element_type)
        known = ~np.isnan(numbers)
        assert known.sum() >= count - 8
        assert (again[known] == codes[known]).all(), element_type
        assert len(np.unique(numbers[known])) >= known.sum() - 1  # 0 and -0


def test_small_integers_keep_the_low_bits() -> None:
    x = np.arange(-20, 20).astype(np.float32)
    assert run("Cast", x, to=INT4, output_type=INT4).tolist() == [(int(v) + 8) % 16 - 8 for v in x]
    assert run("Cast", x.astype(np.int64), to=21, output_type=21).tolist() == [int(v) % 16 for v in x]


# --- strings ---


def test_expressions_match_as_those_of_python() -> None:
    pick = random.Random(0)
    atoms = ["a", "b", "c", ".", "[ab]", "[^a]", r"\d", r"\w", "(a|b)", "(?:ab|c)", r"[a-c\d]", "x", r"\b", "^", "$"]
    tried = matched = 0
    for _ in range(800):
        pattern = "".join(
            pick.choice(atoms) + pick.choice(["", "", "*", "+", "?", "{2}", "{1,3}", "*?"]) for _ in range(pick.randint(1, 5))
        )
        texts = ["".join(pick.choice("abc1x ") for _ in range(pick.randint(0, 6))) for _ in range(8)]
        try:
            expected = [re.fullmatch(pattern, t, re.ASCII) is not None for t in texts]
        except re.error:
            continue
        try:
            found = run("RegexFullMatch", np.array(texts, object), pattern=pattern, output_type=9).tolist()
        except pyburn.UnsupportedOp:
            continue
        tried, matched = tried + 1, matched + sum(expected)
        assert found == expected, (pattern, texts)
    assert tried > 400 and matched > 200


@pytest.mark.parametrize("pattern", ["(" * 5000, "a{1000}{1000}", "[z-a]", "(a", "*", "\\", "[a", "(?=a)"])
def test_expressions_that_are_refused(pattern: str) -> None:
    with pytest.raises(pyburn.UnsupportedOp, match="expression is not supported"):
        run("RegexFullMatch", np.array(["a"], object), pattern=pattern, output_type=9)


def test_a_long_text_takes_no_stack() -> None:
    assert run("RegexFullMatch", np.array(["a" * 200000], object), pattern="(a|b)*(a|b)*", output_type=9).tolist() == [True]


def test_splits_of_strings_are_those_of_python() -> None:
    texts = ["a b  c", "", "  x ", "one", "a,b,,c,"]
    for delimiter, most in ((None, -1), (None, 1), (",", -1), (",", 2)):
        options: dict[str, Any] = {} if delimiter is None else {"delimiter": delimiter}
        options |= {} if most < 0 else {"maxsplit": most}
        parts, counts = run("StringSplit", np.array(texts, object), outputs=2, output_type=STRING, **options)
        expected = [t.split(delimiter, most) for t in texts]
        assert counts.tolist() == [len(e) for e in expected]
        assert [row[: len(e)] for row, e in zip(parts.tolist(), expected)] == expected


# --- trees ---

_TREE = {
    "nodes_treeids": [0] * 5 + [1] * 3,
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_values": [0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
}


def _leaves(x: np.ndarray) -> list[tuple[int, int]]:
    return [((3 if r[1] < np.float32(-0.2) else 4) if r[0] <= np.float32(0.1) else 2, 1 if r[2] > np.float32(0.3) else 2) for r in x]


def test_trees() -> None:
    x = _random(50, 3)
    weights = {(0, 2): [0.5, 0.1], (0, 3): [0.2, -1.0], (0, 4): [-0.3, 2.0], (1, 1): [0.7, 0.0], (1, 2): [0.1, 0.6]}
    rows = [(tree, node, target, w) for (tree, node), both in weights.items() for target, w in enumerate(both)]
    names = ("treeids", "nodeids", "ids", "weights")
    expected = np.array([np.add(weights[0, a], weights[1, b]) for a, b in _leaves(x)], np.float32)
    of_targets = {f"target_{name}": [row[i] for row in rows] for i, name in enumerate(names)}
    close(run("TreeEnsembleRegressor", x, domain=ML, n_targets=2, base_values=[1.0, 2.0], **_TREE, **of_targets), expected + [1, 2])
    of_classes = {f"class_{name}": [row[i] for row in rows] for i, name in enumerate(names)}
    labels, scores = run(
        "TreeEnsembleClassifier", x, outputs=2, domain=ML, classlabels_int64s=[3, 7], post_transform="SOFTMAX", **_TREE, **of_classes
    )
    close(scores, softmax(expected))
    assert labels.tolist() == [(3, 7)[i] for i in expected.argmax(1)]


def test_trees_that_go_in_a_circle_are_refused() -> None:
    circle = _TREE | {"nodes_truenodeids": [1, 0, 0, 0, 0, 1, 0, 0]}
    leaf = {"target_treeids": [0], "target_nodeids": [2], "target_ids": [0], "target_weights": [1.0]}
    with pytest.raises(pyburn.FormatError, match="circle"):
        run("TreeEnsembleRegressor", _random(2, 3), domain=ML, n_targets=1, **circle, **leaf)
    far = _TREE | {"nodes_truenodeids": [9, 3, 0, 0, 0, 1, 0, 0]}
    with pytest.raises(pyburn.FormatError, match="no such node"):
        run("TreeEnsembleRegressor", _random(2, 3), domain=ML, n_targets=1, **far, **leaf)


# --- recurrent layers ---


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lines_of_several_lengths_are_as_each_alone(op: str, direction: str) -> None:
    gates, hidden, both = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 3, 2 if direction == "bidirectional" else 1
    x, w, r, b = (
        _random(5, 2, 4),
        _random(both, gates * hidden, 4),
        _random(both, gates * hidden, hidden),
        _random(both, 2 * gates * hidden),
    )
    states = 3 if op == "LSTM" else 2
    all_of_it = {"outputs": states, "hidden_size": hidden, "direction": direction}
    if op == "GRU":
        all_of_it["linear_before_reset"] = 1
    together = run(op, x, w, r, b, np.array([5, 3], np.int32), **all_of_it)
    assert not together[0][3:, :, 1].any()
    for line, length in ((0, 5), (1, 3)):
        alone = run(op, x[:length, line : line + 1], w, r, b, **all_of_it)  # in one operation: those have no lengths
        close(together[0][:length, :, line : line + 1], alone[0])
        for k in range(1, states):
            close(together[k][:, line : line + 1], alone[k])


def test_gradients_flow_through_imported_layers() -> None:
    model = onnx.load(one_node("DFT", [FLOAT], opset=20))
    x = pyburn.from_numpy(_random(1, 6, 1)).requires_grad_()
    model(x).square().sum().backward()
    assert x.grad is not None
    close(x.grad.numpy(), 12 * x.detach().numpy(), 1e-4)  # Parseval


def test_boxes_of_several_classes() -> None:
    boxes = np.array(
        [[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], np.float32
    )
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]], np.float32)
    limits = [np.array([2], np.int64), np.array([0.5], np.float32), np.array([0.35], np.float32)]
    found = run("NonMaxSuppression", boxes, scores, *limits, output_type=INT64)
    assert found.tolist() == [[0, 0, 3], [0, 0, 0], [0, 1, 5], [0, 1, 4]]


def test_quantised_numbers_of_blocks() -> None:
    x, scale = np.arange(-12, 12, dtype=np.int8).reshape(2, 12), np.array([[1, 10, 100], [2, 20, 200]], np.float32)
    found = run("DequantizeLinear", x, scale, axis=1, block_size=4)
    close(found, x * scale.repeat(4, 1))
    again = run("QuantizeLinear", found, scale, np.zeros((2, 3), np.int8), axis=1, block_size=4, output_type=INT8)
    assert (again == x).all()
    assert run("QuantizeLinear", found, np.float32(1).reshape(()), output_type=UINT8).max() == 255


def test_boxes_without_an_image_are_refused() -> None:
    x, boxes = _random(1, 1, 4, 4), np.array([[0, 0, 2, 2]], np.float32)
    for mode in ("max", "avg"):
        with pytest.raises(pyburn.ShapeError):
            run("RoiAlign", x, boxes, np.array([0, 0, 0], np.int64), mode=mode)
