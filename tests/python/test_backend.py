"""Backends written in Python, seen from outside: kernels, decompositions, errors, gradients, discovery, garbage."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import textwrap
import threading
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import _core, backend

unused_name = (f"small{i}" for i in itertools.count()).__next__


class Small(backend.Backend):
    """Enough for softmax: what has no kernel is made of what has."""

    name = "small"

    def __init__(self):
        self.ran = []

    def run(self, op, inputs, attributes, outputs):
        self.ran.append(op)
        return super().run(op, inputs, attributes, outputs)

    @backend.kernel
    def exp(self, x):
        return np.exp(x)

    @backend.kernel("full")
    def constant(self, *, size, value, dtype):
        return np.full(size, value, dtype.name)

    @backend.kernel
    def cast(self, x, *, dtype):
        return x.astype(dtype.name)

    @backend.kernel
    def sub(self, *tensors, scalar, value, alpha):
        return tensors[0] - alpha * (tensors[1] if scalar == 0 else value)

    @backend.kernel
    def mul(self, *tensors, scalar, value):
        return tensors[0] * (tensors[1] if scalar == 0 else value)

    @backend.kernel
    def div(self, *tensors, scalar, value):
        return tensors[0] / (tensors[1] if scalar == 0 else value)

    @backend.kernel
    def sum(self, x, *, dim, keepdim, result):
        assert isinstance(dim, tuple) and isinstance(keepdim, bool) and result is pyburn.float32
        return x.sum(dim, keepdims=keepdim)

    @backend.kernel
    def amax(self, x, *, dim, keepdim, result):
        return x.max(dim, keepdims=keepdim)


def values(t):
    return np.frombuffer(t._download(), t.dtype.name).reshape(tuple(t.shape))


def upload(array, device):
    array = np.ascontiguousarray(array)
    return _core._from_bytes(array.tobytes(), array.shape, array.dtype.name, device)


def test_decomposes_what_has_no_kernel():
    small = Small()
    x = np.array([[1, 2, 3], [0, 0, 5]], np.float32)
    y = pyburn.softmax(upload(x, small.device), 1)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(values(y), e / e.sum(1, keepdims=True), rtol=1e-6)
    assert set(small.ran) == {"amax", "sub", "exp", "sum", "div"}


def test_gradients_come_from_autodiff_around_it():
    x = upload(np.array([0.5, 1.5], np.float32), Small().device)
    _core._set_requires_grad(x, True)
    pyburn.sum(pyburn.exp(x) * 2).backward()
    np.testing.assert_allclose(values(x.grad), 2 * np.exp([0.5, 1.5]), rtol=1e-6)


def test_views_share_the_buffer_and_writes_reach_it():
    x = pyburn.zeros(2, 3, device=Small().device)
    column = pyburn.select(x.T, 0, 1)
    column.copy_(pyburn.ones(2, device=x.device))
    assert values(x).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert x._version == column._version == 1


def test_unsupported_operation_names_operation_dtype_and_device():
    x = pyburn.ones(2, device=Small().device)
    with pytest.raises(pyburn.UnsupportedOp, match=r"^\[sin\] has no kernel for float32 on small, and no decomposition"):
        pyburn.sin(x)


def test_tensors_are_created_without_a_kernel():
    class Bare(backend.Backend):
        name = "bare"

        @backend.kernel
        def exp(self, x):
            return np.exp(x)

        @backend.kernel
        def cast(self, x, *, dtype):  # for writes into parts
            return x.astype(dtype.name)

    for device in (Bare().device, backend.stack("fusion", Bare())):
        assert values(pyburn.ones(2, device=device).exp()).tolist() == [np.exp(np.float32(1))] * 2
        assert values(pyburn.arange(3, device=device)).tolist() == [0, 1, 2]
        pyburn.manual_seed(3)
        drawn = values(pyburn.randn(5, device=device))
        pyburn.manual_seed(3)
        assert drawn.tolist() == pyburn.randn(5).tolist()  # the same numbers as on the CPU
        pyburn.manual_seed(4)
        x = pyburn.zeros(2, 3, device=device)
        x.T[1:].uniform_(-1, 1)
        pyburn.manual_seed(4)
        expected = pyburn.zeros(2, 3)
        expected.T[1:].uniform_(-1, 1)
        assert values(x).tolist() == expected.tolist()


def test_exceptions_of_kernels_arrive_as_they_are():
    class Broken(Small):
        name = "broken"

        @backend.kernel
        def exp(self, x):
            raise ZeroDivisionError("on purpose")

        @backend.kernel
        def mul(self, *tensors, scalar, value):
            return (tensors[0], tensors[0])

        @backend.kernel
        def sub(self, *tensors, scalar, value, alpha):
            return np.zeros(7)

    x = pyburn.ones(2, device=Broken().device)
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        pyburn.exp(x)
    assert caught.traceback[-1].name == "exp"  # with the lines of the kernel
    with pytest.raises(ValueError, match=r"\[mul\] .* must return 1 results: got 2"):
        pyburn.mul(x, x)
    with pytest.raises(ValueError, match="wrong shape"):
        pyburn.sub(x, x)
    assert values(pyburn.clone(x)).tolist() == [1, 1]  # and everything still works


def test_kernels_may_call_operations_on_other_devices():
    class Nested(Small):
        name = "nested"

        @backend.kernel
        def exp(self, x):
            return values(pyburn.exp(upload(x, "cpu")))

    x = pyburn.zeros(3, device=Nested().device)
    np.testing.assert_allclose(values(pyburn.softmax(x, 0)), [1 / 3] * 3, rtol=1e-6)


def test_kernel_of_an_unknown_operation_is_refused():
    with pytest.raises(ValueError, match=r"\[kernel\] no operation has this name: got no_such"):

        class Wrong(backend.Backend):
            @backend.kernel
            def no_such(self, x):
                return x


def test_registered_by_name_with_aliases_and_text():
    made = []

    class Numbered(Small):
        def __init__(self, text="0"):
            super().__init__()
            self.name = f"numbered:{text}"
            made.append(text)

    name = unused_name()
    backend.register(name, Numbered, aliases=[name + "alias"], doc="Counts.")
    first = pyburn.Device(name)
    assert made == ["0"] and first == pyburn.Device(name.upper()) == pyburn.Device(name + "alias")
    assert pyburn.Device(name + ":3") != first and made == ["0", "3"]
    row = next(b for b in _core._backends() if b["name"] == name)
    assert row["doc"] == "Counts." and not row["unavailable"] and not row["decorator"]


def test_unavailable_backends_say_why():
    name = unused_name()
    backend.register(name, Small, unavailable=lambda: "it is Monday")
    assert next(b for b in _core._backends() if b["name"] == name)["unavailable"] == "it is Monday"
    with pytest.raises(pyburn.DeviceError, match="not available here: it is Monday"):
        pyburn.ones(1, device=name)


def test_factory_must_give_a_backend():
    name = unused_name()
    backend.register(name, lambda: 7)
    with pytest.raises(TypeError, match=r"expected a pyburn.backend.Backend: got int"):
        pyburn.Device(name)


def test_stacks():
    small = Small()
    assert backend.stack("autodiff", "numpy") == pyburn.Device("numpy")
    assert backend.stack(small) == backend.stack(small)
    assert backend.autodiff(small).name == "autodiff(small)"
    assert backend.stack("autodiff", backend.stack(small)).name == "autodiff(small)"
    for entry in _core._backends():
        if entry["decorator"] and not entry["unavailable"] and entry["name"] not in ("autodiff", "router"):
            device = backend.stack("autodiff", entry["name"], small)
            assert "small" in device.name
            assert values(pyburn.exp(pyburn.zeros(2, device=device))).tolist() == [1, 1]
    with pytest.raises(pyburn.DeviceError, match="expected a decorator: got 'ndarray'"):
        backend.stack("cpu", small)
    with pytest.raises(AttributeError):
        _ = backend.no_such_decorator


def test_buffers_are_freed_with_their_tensors():
    class Tracked(np.ndarray):  # numpy's own class has no weak references
        pass

    class Tracking(Small):
        name = "tracking"

        def allocate(self, dtype, elements):
            buffer = super().allocate(dtype, elements).view(Tracked)
            refs.append(weakref.ref(buffer))
            return buffer

    refs: list[weakref.ref] = []
    x = pyburn.ones(4, device=Tracking().device)
    y = pyburn.exp(x)
    assert len(refs) == 2 and all(r() is not None for r in refs)
    del x, y
    gc.collect()
    assert all(r() is None for r in refs)


def test_threads():
    x = upload(np.arange(1000, dtype=np.float32), "numpy")
    failures = []

    def work():
        for _ in range(50):
            if not np.array_equal(values(x + x), np.arange(1000) * 2):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


ENTRY_POINT = """
    [pyburn.backends]
    fromelsewhere = elsewhere:announce
    failing = elsewhere:no_such_function
