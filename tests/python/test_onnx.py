"""pyburn.onnx: models as modules and sessions."""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

GOLDEN = Path(__file__).resolve().parents[1] / "onnx" / "real_models.json"
DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")


def model_of(
    nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], tensors: dict[str, Any] | None = None, opset: int = 18
) -> Any:
    def info(name: str, spec: Any) -> Any:
        dtype, shape = spec if isinstance(spec, tuple) else (TensorProto.FLOAT, spec)
        return helper.make_tensor_value_info(name, dtype, shape)

    graph = helper.make_graph(
        nodes,
        "test",
        [info(*item) for item in inputs.items()],
        [info(*item) for item in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (tensors or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def load(*args: Any, **options: Any) -> Any:
    return pyburn.onnx.load(model_of(*args, **options).SerializeToString())


def classifier() -> Any:
    """Two layers with a normalisation between them, and the same as a module of pyburn."""
    r = np.random.default_rng(3)
    tensors = {
        "first.weight": r.standard_normal((8, 4)),
        "first.bias": r.standard_normal(8),
        "norm.weight": r.uniform(0.5, 1.5, 8),
        "norm.bias": r.standard_normal(8),
        "norm.running_mean": r.standard_normal(8),
        "norm.running_var": r.uniform(0.5, 1.5, 8),
        "last.weight": r.standard_normal((3, 8)),
        "last.bias": r.standard_normal(3),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "first.weight", "first.bias"], ["a"], transB=1),
        helper.make_node(
            "BatchNormalization", ["a", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"], ["b"], epsilon=1e-5
        ),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Gemm", ["c", "last.weight", "last.bias"], ["y"], transB=1),
    ]
    model = load(nodes, {"x": ["batch", 4]}, {"y": ["batch", 3]}, {k: v.astype(np.float32) for k, v in tensors.items()})

    class Same(pyburn.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.last = pyburn.nn.Linear(4, 8), pyburn.nn.BatchNorm1d(8), pyburn.nn.Linear(8, 3)

        def forward(self, x: Any) -> Any:
            return self.last(self.norm(self.first(x)).relu())

    same = Same().eval()
    same.load_state_dict(model.state_dict(), strict=False)
    return model, same


# ---- as a module


def test_tensors_keep_the_names_of_the_file() -> None:
    model, same = classifier()
    assert set(model.state_dict()) == set(same.state_dict()) - {"norm.num_batches_tracked"}
    assert {name for name, _ in model.named_parameters()} == {name for name, _ in same.named_parameters()}
    assert [name for name, _ in model.named_buffers()] == ["norm.running_mean", "norm.running_var"]
    assert all(p.requires_grad for p in model.parameters())


def test_names_that_cannot_be_attributes_have_underscores() -> None:
    nodes = [
        helper.make_node("Add", ["x", "a"], ["b"]),
        helper.make_node("Add", ["b", "a.b"], ["c"]),
        helper.make_node("Add", ["c", "..w"], ["y"]),
    ]
    ones = np.ones(2, np.float32)
    model = load(nodes, {"x": [2]}, {"y": [2]}, {"a": ones, "a.b": ones, "..w": ones})
    assert sorted(model.state_dict()) == ["__w", "a", "a_b"]
    assert model(pyburn.zeros(2)).tolist() == [3, 3]


def test_values_and_gradients_are_those_of_the_same_module() -> None:
    model, same = classifier()
    x = pyburn.randn(5, 4)
    for mode in (False, True):
        model.train(mode), same.train(mode)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        y, z = model(a), same(b)
        assert pyburn.allclose(y, z, atol=1e-5)
        for made in (y, z):
            made.square().sum().backward()
        assert pyburn.allclose(a.grad, b.grad, atol=1e-3)
        for (name, p), (_, q) in zip(model.named_parameters(), same.named_parameters(), strict=True):
            assert pyburn.allclose(p.grad, q.grad, rtol=1e-3, atol=1e-3), name
            p.grad = q.grad = None
    assert pyburn.allclose(model.state_dict()["norm.running_var"], same.norm.running_var, atol=1e-5)


@pytest.mark.parametrize("name", ["pictures", "series", "sentences"])
def test_gradients_are_those_of_pytorch(name: str) -> None:
    folder = Path(__file__).parents[1] / "golden" / "onnx_gradients"  # tools/make_onnx_gradients.py exported and differentiated them
    model = pyburn.onnx.load(folder / f"{name}.onnx")
    golden = np.load(folder / f"{name}.npz")
    x = pyburn.from_numpy(golden["x"])
    if x.is_floating_point():
        x.requires_grad_()
    y = model(x)
    pyburn.testing.assert_close(y.detach(), pyburn.from_numpy(golden["y"]), rtol=1e-4, atol=1e-5)
    waves = np.sin(np.arange(y.numel()) * 0.37 + 0.1).astype(np.float32).reshape(y.shape)
    (y * pyburn.from_numpy(waves)).sum().backward()
    found = {f"gradient {key}": p.grad for key, p in model.named_parameters()}
    if x.is_floating_point():
        found["gradient of x"] = x.grad
    assert found.keys() == set(golden.files) - {"x", "y"}
    for key, gradient in found.items():
        expected = pyburn.from_numpy(golden[key])
        pyburn.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-5 * max(1.0, expected.abs().max().item()), msg=key)


def test_fine_tuning() -> None:
    model, _ = classifier()
    pyburn.manual_seed(0)
    x = pyburn.randn(64, 4)
    target = x[:, :3].argmax(1)
    optimizer = pyburn.optim.Adam(model.parameters(), lr=0.02)
    model.train()
    losses = []
    for _ in range(30):
        loss = pyburn.nn.functional.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_copies_share_nothing() -> None:
    model, _ = classifier()
    x = pyburn.randn(2, 4)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert pyburn.equal(twin(x), model(x)) and not twin.training
        with pyburn.no_grad():
            twin.first.weight.zero_()
        assert not pyburn.allclose(twin(x), model(x))


def test_loading_a_state_dict_changes_the_results() -> None:
    model, _ = classifier()
    state = {name: pyburn.zeros_like(t) for name, t in model.state_dict().items()}
    assert not model.load_state_dict(state).missing_keys
    assert model(pyburn.randn(2, 4)).abs().max() == 0


def test_text_names_operators_and_tensors() -> None:
    text = repr(classifier()[0])
    assert "x: float32 [batch, 4]" in text and "2 Gemm" in text and "weight=(8, 4)" in text


def test_hooks_see_calls() -> None:
    model, _ = classifier()
    seen = []
    model.register_forward_hook(lambda module, args, result: seen.append((args[0].shape, result.shape)))
    model(pyburn.randn(2, 4))
    assert seen == [((2, 4), (2, 3))]


def test_inputs_by_name_and_their_mistakes() -> None:
    model = load([helper.make_node("Sub", ["a", "b"], ["y"])], {"a": [2], "b": [2]}, {"y": [2]})
    a, b = pyburn.ones(2), pyburn.zeros(2)
    assert pyburn.equal(model(b=b, a=a), model(a, b))
    assert model.run({"a": a, "b": b})["y"].tolist() == [1, 1]
    with pytest.raises(TypeError, match="no input of that name"):
        model(a, c=b)
    with pytest.raises(ValueError, match="input 'b' is missing"):
        model(a)
    with pytest.raises(ValueError, match="must be"):
        model(a, pyburn.zeros(2, 2))
    with pytest.raises(TypeError, match="must be"):
        model(a, pyburn.zeros(2, dtype=pyburn.int64))


# ---- what cannot run


def test_nodes_may_come_in_any_order() -> None:
    then = helper.make_graph([helper.make_node("Neg", ["b"], ["t"])], "then", [], [helper.make_tensor_value_info("t", 1, None)])
    other = helper.make_graph([helper.make_node("Exp", ["b"], ["u"])], "else", [], [helper.make_tensor_value_info("u", 1, None)])
    nodes = [
        helper.make_node("Add", ["c", "b"], ["y"]),
        helper.make_node("If", ["k"], ["c"], then_branch=then, else_branch=other),  # its graphs read b
        helper.make_node("Greater", ["s", "zero"], ["k"]),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Mul", ["x", "x"], ["b"]),
    ]
    model = load(nodes, {"x": [2]}, {"y": [2]}, {"zero": np.zeros((), np.float32)})
    assert model(pyburn.tensor([1.0, 2.0])).tolist() == [0, 0]
    nodes[4] = helper.make_node("Mul", ["x", "y"], ["b"])
    with pytest.raises(pyburn.FormatError, match="nothing computes 'c'"):  # a circle
        load(nodes, {"x": [2]}, {"y": [2]}, {"zero": np.zeros((), np.float32)})


def test_everything_that_is_missing_is_listed_at_once() -> None:
    nodes = [
        helper.make_node("NoSuch", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Other", ["b"], ["c"], name="second", domain="my.domain"),
        helper.make_node("NoSuch", ["c"], ["y"], name="third"),
    ]
    with pytest.raises(NotImplementedError) as caught:
        load(nodes, {"x": [2]}, {"y": [2]})
    text = str(caught.value)
    assert "NoSuch of ai.onnx 18 in 'first', 'third'" in text and "Other of my.domain 1 in 'second'" in text and "Relu" not in text


def test_damaged_files_are_format_errors() -> None:
    data = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [2]}, {"y": [2]}, {"w": np.ones(2, np.float32)}).SerializeToString()
    for end in range(0, len(data), 3):
        try:
            pyburn.onnx.load(data[:end])
        except (ValueError, NotImplementedError):
            continue
    with pytest.raises(ValueError, match="not an ONNX model"):
        pyburn.onnx.load(b"\xff" * 64)
    with pytest.raises(ValueError, match="nothing computes"):
        load([helper.make_node("Add", ["x", "nowhere"], ["y"])], {"x": [2]}, {"y": [2]})


def test_a_missing_input_of_an_operator_is_an_error() -> None:
    model = load([helper.make_node("Expand", ["x"], ["y"])], {"x": [2]}, {"y": [2]})
    with pytest.raises(ValueError, match="in node '' \\(Expand\\): .*input 1 is missing"):
        model(pyburn.ones(2))


def test_external_data_stays_in_the_folder(tmp_path: Path) -> None:
    weight = np.arange(4, dtype=np.float32)
    model = model_of([helper.make_node("Mul", ["x", "w"], ["y"])], {"x": [4]}, {"y": [4]}, {"w": weight})
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_bytes(b"\0" * 8 + weight.tobytes())
    (tmp_path / "secret.bin").write_bytes(weight.tobytes())
    (tmp_path / "model" / "link.bin").symlink_to(tmp_path / "secret.bin")
    tensor = model.graph.initializer[0]

    def saved(location: str, offset: int = 8, length: int = 16) -> Path:
        tensor.ClearField("raw_data")
        tensor.ClearField("external_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
        path = tmp_path / "model" / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    assert pyburn.onnx.load(saved("weights.bin"))(pyburn.ones(4)).tolist() == [0, 1, 2, 3]
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "link.bin", "", "missing.bin", "."):
        with pytest.raises(ValueError, match="external data"):
            pyburn.onnx.load(saved(location, 0))
    for offset, length in ((16, 16), (8, 17), (2**63, 16)):
        with pytest.raises(ValueError, match="external data"):
            pyburn.onnx.load(saved("weights.bin", offset, length))
    with pytest.raises(ValueError, match="load it by its path"):
        pyburn.onnx.load(model.SerializeToString())


# ---- shapes, loops, sessions


def flattening() -> Any:
    """Reshapes to (batch, the rest), as PyTorch's exporter writes it: by Shape, Gather, Unsqueeze and Concat."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axes"], ["list"]),
        helper.make_node("Concat", ["list", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    integers = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    return model_of(nodes, {"x": ["batch", 2, 3]}, {"y": ["batch", 4]}, {**integers, "w": np.ones((6, 4), np.float32)})


def test_arithmetic_of_shapes_is_not_in_the_captured_graph() -> None:
    model = pyburn.onnx.load(flattening().SerializeToString())
    assert list(model.state_dict()) == ["w"]
    graph = pyburn.inference.capture(model, pyburn.ones(5, 2, 3), dynamic={0: {0: "batch"}})
    assert not set(graph.operations) & {"index_select", "gather", "_index", "cat", "where"}
    session = pyburn.inference.Session(graph)
    assert session(pyburn.ones(7, 2, 3)).tolist() == [[6] * 4] * 7


def test_a_session_serves_all_sizes() -> None:
    session = pyburn.onnx.session(flattening().SerializeToString())
    for n in (1, 2, 9, 1, 4):
        assert session(pyburn.ones(n, 2, 3)).tolist() == [[6] * 4] * n
        assert session.run({"x": pyburn.ones(n, 2, 3)})["y"].shape == (n, 4)
    assert "kernels per run" in session.summary(pyburn.ones(3, 2, 3))


def test_a_session_says_where_values_decide() -> None:
    model = model_of([helper.make_node("NonZero", ["x"], ["y"])], {"x": [4]}, {"y": (TensorProto.INT64, [1, None])})
    session = pyburn.onnx.session(model.SerializeToString())
    for values in ([0, 1, 2, 0], [1, 1, 1, 1]):
        assert session(pyburn.tensor(values, dtype=pyburn.float32)).tolist() == [np.flatnonzero(values).tolist()]
    assert "runs in parts, because sizes depend on values" in session.summary(pyburn.ones(4))


def test_small_integers_that_decide_are_captured_by_value() -> None:
    then = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [helper.make_tensor_value_info("t", 1, [2])])
    other = helper.make_graph([helper.make_node("Exp", ["x"], ["e"])], "else", [], [helper.make_tensor_value_info("e", 1, [2])])
    nodes = [
        helper.make_node("Equal", ["rate", "eight"], ["is_eight"]),
        helper.make_node("If", ["is_eight"], ["y"], then_branch=then, else_branch=other),
    ]
    model = model_of(nodes, {"x": [2], "rate": (TensorProto.INT64, [])}, {"y": [2]}, {"eight": np.array(8)})
    session = pyburn.onnx.session(model.SerializeToString())
    x = pyburn.zeros(2)
    for rate in (8, 16, 8):
        assert session(x, pyburn.tensor(rate)).tolist() == ([0, 0] if rate == 8 else [1, 1])
        assert "kernels per run" in session.summary(x, pyburn.tensor(rate))


def summing_loop(steps: Any, condition: str = "keep") -> Any:
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["sum", "w"], ["next"]),
            helper.make_node("Identity", ["keep_in"], ["keep_out"]),
            helper.make_node("Identity", ["next"], ["scanned"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", 7, []),
            helper.make_tensor_value_info("keep_in", 9, []),
            helper.make_tensor_value_info("sum", 1, [2]),
        ],
        [
            helper.make_tensor_value_info("keep_out", 9, []),
            helper.make_tensor_value_info("next", 1, [2]),
            helper.make_tensor_value_info("scanned", 1, [2]),
        ],
    )
    nodes = [helper.make_node("Loop", [steps, condition, "x"], ["y", "all"], body=body)]
    return {"nodes": nodes, "inputs": {"x": [2], "n": (TensorProto.INT64, [])}, "outputs": {"y": [2], "all": ["n", 2]}}


def test_gradients_flow_through_loops() -> None:
    model = load(**summing_loop("n"), tensors={"keep": np.array(True), "w": np.array([2, 3], np.float32)})
    x = pyburn.ones(2, requires_grad=True)
    y, every = model(x, pyburn.tensor(3))
    assert y.tolist() == [8, 27] and every.tolist() == [[2, 3], [4, 9], [8, 27]]
    y.sum().backward()
    assert x.grad.tolist() == [8, 27] and model.w.grad.tolist() == [12, 27]
    assert [t.shape for t in model(x, pyburn.tensor(0))] == [(2,), (0,)]


@pytest.mark.parametrize("padding", range(4))
def test_a_session_of_a_file_keeps_weights_of_its_own(tmp_path: Path, padding: int) -> None:
    rng = np.random.default_rng(padding)
    w, table = rng.standard_normal((300, 200), np.float32), rng.standard_normal((200, 150), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "b"], ["s"]),
        helper.make_node("MatMul", ["s", "t"], ["y"]),
    ]
    # The name moves the elements in the file by some bytes: they are aligned for one padding only.
    tensors = {"w": w, "b": np.ones(200, np.float32), "t": table}
    proto = model_of(nodes, {"x": ["n", 300]}, {"y": ["n", 150]}, tensors)
    proto.producer_name = "p" * (1 + padding)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    session = pyburn.onnx.session(path)
    x = pyburn.randn(3, 300)
    expected = (x.numpy() @ w + 1) @ table
    np.testing.assert_allclose(session(x).numpy(), expected, rtol=1e-4, atol=2e-3)
    assert session.model is session.model
    profile = session.profile(x, runs=2)
    assert sum(step["multiply_adds"] for step in profile.steps) == 3 * 300 * 200 + 3 * 200 * 150
    with pyburn.no_grad():
        session.model.w.zero_()
    np.testing.assert_allclose(session(x).numpy(), expected, rtol=1e-4, atol=2e-3)
    np.testing.assert_allclose(session(x[:2]).numpy(), expected[:2], rtol=1e-4, atol=2e-3)
    assert path.read_bytes() == proto.SerializeToString()


# ---- models of others


@needs_data
@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: f"{case['model']}-{next(iter(case['inputs'].values()))}")
@pytest.mark.parametrize("kind", ["model", "session"])
def test_real_models_compute_what_onnxruntime_does(case: dict[str, Any], kind: str) -> None:
    path = Path(str(DATA)) / "models" / case["model"]
    model: Any = pyburn.onnx.load(path) if kind == "model" else pyburn.onnx.session(path)
    inputs = {}
    for name, size in case["inputs"].items():
        if isinstance(size, int):
            inputs[name] = pyburn.tensor(size)
        else:
            wave = np.sin(np.arange(int(np.prod(size)), dtype=np.float64) * 0.37)
            inputs[name] = pyburn.from_numpy(wave.astype(np.float32).reshape(size))
    for name, value in model.run(inputs).items():
        expected = case["outputs"][name]
        flat = value.detach().numpy().ravel().astype(np.float64)
        assert list(value.shape) == expected["shape"]
        picked = np.linspace(0, flat.size - 1, min(flat.size, 16)).astype(int)
        np.testing.assert_allclose(flat[picked], expected["picked"], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(flat.sum(), expected["sum"], rtol=1e-4, atol=1e-3)


@needs_data
def test_info_describes_a_file() -> None:
    info = pyburn.onnx.info(Path(str(DATA)) / "models" / "silero_vad_op18_ifless.onnx")
    assert info.opsets == {"ai.onnx": 18} and info.operators["Conv"] == 12 and info.parameters == 545671
    assert "float32 [batch, sequence]" in str(info)
