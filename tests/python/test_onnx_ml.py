"""Operators of ONNX for classical models and text: maps, support vectors, words, strings that move, quantised com.microsoft ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import onnx

sys.path.insert(0, str(Path(__file__).parent))
from onnx_files import FLOAT, INT64, STRING, TYPES, one_node
from test_onnx_operators import MICROSOFT, ML, _random, close, run


def strings(*items: Any) -> np.ndarray:
    return np.array(items, dtype=object)


# --- maps ---


def test_zip_map_gives_a_dict_for_each_row() -> None:
    x = _random(2, 3)
    found = run("ZipMap", x, domain=ML, classlabels_strings=["a", "b", "ü"])
    assert [list(row) for row in found] == [["a", "b", "ü"]] * 2
    np.testing.assert_array_equal([list(row.values()) for row in found], x)
    assert run("ZipMap", x[:1], domain=ML, classlabels_int64s=[7, -1, 3]) == [dict(zip([7, -1, 3], x[0].tolist(), strict=True))]
    with pytest.raises(pyburn.ShapeError, match="a column for each label"):
        run("ZipMap", x, domain=ML, classlabels_int64s=[1, 2])


@pytest.mark.parametrize(
    ("given", "expected"), [({"b": 2.5, "new": 9.0, "a": 1}, [1.0, 0.0, 2.5]), ({}, [0.0, 0.0, 0.0]), ({"c": 3}, [0.0, 3.0, 0.0])]
)
def test_dict_vectorizer_orders_by_its_vocabulary(given: dict[str, float], expected: list[float]) -> None:
    pytest.importorskip("onnx")
    found = onnx.load(_map_model("DictVectorizer", STRING, FLOAT, string_vocabulary=["a", "c", "b"]))(given)
    assert found.dtype is pyburn.float32 and found.tolist() == [expected]


def test_cast_map_is_dense_or_sparse() -> None:
    pytest.importorskip("onnx")
    given = {3: 1.5, 0: 2.5}
    assert onnx.load(_map_model("CastMap", INT64, FLOAT))(given).tolist() == [[2.5, 1.5]]
    sparse = onnx.load(_map_model("CastMap", INT64, FLOAT, map_form="SPARSE", max_map=5))
    assert sparse(given).tolist() == [[2.5, 0.0, 0.0, 1.5, 0.0]]
    with pytest.raises(IndexError, match="does not fit max_map"):
        sparse({5: 1.0})
    with pytest.raises(TypeError, match="all strings or all integers"):
        sparse({"a": 1.0, 2: 1.0})


def _map_model(op: str, key: int, value: int, **attributes: Any) -> bytes:
    from onnx import helper

    values = helper.make_tensor_type_proto(value, None)
    given = helper.make_value_info("x", helper.make_map_type_proto(key, values))
    node = helper.make_node(op, ["x"], ["y"], domain=ML, **attributes)
    graph = helper.make_graph([node], "g", [given], [helper.make_tensor_value_info("y", value, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 1)]).SerializeToString()


def test_types_of_maps_are_named() -> None:
    pytest.importorskip("onnx")
    assert onnx.info(_map_model("CastMap", INT64, FLOAT)).inputs[0].type == "map of int64 to float32"


# --- support vectors ---

KERNELS = {"linear": "LINEAR", "rbf": "RBF", "poly": "POLY", "sigmoid": "SIGMOID"}


def _attributes(machine: Any, kernel: str) -> dict[str, Any]:
    return {
        "domain": ML,
        "kernel_type": KERNELS[kernel],
        "kernel_params": [0.25, 0.5, 3.0],
        "support_vectors": machine.support_vectors_.ravel().tolist(),
        "coefficients": machine.dual_coef_.ravel().tolist(),
        "rho": np.atleast_1d(machine.intercept_).tolist(),
    }


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 4])
def test_support_vector_classifier_is_that_of_scikit_learn(kernel: str, classes: int) -> None:
    svm = pytest.importorskip("sklearn.svm")
    rng = np.random.RandomState(classes)
    labels = np.repeat(np.arange(classes), 12)
    x = (rng.standard_normal((len(labels), 3)) + labels[:, None] * [1.0, -0.5, 0.3]).astype(np.float32)
    machine = svm.SVC(kernel=kernel, gamma=0.25, coef0=0.5, degree=3, decision_function_shape="ovo").fit(x, labels)
    names = [f"class {i}" for i in range(classes)]
    attributes = _attributes(machine, kernel)
    if classes == 2:  # scikit-learn counts the machine of two classes for the second one
        attributes["coefficients"], attributes["rho"] = [-v for v in attributes["coefficients"]], [-v for v in attributes["rho"]]
    counts = [int(n) for n in machine.n_support_]
    label, scores = run("SVMClassifier", x, outputs=2, classlabels_strings=names, vectors_per_class=counts, **attributes)
    expected = machine.decision_function(x)
    close(scores, np.stack([expected, -expected], 1) if classes == 2 else expected, 1e-4)
    assert label.tolist() == [names[i] for i in machine.predict(x)]


def test_support_vector_probabilities_minimise_what_the_paper_says() -> None:
    svm = pytest.importorskip("sklearn.svm")
    rng = np.random.RandomState(0)
    labels = np.repeat(np.arange(3), 15)
    x = (rng.standard_normal((45, 3)) + labels[:, None]).astype(np.float32)
    machine = svm.SVC(kernel="rbf", gamma=0.25, decision_function_shape="ovo").fit(x, labels)
    a, b = [-1.5, -1.0, -2.0], [0.1, -0.2, 0.3]
    attributes = {"vectors_per_class": [int(n) for n in machine.n_support_], **_attributes(machine, "rbf")}
    _, found = run("SVMClassifier", x, outputs=2, classlabels_ints=[0, 1, 2], prob_a=a, prob_b=b, **attributes)
    r = np.zeros((45, 3, 3))
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        r[:, i, j] = 1 / (1 + np.exp(a[p] * machine.decision_function(x)[:, p] + b[p]))
        r[:, j, i] = 1 - r[:, i, j]
    for row, pairs in zip(found, r, strict=True):  # the minimum under sum(p) = 1, by its linear equations
        q = -pairs * pairs.T
        np.fill_diagonal(q, [(pairs[:, i] ** 2).sum() for i in range(3)])
        exact = np.linalg.solve(np.block([[q, np.ones((3, 1))], [np.ones((1, 3)), np.zeros((1, 1))]]), [0, 0, 0, 1])[:3]
        np.testing.assert_allclose(row, exact, atol=0.01)  # libsvm stops at 0.005 / 3
        assert abs(row.sum() - 1) < 1e-5


@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vector_regressor_is_that_of_scikit_learn(kernel: str) -> None:
    svm = pytest.importorskip("sklearn.svm")
    x = _random(30, 3)
    machine = svm.SVR(kernel=kernel, gamma=0.25, coef0=0.5, degree=3).fit(x, x.sum(1))
    attributes = {"n_supports": len(machine.support_), **_attributes(machine, kernel)}
    close(run("SVMRegressor", x, **attributes)[:, 0], machine.predict(x).astype(np.float32), 1e-4)
    signs = run("SVMRegressor", x, one_class=1, **attributes)[:, 0]
    np.testing.assert_array_equal(signs, np.where(machine.predict(x) > 0, 1, -1))


def test_support_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(pyburn.FormatError, match=r"\[svm\] 5 numbers of support_vectors"):
        run("SVMRegressor", _random(2, 3), domain=ML, coefficients=[1.0, 2.0], support_vectors=[1.0] * 5, n_supports=2, rho=[0.0])
    with pytest.raises(pyburn.FormatError, match="numbers of rho"):
        run("SVMRegressor", _random(2, 3), domain=ML, coefficients=[1.0, 2.0, 3.0])


def test_tables_of_a_node_serve_all_calls() -> None:
    tree = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [1, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
    }
    models = [
        onnx.load(one_node("TreeEnsembleRegressor", [FLOAT], domain=ML, n_targets=1, target_weights=weights, **tree))
        for weights in ([1.0, 2.0], [3.0, 4.0])
    ]
    for _ in range(2):  # the second call finds the trees of the first, and those of its own model
        for x in ([[0.0, 0.0], [0.0, 1.0]], [[9.0, 2.0]]):
            expected = [1.0 if row[1] <= 0.5 else 2.0 for row in x]
            assert [model(pyburn.tensor(x)).flatten().tolist() for model in models] == [expected, [v + 2 for v in expected]]


# --- text ---


def test_strings_move_like_numbers() -> None:
    x = strings(["a", "b", "c"], ["d", "e", "f"])
    np.testing.assert_array_equal(run("Transpose", x, perm=[1, 0]), x.T)
    np.testing.assert_array_equal(run("Gather", x, np.array([[2, -3]]), axis=1), x[:, [[2, 0]]])
    np.testing.assert_array_equal(run("ArrayFeatureExtractor", x, np.array([1, 1]), domain=ML), x[:, [1, 1]])
    np.testing.assert_array_equal(run("Concat", x, x[:, :1], axis=1), np.concatenate([x, x[:, :1]], 1))
    np.testing.assert_array_equal(run("Reshape", x, np.array([3, -1])), x.reshape(3, 2))
    np.testing.assert_array_equal(run("Expand", x[:, :1], np.array([2, 4])), np.broadcast_to(x[:, :1], (2, 4)))
    chosen = np.array([[True, False, True]])
    np.testing.assert_array_equal(run("Where", chosen, x, x[::-1].copy()), np.where(chosen, x, x[::-1]))


@pytest.mark.parametrize(("op", "rest"), [("Pad", [np.array([2, 0])]), ("Relu", [])])
def test_an_operator_that_makes_elements_does_not_take_strings(op: str, rest: list[np.ndarray]) -> None:
    with pytest.raises(pyburn.FormatError, match="input 0 must be a tensor: got strings"):
        run(op, strings("a", "b"), *rest)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"tokenexp": "[a-z]+"}, [["to", "be", "or"], ["ü", "#", "#"]]),
        ({"tokenexp": "[a-z]+", "mincharnum": 3}, [[], []]),
        ({"separators": [" ", "!"]}, [["to", "be,", "or"], ["ü", "#", "#"]]),
        ({"separators": [" +"], "mark": 1}, [["\x02", "to", "be,", "or!", "\x03"], ["\x02", "ü", "#", "#", "\x03"]]),
    ],
)
def test_tokenizer(attributes: dict[str, Any], expected: list[list[str]]) -> None:
    options = {"pad_value": "#", "mincharnum": 1, "mark": 0} | attributes
    text = strings("to be, or!", "ü" if "separators" in attributes else "??ü")
    if "tokenexp" in attributes and attributes["tokenexp"] == "[a-z]+" and "mincharnum" not in attributes:
        options["tokenexp"] = "[a-zü]+"
    assert run("Tokenizer", text, domain=MICROSOFT, **options).tolist() == expected


def test_tokenizer_into_characters() -> None:
    found = run("Tokenizer", strings(["aü"], ["x"]), domain=MICROSOFT, separators=[""], pad_value="_", mincharnum=1, mark=0)
    assert found.tolist() == [[["a", "ü"]], [["x", "_"]]]


def test_murmur_hash_of_known_texts() -> None:
    found = run("MurmurHash3", strings("", "hello", "hello, world"), domain=MICROSOFT, seed=0, positive=1)
    assert found.dtype == np.uint32 and found.tolist() == [0, 0x248BFA47, 0x149BBB7F]
    assert run("MurmurHash3", strings("hello"), domain=MICROSOFT, positive=0).tolist() == [0x248BFA47]
    four = np.frombuffer(b"test", np.int32).copy()
    assert (
        run("MurmurHash3", four, domain=MICROSOFT, seed=1234).tolist()
        == run("MurmurHash3", strings("test"), domain=MICROSOFT, seed=1234).tolist()
    )


def test_damaged_images_are_format_errors() -> None:
    pytest.importorskip("PIL")
    with pytest.raises(pyburn.FormatError, match="ImageDecoder"):
        run("ImageDecoder", np.frombuffer(b"no image at all", np.uint8).copy(), opset=20)
    with pytest.raises(pyburn.FormatError, match="pixel_format must be"):
        run("ImageDecoder", np.zeros(3, np.uint8), opset=20, pixel_format="CMYK")
    with pytest.raises(pyburn.DTypeError, match="as uint8"):
        run("ImageDecoder", np.zeros(3, np.int64), opset=20)


# --- quantised ---


def quantised(x: np.ndarray, scale: float, zero: int) -> np.ndarray:
    return np.clip(np.round(x / scale) + zero, 0, 255).astype(np.uint8)


def scale_and_zero(scale: float, zero: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array(scale, np.float32), np.array(zero, np.uint8)


def test_quantised_functions_of_numbers() -> None:
    x, y = _random(2, 6), _random(2, 4)
    a, b, result = (0.02, 120), (0.03, 130), (0.01, 100)
    qx, qy = quantised(x, *a), quantised(y, *b)
    nx, ny = (qx.astype(np.float32) - 120) * np.float32(0.02), (qy.astype(np.float32) - 130) * np.float32(0.03)

    def same(found: np.ndarray, numbers: np.ndarray) -> None:
        assert found.shape == numbers.shape and np.abs(found.astype(int) - quantised(numbers, *result)).max() <= 1
        assert len(np.unique(found)) > 1

    concat = [*scale_and_zero(*result), qx, *scale_and_zero(*a), qy, *scale_and_zero(*b)]
    same(run("QLinearConcat", *concat, domain=MICROSOFT, axis=1), np.concatenate([nx, ny], 1))
    e = np.exp(nx - nx.max(1, keepdims=True))
    given = [qx, *scale_and_zero(*a), *scale_and_zero(*result)]
    same(run("QLinearSoftmax", *given, domain=MICROSOFT, axis=-1, opset=13), e / e.sum(1, keepdims=True))
    where = [np.array([[True], [False]]), qx, *scale_and_zero(*a), qx, *scale_and_zero(*b), *scale_and_zero(*result)]
    same(run("QLinearWhere", *where, domain=MICROSOFT), np.where([[True], [False]], nx, (qx.astype(np.float32) - 130) * np.float32(0.03)))
    image = qx.reshape(1, 2, 3, 2)  # channels last
    pooled = nx.reshape(1, 2, 3, 2)[:, :, :2].mean((1, 2))[:, None, None]
    options = {"channels_last": 1, "kernel_shape": [2, 2], "strides": [2, 2], "domain": MICROSOFT}
    same(run("QLinearAveragePool", image, *scale_and_zero(*a), *scale_and_zero(*result), **options), pooled)
    assert (
        run("NhwcMaxPool", image, domain=MICROSOFT, kernel_shape=[2, 2]).tolist()
        == np.maximum(image[:, :, :2].max((1,)), image[:, :, 1:].max((1,)))[:, None].tolist()
    )


def test_quantised_product_with_bias() -> None:
    x, w, bias = _random(3, 5), _random(4, 5), np.arange(-2, 2, dtype=np.int32) * 50
    qx, qw = quantised(x, 0.02, 128), quantised(w, 0.02, 128)
    inputs = [qx, *scale_and_zero(0.02, 128), qw, *scale_and_zero(0.02, 128), bias]
    exact = ((qx.astype(int) - 128) @ (qw.astype(int) - 128).T + bias) * np.float32(0.02) * np.float32(0.02)
    close(run("QGemm", *inputs, domain=MICROSOFT, transB=1), exact.astype(np.float32))
    found = run("QGemm", *inputs, *scale_and_zero(0.05, 100), domain=MICROSOFT, transB=1)
    assert np.abs(found.astype(int) - quantised(exact, 0.05, 100)).max() <= 1


@pytest.mark.parametrize("by_column", [False, True])
def test_quantised_lstm_has_the_numbers_of_its_weights(by_column: bool) -> None:
    rng, hidden, size = np.random.RandomState(0), 4, 3
    x = _random(5, 2, size)
    codes = [rng.randint(-127, 128, (1, n, 4 * hidden)).astype(np.int8) for n in (size, hidden)]
    shape = (1, 4 * hidden) if by_column else (1,)
    scales = [(rng.rand(*shape) * 0.01 + 0.001).astype(np.float32) for _ in codes]
    zeros = np.zeros(shape, np.int8)
    weights = [(c * s.reshape(1, 1, -1)).swapaxes(1, 2) for c, s in zip(codes, scales, strict=True)]
    bias = _random(1, 8 * hidden)
    inputs = [x, *codes, bias, None, None, None, None, scales[0], zeros, scales[1], zeros]
    found = run("DynamicQuantizeLSTM", *inputs, domain=MICROSOFT, outputs=3, hidden_size=hidden)
    for ours, expected in zip(found, run("LSTM", x, *weights, bias, outputs=3, hidden_size=hidden), strict=True):
        close(ours, expected)


def test_quantised_attention_has_the_numbers_of_its_inputs() -> None:
    x, w, bias = _random(2, 3, 4), _random(4, 12), _random(12)
    qx, qw = quantised(x, 0.02, 128), quantised(w, 0.02, 120)
    nx, nw = (qx.astype(np.float32) - 128) * np.float32(0.02), (qw.astype(np.float32) - 120) * np.float32(0.02)
    scale = np.array(0.02, np.float32)
    found = run(
        "QAttention", qx, qw, bias, scale, scale, None, np.array(128, np.uint8), np.array(120, np.uint8), domain=MICROSOFT, num_heads=2
    )
    close(found, run("Attention", nx, nw, bias, domain=MICROSOFT, num_heads=2), 1e-4)


# --- sessions ---


def test_a_session_frees_only_the_sizes_that_change() -> None:
    helper = pytest.importorskip("onnx.helper")
    shape = helper.make_tensor("shape", INT64, [3], [1, 4, -1])
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"]), helper.make_node("Softmax", ["y"], ["z"], axis=1)]
    given = helper.make_tensor_value_info("x", FLOAT, ["batch", "height", "width"])  # the model works for 4 rows only
    result = helper.make_tensor_value_info("z", FLOAT, None)
    model = helper.make_model(helper.make_graph(nodes, "g", [given], [result], [shape]), opset_imports=[helper.make_opsetid("", 17)])
    session = onnx.session(model.SerializeToString())
    for width in (6, 9, 1, 30):
        x = pyburn.randn(1, 4, width)
        pyburn.testing.assert_close(session(x), x.softmax(1))
    assert "30" not in session.summary(pyburn.randn(1, 4, 31)).split("\n")[0]
    pyburn.testing.assert_close(session(pyburn.ones(1, 2, 8)), pyburn.full((1, 4, 4), 0.25))


def test_a_session_never_records_gradients() -> None:
    model = one_node("Compress", [FLOAT, TYPES["bool"]])
    x = pyburn.randn(4, requires_grad=True)
    assert onnx.load(model)(x, pyburn.tensor([True, False, True, True])).requires_grad
    assert not onnx.session(model)(x, pyburn.tensor([True, False, True, True])).requires_grad