"""
ELSEWHERE = """
    from pyburn import backend
    def announce():
        class Elsewhere(backend.Backend):
            name = "fromelsewhere"
        backend.register("fromelsewhere", Elsewhere)
"""
PROGRAM = """
    import sys
    import pyburn
    assert "elsewhere" not in sys.modules and "importlib.metadata" not in sys.modules, "discovered too early"
    pyburn.ones(2)
    assert "elsewhere" not in sys.modules
    assert pyburn.Device("fromelsewhere").name == "autodiff(fromelsewhere)"
    reasons = {b["name"]: b["unavailable"] for b in pyburn._core._backends()}
    assert reasons["fromelsewhere"] == "" and "AttributeError" in reasons["failing"], reasons
"""


def test_entry_points_are_found_when_needed(tmp_path):
    package = tmp_path / "elsewhere-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(textwrap.dedent(ENTRY_POINT))
    (tmp_path / "elsewhere.py").write_text(textwrap.dedent(ELSEWHERE))
    program = f"import sys; sys.path.append({str(tmp_path)!r})\n" + textwrap.dedent(PROGRAM)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_example(monkeypatch):
    """Thirds, which no floating dtype holds: exact on the way forward and back."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples" / "backend_python"))
    import pyburn_exact

    pyburn_exact.announce()
    x = upload(np.array([[1.0, 2.0], [3.0, 4.0]]), "exact")
    _core._set_requires_grad(x, True)
    thirds = x / 3
    assert values(pyburn.sum(thirds * 3 - x)).item() == 0
    y = pyburn.sum(pyburn.matmul(thirds, thirds.T), dim=0)
    assert values(y).tolist() == [float(Fraction(16, 9)), float(Fraction(36, 9))]
    pyburn.sum(y).backward()
    assert values(x.grad).tolist() == [[float(Fraction(8, 9)), float(Fraction(12, 9))]] * 2
    with pytest.raises(pyburn.UnsupportedOp, match=r"\[exp\] has no kernel for float64 on exact"):
        pyburn.exp(x)
