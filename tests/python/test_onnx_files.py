"""ONNX files written again: other opsets and weights, graph files, weights alone, drawings, and the shapes that exported files state."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.cli import main

onnx = pytest.importorskip("onnx")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A network, and its file model.onnx in the current folder, with a free batch and width."""
    monkeypatch.chdir(tmp_path)
    pyburn.manual_seed(0)
    net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.Conv1d(4, 3, 1)).eval()
    axes = {"signal": {0: "batch", 2: "time"}}
    pyburn.onnx.export(net, pyburn.ones(1, 2, 8), "model.onnx", input_names=["signal"], output_names=["scores"], dynamic_axes=axes)
    return net


def same(session: Any, net: Any) -> None:
    for batch, time in ((1, 8), (3, 11)):
        x = pyburn.randn(batch, 2, time)
        pyburn.testing.assert_close(session(x), net(x).detach(), atol=1e-5, rtol=1e-4)


def test_another_opset_and_back(model: Any) -> None:
    assert main(["onnx", "convert", "model.onnx", "old.onnx", "--opset", "17"]) == 0
    info = pyburn.onnx.info("old.onnx")
    assert info.opsets["ai.onnx"] == 17
    assert info.inputs[0] == ("signal", "float32 [batch, 2, time]", "float32", ("batch", 2, "time"))
    assert info.outputs[0][:2] == ("scores", "float32 [batch, 3, time - 2]")
    onnx.checker.check_model(onnx.load("old.onnx"), full_check=True)
    same(pyburn.onnx.session("old.onnx"), model)


def test_graph_files_and_back(model: Any) -> None:
    assert main(["onnx", "convert", "model.onnx", "model.pbgraph"]) == 0
    session = pyburn.inference.load("model.pbgraph")
    assert "signal" in str(session.graph.inputs) and "scores" in str(session.graph.outputs)
    same(session, model)
    assert main(["onnx", "convert", "model.pbgraph", "again.onnx"]) == 0
    same(pyburn.onnx.session("again.onnx"), model)
    assert pyburn.onnx.info("again.onnx").inputs[0].name == "signal"


@pytest.mark.parametrize("suffix", ["safetensors", "pt", "npz", "pyburn"])
def test_weights_alone_and_back(model: Any, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "model.onnx", f"weights.{suffix}"]) == 0
    found = {name: tensor.load() for name, tensor in pyburn.io.open_tensors(f"weights.{suffix}").items()}
    assert found.keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert pyburn.equal(found[name], tensor)
    other = nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.Conv1d(4, 3, 1)).eval()
    pyburn.io.save_module(other, "other.safetensors")
    assert main(["onnx", "convert", "model.onnx", "tuned.onnx", "--weights", "other.safetensors"]) == 0
    same(pyburn.onnx.session("tuned.onnx"), other)


