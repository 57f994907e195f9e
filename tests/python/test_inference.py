"""Capture, save, load and run: from Python, and from a C++ program without Python."""

import itertools
import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import pyburn
from pyburn import inference, nn

ROOT = Path(__file__).parents[2]


class Residual(nn.Module):
    """conv, batch norm, relu, add: written in Python."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)) + x)


@pytest.fixture
def block():
    pyburn.manual_seed(5)
    model = Residual(4)
    for _ in range(3):  # running statistics that are not the initial ones
        model(pyburn.randn(8, 4, 6, 6))
    return model.eval()


def test_a_block_with_a_free_batch(block, tmp_path):
    graph = inference.capture(block, pyburn.zeros(2, 4, 6, 6), dynamic={0: [0]})
    assert "conv2d" in graph.operations and "conv.weight" in graph.constants
    path = tmp_path / "block.graph"
    graph.save(str(path))
    session = inference.load(path)
    for batch in (1, 2, 3, 7):
        x = pyburn.randn(batch, 4, 6, 6)
        with pyburn.no_grad():
            assert pyburn.allclose(session(x), block(x), atol=1e-5)


def test_a_saved_block_runs_in_a_program_without_python(block, tmp_path):
    program = next(iter([*ROOT.glob("build/release/**/run_graph")]), None) or shutil.which("run_graph")
    if program is None:
        pytest.skip("the C++ examples are not built (make build)")
    inference.compile(block, pyburn.zeros(2, 4, 6, 6), dynamic={0: [0]}).save(tmp_path / "block.graph")
    x = pyburn.randn(5, 4, 6, 6)
    (tmp_path / "x.f32").write_bytes(x.numpy().tobytes())
    command = [str(program), str(tmp_path / "block.graph"), "5", str(tmp_path / "x.f32")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    heading, *numbers = done.stdout.splitlines()
    assert "(5, 4, 6, 6)" in heading
    with pyburn.no_grad():
        expected = block(x)
    assert pyburn.allclose(pyburn.tensor([float(n) for n in numbers]).reshape(5, 4, 6, 6), expected, atol=1e-4)
    assert "libpython" not in subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout


def test_reading_a_value_while_capturing_is_refused():
    with pytest.raises(pyburn.CaptureError, match="not known"):
        inference.capture(lambda x: x * 2 if x.sum().item() > 0 else x, pyburn.ones(3))


def test_sizes_that_follow_from_values_have_names():
    graph = inference.capture(lambda x: pyburn.nonzero(x), pyburn.ones(3))
    assert "u0 = extent 0 of %1" in str(graph)


def test_several_inputs_and_outputs():
    session = inference.compile(lambda a, b: (a + b, a * b), pyburn.ones(2, 3), pyburn.ones(3), dynamic={0: [0]})
    total, product = session(pyburn.full((5, 3), 2.0), pyburn.full((3,), 4.0))
    assert total.tolist() == [[6.0] * 3] * 5 and product.tolist() == [[8.0] * 3] * 5


def test_errors_help(tmp_path):
    with pytest.raises(ValueError, match="at least one example"):
        inference.capture(lambda: None)
    with pytest.raises(TypeError, match="examples must be Tensors"):
        inference.capture(lambda x: x, 3)
    (tmp_path / "no.graph").write_bytes(b"not a graph at all")
    with pytest.raises(pyburn.FormatError):
        inference.load(tmp_path / "no.graph")
    with pytest.raises(FileNotFoundError):
        inference.load(tmp_path / "missing.graph")
    with pytest.raises(ZeroDivisionError):
        inference.capture(lambda x: 1 / 0, pyburn.ones(2))
    session = inference.compile(lambda x: x.sum(0), pyburn.ones(2, 3))
    with pytest.raises(RuntimeError):
        session(pyburn.ones(3, 3))


def test_a_graph_as_recorded():
    table = pyburn.arange(6.0).reshape(2, 3)

    def function(x):
        x.exp()  # nobody reads it
        return x + (table * 2).sum(0)

    x = pyburn.ones(2, 3)
    assert inference.capture(function, x, simplify=False).operations == ["exp", "mul", "sum", "expand", "add"]
    assert inference.capture(function, x).operations == ["expand", "add"]
    for simplify in (False, True):
        assert inference.compile(function, x, simplify=simplify)(x).tolist() == function(x).tolist()


class Quantised(nn.Module):
    """A linear layer whose weights are bytes with a scale per row."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", pyburn.arange(-16, 16).reshape(8, 4).to(pyburn.int8))
        self.register_buffer("scale", pyburn.rand(8, 1))

    def forward(self, x):
        return x @ (self.weight.to(pyburn.float32) * self.scale).T


