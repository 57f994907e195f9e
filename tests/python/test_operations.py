"""pyburn.register_op: operations written in Python are rows like any other."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import backend, inference, plugins
from pyburn.autograd import gradcheck

ROOT = Path(__file__).parents[2]
X = pyburn.tensor([[1.0, -2.0], [3.0, 0.5]])


def numpy_square(x: Any, scale: float = 1.0) -> Any:
    """The scaled square, by numpy."""
    return pyburn.from_numpy(x.numpy() ** 2 * scale)


def register_square(name: str, **options: Any) -> Any:
    options = {
        "infer": lambda x, scale: pyburn.empty_like(x),
        "kernel": numpy_square,
        "grad": lambda ctx, dy: dy * ctx.input * (2 * ctx.scale),
        **options,
    }
    return pyburn.register_op(f"{name}(Tensor input, float scale=1.0) -> Tensor", **options)


square = register_square("py_square")


def test_values_gradients_and_documentation() -> None:
    assert square(X, scale=0.5).tolist() == (X * X / 2).tolist()
    x = X.double().requires_grad_()
    assert gradcheck(square, (x,)) and gradcheck(lambda t: square(t, 3.0), (x,))
    assert pyburn.autograd.gradgradcheck(square, (x,))
    assert square.__doc__ == "py_square(Tensor input, float scale=1.0) -> Tensor\n\nThe scaled square, by numpy."
    assert str(square(x).grad_fn).startswith("<PySquareBackward0")


def test_arguments_are_checked_by_the_schema() -> None:
    for wrong in (lambda: square(None), lambda: square(), lambda: square(X, "a"), lambda: square(X, 1.0, 2.0), lambda: square([X])):
        with pytest.raises(TypeError, match=r"^\[py_square\]"):
            wrong()


def test_out_and_in_place_forms() -> None:
    target = pyburn.empty(2, 2)
    assert square(X, out=target) is target and target.tolist() == (X * X).tolist()
    copy = X.clone()
    assert plugins.operation("py_square_")(copy) is copy and copy.tolist() == (X * X).tolist()
    w = pyburn.ones(2, requires_grad=True)
    y = w * 3
    plugins.operation("py_square_")(y)
    y.sum().backward()
    assert w.grad.tolist() == [18, 18]
    with pytest.raises(RuntimeError, match="leaf"):
        plugins.operation("py_square_")(w)


@pytest.mark.parametrize("device", ["cpu", "numpy", "fusion(cpu)", "remote(cpu)", "trace(cpu)", "router(numpy, cpu)", "fusion(numpy)"])
def test_it_runs_on_every_backend(device: str) -> None:
    x = X.clone().to(device).requires_grad_()
    y = square(x, 2.0)
    assert y.device == x.device and y.tolist() == (X * X * 2).tolist()
    (y + x).sum().backward()
    assert x.grad.tolist() == (4 * X + 1).tolist()
    assert square(x.detach(), out=pyburn.empty(2, 2, device=device)).tolist() == (X * X).tolist()


class Hostless(backend.Backend):
    """Memory that kernels of the host cannot see."""

    name = "hostless"

    @backend.kernel
    def add(self, *tensors: Any, scalar: int, value: float, alpha: float) -> Any:
        return tensors[0] + alpha * (tensors[1] if scalar == 0 else value)


def test_other_backends_use_the_decomposition_before_a_copy() -> None:
    seen: list[str] = []

    def kernel(x: Any) -> Any:
        seen.append(f"kernel on {x.device.type}")
        return x + 1

    def decompose(x: Any) -> Any:
        seen.append(f"decomposition on {x.device.type}")
        return x + 1

    step = pyburn.register_op("py_step(Tensor input) -> Tensor", kernel=kernel, decompose=decompose, infer=pyburn.empty_like)
    step(X), step(X.to(Hostless().device))
    assert seen == ["kernel on cpu", "decomposition on hostless"]
    seen.clear()
    both = pyburn.register_op(
        "py_step(Tensor input) -> Tensor", kernel={"cpu": kernel, "numpy": kernel}, decompose=decompose, infer=pyburn.empty_like
    )
    both(X), both(X.to("numpy"))
    assert seen == ["kernel on cpu", "kernel on numpy"]


def test_a_decomposition_alone_is_enough() -> None:
    softsign = pyburn.register_op("py_softsign(Tensor input) -> Tensor", decompose=lambda x: x / (1 + x.abs()))
    assert softsign(X).tolist() == (X / (1 + X.abs())).tolist()
    assert gradcheck(softsign, (X.double().requires_grad_(),))
    assert softsign(X.to("meta")).shape == (2, 2)


def test_an_elementwise_operation_promotes_and_broadcasts() -> None:
    shapes = []

    def kernel(a: Any, b: Any) -> Any:
        shapes.append((tuple(a.shape), tuple(b.shape), a.dtype == b.dtype))
        return a * 10 + b

    pair = pyburn.register_op("py_digits(Tensor a, Tensor b) -> Tensor", kernel=kernel, elementwise=True, no_grad="for a test")
    assert pair(pyburn.tensor([1, 2]), pyburn.tensor([[0.5], [0.25]])).tolist() == [[10.5, 20.5], [10.25, 20.25]]
    assert shapes == [((2, 2), (2, 2), True)]


def test_every_kind_of_argument() -> None:
    got: dict[str, Any] = {}

    def kernel(x: Any, others: Any, bias: Any, n: Any, *, sizes: Any, rates: Any, name: Any, kind: Any, flag: Any, number: Any) -> Any:
        got.update(others=len(others), bias=bias, n=n, sizes=sizes, rates=rates, name=name, kind=kind, flag=flag, number=number)
        return x + sum(others)

    op = pyburn.register_op(
        "py_every(Tensor x, Tensor[] others, Tensor? bias, int n, *, int[] sizes=(1,2), float[]? rates=None, str? name=None, "
        "DType? kind=None, bool flag=False, Scalar number=1) -> Tensor",
        kernel=kernel,
        infer=lambda x, *_, **__: pyburn.empty_like(x),
        grad=lambda ctx, dy: (dy, [dy] * len(ctx.others), None),
    )
    x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
    op(x, [y, y], None, 3, rates=[0.5], name="a", kind=pyburn.float16, number=2.5).sum().backward()
    assert got == {"others": 2, "bias": None, "n": 3, "sizes": (1, 2), "rates": (0.5,), "name": "a", "kind": pyburn.float16, "flag": False,
                   "number": 2.5}  # fmt: skip
    assert x.grad.tolist() == [[1, 1], [1, 1]] and y.grad.tolist() == [[2, 2], [2, 2]]


def test_several_results() -> None:
    op = pyburn.register_op(
        "py_sin_cos(Tensor input) -> (Tensor sine, Tensor cosine)",
        kernel=lambda x: (x.sin(), x.cos()),
        infer=lambda x: (pyburn.empty_like(x), pyburn.empty_like(x)),
        grad=lambda ctx, ds, dc: ds * ctx.outputs[1] - dc * ctx.outputs[0],
        saves="outputs",
    )
    assert op(X).cosine.tolist() == X.cos().tolist()
    x = X.double().requires_grad_()
    assert gradcheck(lambda t: op(t).sine, (x,)) and gradcheck(op, (x,))


def test_graphs_hold_it_by_name(tmp_path: Path) -> None:
    class Net(pyburn.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = pyburn.nn.Linear(2, 3)

        def forward(self, x: Any) -> Any:
            return square(self.linear(x), 0.5)

    net = Net()
    graph = inference.capture(net, X, dynamic={0: [0]})
    assert graph.operations[-1] == "py_square"
    session = inference.compile(net, X, dynamic={0: [0]})
    session.save(tmp_path / "net.graph")
    again = inference.load(tmp_path / "net.graph")
    for rows in (pyburn.ones(5, 2), X):
        assert again(rows).tolist() == session(rows).tolist() == net(rows).tolist()
    assert again.graph.operations[-1] == "py_square"


def test_a_program_without_it_lists_what_it_lacks(tmp_path: Path) -> None:
    other = register_square("py_other_square")
    inference.capture(lambda x: other(square(x)), X).save(str(tmp_path / "both.graph"))
    code = f"import pyburn.inference; pyburn.inference.load({str(tmp_path / 'both.graph')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "needs operations that this process does not have: got 'py_square', 'py_other_square'" in done.stderr
    program = next(iter(ROOT.glob("build/release/**/run_graph")), None) or shutil.which("run_graph")
    if program is None:
        pytest.skip("the C++ examples are not built (make build)")
    (tmp_path / "x.f32").write_bytes(X.numpy().tobytes())
    done = subprocess.run([program, tmp_path / "both.graph", "2", tmp_path / "x.f32"], capture_output=True, text=True)
    assert done.returncode != 0 and "got 'py_square', 'py_other_square'" in done.stderr


def test_vmap() -> None:
    assert pyburn.func.vmap(square)(X).tolist() == (X * X).tolist()


def test_registering_again_replaces_it() -> None:
    first = register_square("py_again")
    graph = inference.compile(first, X)
    second = pyburn.register_op("py_again(Tensor input, *, int times=2) -> Tensor", decompose=lambda x, times: x * times)
    assert second(X, times=3).tolist() == (X * 3).tolist()
    assert plugins.operation("py_again")(X).tolist() == (X * 2).tolist()
    assert first(X).tolist() == graph(X).tolist() == (X * X).tolist(), "what holds the old operation keeps it"
    for _ in range(5000):
        register_square("py_again_and_again")
    assert plugins.operation("py_again_and_again")(X).tolist() == (X * X).tolist()


def test_registering_on_several_threads() -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(50):
                assert register_square(f"py_thread_{i % 5}")(X, float(number)).tolist() == (X * X * number).tolist()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_shapes_that_the_kernel_decides() -> None:
    op = pyburn.register_op(
        "py_positive(Tensor input) -> Tensor",
        kernel=lambda x: x[x > 0],
        grad=lambda ctx, dy: pyburn.zeros_like(ctx.input).masked_scatter(ctx.input > 0, dy),
    )
    x = X.clone().requires_grad_()
    for device in ("cpu", "fusion(cpu)", "numpy"):
        assert op(X.to(device)).tolist() == [1, 3, 0.5]
    op(x).sum().backward()
    assert x.grad.tolist() == [[1, 0], [1, 1]]
    with pytest.raises(pyburn.CaptureError, match=r"^\[py_positive\]"):
        inference.capture(op, X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kernel": lambda x, scale: 3}, TypeError, "the kernel must return a Tensor or a tuple of Tensors: got int"),
        ({"kernel": lambda x, scale: (x, x)}, ValueError, "the kernel returned the wrong number of results: expected 1, got 2"),
        ({"kernel": lambda x, scale: x[0]}, ValueError, r"the result of the kernel differs from inference: expected float32 \(2, 2\), got"),
        ({"infer": lambda x, scale: "a"}, TypeError, "infer must return a Tensor"),
        ({"infer": lambda x, scale: (x, x)}, ValueError, "wrong number of outputs"),
    ],
)
def test_rules_that_are_wrong(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=rf"\[py_wrong\] {message}"):
        register_square("py_wrong", **options)(X)


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda ctx, dy: (dy, dy), pyburn.GradientError, "the gradient rule returned the wrong number of gradients: expected 1, got 2"),
        (lambda ctx, dy: dy.sum(), pyburn.GradientError, r"the gradient of input 0 has a wrong shape: expected \(2, 2\), got \(\)"),
        (lambda ctx, dy: dy.double(), pyburn.GradientError, "the gradient of input 0 has a wrong dtype"),
        (lambda ctx, dy: 1.0, TypeError, "grad must return a Tensor"),
        (lambda ctx, dy: ctx.outputs[0] * dy, RuntimeError, "the gradient reads outputs that were not saved: expected saves='outputs'"),
        (lambda ctx, dy: ctx.nothing, AttributeError, "the schema has no argument 'nothing'"),
    ],
)
def test_gradients_that_are_wrong(rule: Any, error: Any, message: str) -> None:
    op = register_square("py_bad", grad=rule)
    with pytest.raises(error, match=rf"\[py_bad\] {message}"):
        op(X.clone().requires_grad_()).sum().backward()


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("py_none", {}, "expected 'name"),
        ("py_none(Tensr x) -> Tensor", {}, "unknown type of an argument: got 'Tensr x'"),
        ("py_none(Tensor x) -> Tensor", {}, r"\[py_none\] expected a gradient, a decomposition, or the reason"),
        ("exp(Tensor x) -> Tensor", {"no_grad": "-"}, "an operation with the name 'exp' already exists in C\\+\\+"),
        ("py_none(Tensor|Scalar x) -> Tensor", {"no_grad": "-"}, "for built-in operations alone"),
        ("py_none(Tensor[] x, Tensor[] y) -> Tensor", {"no_grad": "-"}, "at most one argument of type Tensor"),
        ("py_none(Tensor x) -> Tensor[]", {"no_grad": "-"}, "expected results with names"),
        ("py_none(Tensor x) -> Tensor", {"no_grad": "-", "saves": "everything"}, "saves must be"),
    ],
)
def test_what_is_refused(schema: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyburn.register_op(schema, kernel=lambda x: x, **options)
    with pytest.raises(ValueError, match="unknown operation"):
        plugins.operation("py_none")


def test_results_are_tensors_of_their_own() -> None:
    kept: list[Any] = []

    def kernel(x: Any) -> Any:
        kept.append(x)
        return x

    same = pyburn.register_op("py_same(Tensor input) -> Tensor", kernel=kernel, infer=pyburn.empty_like, grad=lambda ctx, dy: dy, saves=())
    x = X.clone()
    same(x).add_(1)
    assert x.tolist() == X.tolist() and not kept[0].requires_grad


def test_an_exception_of_a_kernel_reaches_the_caller_as_it_is() -> None:
    def kernel(x: Any) -> Any:
        raise KeyError("mine")

    op = pyburn.register_op("py_raises(Tensor input) -> Tensor", kernel=kernel, infer=pyburn.empty_like, no_grad="-")
    for device in ("cpu", "fusion(cpu)", "numpy"):
        with pytest.raises(KeyError, match="mine"):
            op(X.to(device)).tolist()


def test_large_tensors_run_without_the_gil_outside_the_kernel() -> None:
    x = pyburn.ones(1 << 17)
    assert square(x, 2.0).sum() == 2 << 17


def test_as_a_decorator_and_pickled() -> None:
    @pyburn.register_op("py_decorated(Tensor input) -> Tensor", infer=pyburn.empty_like, no_grad="-")
    def decorated(x: Any) -> Any:
        """Doubles the elements.

        In two steps.
        """
        return x + x

    assert decorated(X).tolist() == (X * 2).tolist() and decorated.__doc__.endswith("\n\nDoubles the elements.")
    assert pickle.loads(pickle.dumps(decorated))(X).tolist() == (X * 2).tolist()


PACKAGE = """
import pyburn
pyburn.register_op("found_twice(Tensor input) -> Tensor", decompose=lambda x: x * 2)
"""


def test_packages_are_asked_before_an_operation_is_called_unknown(tmp_path: Path) -> None:
    (tmp_path / "found_package.py").write_text(PACKAGE)
    (tmp_path / "failing_package.py").write_text("raise OSError('not today')")
    info = tmp_path / "found_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: found-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pyburn.ops]\nbroken = failing_package\nfound = found_package\n")
    head = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import pyburn, pyburn.plugins, pyburn.inference as i; x = pyburn.ones(2)"
    graph = str(tmp_path / "found.graph")
    save = f"import found_package; i.capture(pyburn.plugins.operation('found_twice'), x).save({graph!r})"
    load = f"assert 'found_package' not in sys.modules; print(i.load({graph!r})(x).tolist())"
    by_name = "print(pyburn.plugins.operation('found_twice')(x).tolist())"
    printed = []
    for code in (save, load, by_name):
        command = [sys.executable, "-W", "ignore", "-c", f"{head}; {code}"]
        printed.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert printed == ["", "[2.0, 2.0]\n", "[2.0, 2.0]\n"]


def test_numpy_kernels_get_plain_tensors() -> None:
    """A kernel may call numpy on inputs that want gradients, whatever backend they are on."""
    cumulative = pyburn.register_op(
        "py_cumulative(Tensor input) -> Tensor",
        kernel=lambda x: pyburn.tensor(np.add.accumulate(x.numpy())),
        infer=pyburn.empty_like,
        grad=lambda ctx, dy: dy.flip(0).cumsum(0).flip(0),
        saves=(),
    )
    assert gradcheck(cumulative, (pyburn.arange(4.0, dtype=pyburn.float64).requires_grad_(),))


def test_a_backend_may_have_its_own_kernel_and_refuse_some_calls() -> None:
    from pyburn.backend.numpy_backend import NumpyBackend

    class Own(NumpyBackend):
        """numpy, with a kernel for matrices."""

        name = "own"

        def supports(self, op: str, dtype: Any) -> bool | None:
            return None if op == "py_square" else super().supports(op, dtype)

        def supports_call(self, op: str, inputs: Any, attributes: Any) -> bool:
            return op != "py_square" or len(inputs[0][0]) == 2

        @pyburn.backend.kernel
        def py_square(self, x: Any, *, scale: float) -> Any:
            return x * x * scale + 100

    device = Own().device
    assert square(pyburn.ones(1, 1).to(device)).tolist() == [[101]]
    assert square(pyburn.ones(1).to(device)).tolist() == [1]
    for shape in ((1,), (1, 1)):
        assert inference.capture(square, pyburn.ones(shape, device=device)).operations == ["py_square"]


def test_a_full_table_keeps_what_could_not_be_replaced() -> None:
    program = """
import pyburn
from pyburn import plugins

options = {"infer": pyburn.empty_like, "no_grad": "a test"}
pyburn.register_op("py_old(Tensor input) -> Tensor", kernel=lambda x: x + 1, **options)
try:
    for i in range(5000):
        pyburn.register_op(f"py_more_{i}(Tensor input) -> Tensor", kernel=lambda x: x, **options)
except ValueError as error:
    assert "the table is full" in str(error)
try:
    pyburn.register_op("py_old(Tensor input) -> Tensor", decompose=lambda x: x + 2)  # needs an index of its own
except ValueError as error:
    assert "the table is full" in str(error)
else:
    raise AssertionError("no error")
assert plugins.operation("py_old")(pyburn.ones(1)).tolist() == [2]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