def test_a_program_without_python_runs_it(model: Any) -> None:
    program = next(iter(ROOT.glob("build/release/**/run_onnx")), None) or shutil.which("run_onnx")
    if program is None:
        pytest.skip("the C++ examples are not built (make build-tests)")
    done = subprocess.run([str(program), "model.onnx"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "conv" in done.stderr  # 1 sample is less than the kernel
    assert main(["onnx", "convert", "model.onnx", "long.onnx", "--size", "time=8"]) == 0
    done = subprocess.run([str(program), "long.onnx"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "a tensor float32 (1, 3, 6)\n", done.stderr
    assert "libpython" not in subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout


def test_the_graph_is_drawn(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["onnx", "info", "model.onnx", "--svg", "model.svg", "--size", "time=12"]) == 0
    assert "float32 [batch, 2, time]" in capsys.readouterr().out
    drawing = Path("model.svg").read_text()
    assert drawing.startswith("<svg") and drawing.count("conv") >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.onnx"], "convert needs OUTPUT"),
        (["model.onnx", "model.tflite"], "unknown output format: expected a name that ends in .onnx, .pbgraph, .pt"),
        (["model.onnx", "model.onnx"], "already exists"),
        (["model.onnx", "x.onnx", "--opset", "3"], "opset must be from 17"),
        (["model.onnx", "x.onnx", "--size", "time"], "--size expects NAME=N"),
        (["none.onnx", "x.onnx"], "no such file"),
        (["model.onnx", "x.onnx", "--weights", "none.pt"], "none.pt"),
        (["model.pbgraph", "x.onnx"], "too short for a graph"),
    ],
)
def test_mistakes_of_convert(model: Any, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.pbgraph").write_bytes(b"no graph")
    assert main(["onnx", "convert", *arguments]) != 0
    assert message in capsys.readouterr().err
    assert not Path("x.onnx").exists()


def test_a_size_that_the_model_needs_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    helper = onnx.helper
    shape = helper.make_tensor("shape", onnx.TensorProto.INT64, [2], [2, -1])
    given = helper.make_tensor_value_info("x", 1, ["height", 6])
    result = helper.make_tensor_value_info("y", 1, None)
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Add", ["r", "x"], ["y"]),
    ]  # two rows, or one that stretches
    graph = helper.make_graph(nodes, "g", [given], [result], [shape])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "x.onnx")
    assert main(["onnx", "convert", "x.onnx", "y.onnx"]) != 0
    assert "--size NAME=N" in capsys.readouterr().err
    assert main(["onnx", "convert", "x.onnx", "y.onnx", "--size", "height=2"]) == 0
    assert pyburn.onnx.info("y.onnx").inputs[0].shape == (2, 6)


# --- the shapes of outputs ---

CASES: dict[str, tuple[Any, list[str | int]]] = {
    "a name": (lambda x: x * 2, ["batch", "time", 4]),
    "a sum": (lambda x: pyburn.cat([x, x[:, :1], x], 1), ["batch", "2*time + 1", 4]),
    "two names": (lambda x: pyburn.cat([x.sum(1), x.sum(0)]), ["batch + time", 4]),
    "a product": (lambda x: x.reshape(-1, 4), ["output0.0", 4]),
    "a difference": (lambda x: x[:, 2:].transpose(0, 1), ["time - 2", "batch", 4]),
    "a quotient": (lambda x: x[:, ::2], ["batch", "output0.1", 4]),
    "a number": (lambda x: x.sum((0, 1)), [4]),
    "rows of a table": (lambda x: x.new_zeros(3, 5) + x.mean(), [3, 5]),
}


@pytest.mark.parametrize("case", CASES)
def test_shapes_of_outputs_are_stated(case: str) -> None:
    function, expected = CASES[case]
    content = pyburn.onnx.export(function, pyburn.ones(2, 6, 4), dynamic_axes={"input0": {0: "batch", 1: "time"}})
    assert content is not None
    sizes = onnx.load_from_string(content).graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in sizes] == expected
    found = pyburn.onnx.session(content)
    for batch, time in ((1, 5), (3, 8)):
        x = pyburn.randn(batch, time, 4)
        pyburn.testing.assert_close(found(x), function(x))
        known = {"batch": batch, "time": time}
        stated = [eval(str(size), {}, known) if "." not in str(size) else -1 for size in expected]
        assert all(n in (-1, m) for n, m in zip(stated, function(x).shape, strict=True))


def test_shapes_that_follow_from_values_are_not_stated() -> None:
    content = pyburn.onnx.export(lambda x: x[x > 0], pyburn.ones(4), dynamic_axes={"input0": {0: "n"}})
    assert content is not None
    output = onnx.load_from_string(content).graph.output[0].type.tensor_type
    assert [(d.dim_param, d.dim_value) for d in output.shape.dim] == [("", 0)]
    assert pyburn.onnx.load(content)(pyburn.tensor([1.0, -1.0, 2.0])).tolist() == [1, 2]


def test_names_of_captured_graphs() -> None:
    graph = pyburn.inference.capture(lambda x: (x + 1, x * 2), pyburn.ones(2), input_names=["signal"], output_names=["more", "twice"])
    assert [name for name, *_ in graph.inputs] == ["signal"] and [name for name, *_ in graph.outputs] == ["more", "twice"]
    with pytest.raises(ValueError, match="expected 1 input names: got 2"):
        pyburn.inference.capture(lambda x: x, pyburn.ones(2), input_names=["a", "b"])
    with pytest.raises(ValueError, match="expected 1 output names: got 2"):
        pyburn.inference.capture(lambda x: x, pyburn.ones(2), output_names=["a", "b"])
    assert np.array_equal(pyburn.inference.compile(lambda x: x + 1, pyburn.ones(2))(pyburn.zeros(2)).numpy(), [1, 1])