def test_quantised_weights_are_not_folded_to_floats(tmp_path):
    model, x = Quantised(), pyburn.rand(3, 4)
    graph = inference.capture(model, x)
    assert graph.constants["weight"].dtype == pyburn.int8
    assert {name: t.numel() for name, t in graph.constants.items()} == {"weight": 32, "scale": 8}
    session = inference.compile(model, x)
    session.save(tmp_path / "model.graph")
    assert pyburn.allclose(inference.load(tmp_path / "model.graph")(x), model(x))


def test_graph_files_of_an_older_version_say_what_to_do():
    with pytest.raises(pyburn.FormatError, match="got 1, expected 5; save the model again"):
        inference.load(ROOT / "tests/golden/graph_version_1.graph")


def test_dynamic_sizes_have_names():
    net = nn.Sequential(nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    example = pyburn.zeros(1, 2, 16, 16)
    session = inference.compile(net, example, dynamic={"input": {0: "batch", 2: "height", 3: "width"}})
    for shape in [(1, 2, 16, 16), (3, 2, 7, 12), (2, 2, 33, 5)]:
        x = pyburn.randn(*shape)
        assert pyburn.allclose(session(x), net(x), atol=1e-5)
    pair = inference.compile(lambda a, b: a + b, pyburn.ones(2, 3), pyburn.ones(2, 3), dynamic={0: {0: "n"}, 1: {0: "n"}})
    with pytest.raises(RuntimeError, match="input 1 does not fit"):
        pair(pyburn.ones(4, 3), pyburn.ones(5, 3))


def test_dynamic_sizes_that_are_misnamed_are_refused():
    x = pyburn.ones(2, 3)
    with pytest.raises(ValueError, match="an input that is not there: got 'y'"):
        inference.capture(lambda x: x, x, dynamic={"y": [0]})
    with pytest.raises(ValueError, match="dimension 2 of input 0, which has 2"):
        inference.capture(lambda x: x, x, dynamic={0: [2]})
    with pytest.raises(TypeError, match="must be a str: got 3"):
        inference.capture(lambda x: x, x, dynamic={0: {0: 3}})
    with pytest.raises(pyburn.CaptureError, match="does not follow from the dynamic sizes"):
        inference.capture(lambda x: pyburn.zeros(2 ** x.shape[0]), x, dynamic={0: [0]})


def test_training_the_model_later_does_not_change_a_session():
    net = nn.Linear(3, 2)
    x = pyburn.randn(4, 3)
    session = inference.compile(net, x)
    expected = net(x)
    with pyburn.no_grad():
        net.weight.zero_()
    assert pyburn.allclose(session(x), expected)


def test_profile_summary_and_drawing(tmp_path):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    x = pyburn.randn(4, 8)
    session = inference.compile(net, x)
    profile = session.profile(x, runs=3)
    assert profile.runs == 3 and profile.seconds > 0
    assert sum(step["multiply_adds"] for step in profile.steps) == 4 * (8 * 16 + 16 * 2)
    assert "relu" in str(profile) and "us per run" in str(profile)
    profile.save_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == len(profile.steps) and all(event["ph"] == "X" for event in events)
    assert "lower bound" in session.summary(x) and "kernels per run" in session.summary(x)
    drawing = session.plot(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == drawing
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert session.graph.to_graphviz().startswith("digraph")
    with pytest.raises(ValueError, match="at least one run"):
        session.profile(x, runs=0)
    with pytest.raises(pyburn.UnsupportedOp, match="operation by operation"):
        inference.compile(net.to("fusion(cpu)"), x.to("fusion(cpu)")).profile(x.to("fusion(cpu)"))


def test_profile_of_a_session_that_runs_in_parts(tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())

    def program(x):
        y = net(x)
        picked = pyburn.nonzero(y.sum(1) > 0)[:, 0]
        (total,) = inference.while_loop(lambda t: t.sum() < 100.0, lambda t: (t * 2.0 + 1.0,), (y.abs(),))
        return pyburn.index_select(y, 0, picked).exp(), total

    x = pyburn.ones(3, 4)
    session = inference.compile(program, x)
    profile = session.profile(x, runs=2)
    names = [step["name"] for step in profile.steps]
    assert any("linear" in name for name in names) and "nonzero" in names and "while_loop" not in names
    total = session(x)[1]
    start = net(x).abs()
    rounds = next(n for n in itertools.count() if pyburn.allclose((start + 1) * 2**n - 1, total))
    assert rounds > 0 and rounds in [step["calls"] for step in profile.steps]
    assert sum(step["multiply_adds"] for step in profile.steps) == 3 * 4 * 8
    assert f"{rounds} calls" in str(profile)
    profile.save_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == sum(step["calls"] for step in profile.steps)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.first, self.second = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 16), nn.Linear(16, 5)

    def forward(self, x):
        return self.second(nn.functional.relu(self.first(self.norm(self.conv(x)).mean((2, 3)))))


@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 3e-2), ("float16", 4e-3), (pyburn.float32, 1e-6)])
def test_precision_of_products_and_their_weights(tmp_path, precision, tolerance):
    pyburn.manual_seed(3)
    model, x = Mixed().eval(), pyburn.randn(4, 3, 9, 9)
    session = inference.compile(model, x, precision=precision, dynamic={0: [0]})
    got, expected = session(x), model(x)
    assert got.dtype == pyburn.float32 and pyburn.allclose(got, expected, atol=tolerance, rtol=tolerance)
    wanted = getattr(pyburn, precision) if isinstance(precision, str) else precision
    weights = {t.dtype for t in session.graph.constants.values() if t.ndim > 1}
    assert weights == {wanted}
    if wanted != pyburn.float32:
        assert not pyburn.equal(got, expected)  # it was computed in this precision
    session.save(tmp_path / "model.graph")
    assert pyburn.equal(inference.load(tmp_path / "model.graph")(x[:2]), session(x[:2]))


def test_precision_of_a_model_in_half_precision():
    pyburn.manual_seed(4)
    model, x = nn.Linear(64, 8).to(pyburn.bfloat16), pyburn.randn(3, 64).to(pyburn.bfloat16)
    session = inference.compile(model, x, precision="float32")
    assert session(x).dtype == pyburn.bfloat16
    assert {t.dtype for t in session.graph.constants.values()} == {pyburn.float32}
    assert pyburn.allclose(session(x), model(x), atol=2e-2)
    for wrong in ("int8", pyburn.float64):
        with pytest.raises(pyburn.DTypeError, match="expected float32, float16 or bfloat16"):
            inference.compile(model, x, precision=wrong)


@pytest.mark.parametrize("device", ["cpu", "fusion(cpu)", "inner(cpu)", "numpy", "remote(cpu)"])
def test_a_model_is_compiled_for_the_device_it_is_on(block, device):
    x = pyburn.randn(1, 4, 5, 5)
    expected = block(x)
    session = inference.compile(block.to(device), x)  # only the shape of the example counts
    assert session.device == pyburn.device(device)
    result = session(x.to(device))
    assert result.device == pyburn.device(device)
    assert pyburn.allclose(result.cpu(), expected.cpu(), atol=1e-5)


@pytest.mark.parametrize("function", [nn.Linear(3, 3), nn.ReLU()])
def test_inputs_on_another_device_are_refused_by_name(function):
    """Also by a graph that has no weights to meet them."""
    session = inference.compile(function.to("fusion(cpu)"), pyburn.ones(2, 3, device="fusion(cpu)"))
    with pytest.raises(pyburn.DeviceError, match=r"\[Session\] expected inputs on .*fusion.*: got input 0 on .*numpy"):
        session(pyburn.ones(2, 3, device="numpy"))
