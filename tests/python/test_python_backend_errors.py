"""Backends in Python that are wrong: each mistake is an error that says what was expected, and nothing ends the process."""

from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest

import pyburn
from pyburn import backend
from pyburn.backend import Capabilities, kernel
from pyburn.backend.numpy_backend import NumpyBackend

unused_name = (f"wrong{i}" for i in itertools.count()).__next__


def device(**members):
    """That of a numpy backend with some members replaced."""
    return type("Wrong", (NumpyBackend,), {"name": "wrong", **members})().device


def result(value):
    """A device whose exp returns this."""
    return device(exp=kernel("exp")(lambda self, x: value(x)))


def ones(on, dtype=pyburn.float32):
    return pyburn.ones(2, 3, device=on, dtype=dtype)


STORED = r"\[exp\] the result of the backend wrong cannot be stored: expected float32 of shape \(2, 3\)"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: None, r"\[exp\] the kernel of wrong must return 1 results: got None"),
        (lambda x: (x, x), r"\[exp\] the kernel of wrong must return 1 results: got 2"),
        (lambda x: np.zeros(7), STORED + r": .* wrong shape: got \(7,\)"),
        (lambda x: np.zeros((3, 2)).T[:, :2], STORED),
        (lambda x: "text", STORED),
        (lambda x: object(), STORED),
        (lambda x: x * 1j, STORED + ": Cannot cast"),
        (lambda x: np.full((2, 3), "text"), STORED),
    ],
)
def test_wrong_results(value, words):
    with pytest.raises(ValueError, match=words):
        ones(result(value)).exp()


def test_results_of_another_kind_are_refused_and_wider_ones_rounded():
    halves = device(neg=kernel("neg")(lambda self, x: x * 0.5))
    with pytest.raises(ValueError, match=r"\[neg\] .* expected int64 of shape \(2, 3\): Cannot cast array data from dtype\('float64'\)"):
        -ones(halves, pyburn.int64)
    assert (-ones(halves)).tolist() == [[0.5] * 3] * 2
    assert ones(result(lambda x: np.ones((2, 3), int))).exp().tolist() == [[1.0] * 3] * 2
    strange = result(lambda x: np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1])
    assert ones(strange).exp().tolist() == [[3, 4, 5], [0, 1, 2]]


@pytest.mark.parametrize("answer, got", [(None, "NoneType"), ([np.zeros(2)], "list"), ((1, 2, 3), "3 arrays")])
def test_run_must_return_a_tuple(answer, got):
    with pytest.raises(ValueError, match=rf"^\[full\] run\(\) of the backend wrong must return a tuple of 1 arrays: got {got}"):
        ones(device(run=lambda self, *arguments: answer))


@pytest.mark.parametrize(
    ("members", "use", "kind", "words"),
    [
        ({"allocate": lambda self, dtype, n: None}, ones, ValueError, r"must return a buffer: got None"),
        ({"allocate": lambda self, dtype, n: np.zeros(1, np.float32)}, ones, ValueError, r"\[full\] .* cannot be stored"),
        ({"upload": lambda self, data, dtype: None}, lambda d: ones("cpu").to(d), ValueError, "must return a buffer: got None"),
        (
            {"upload": lambda self, data, dtype: np.frombuffer(data, dtype.name)},
            lambda d: ones("cpu").to(d),
            ValueError,
            "must copy the elements",
        ),
        ({"download": lambda self, array, dtype: None}, lambda d: ones(d).tolist(), TypeError, "bytes-like"),
        ({"download": lambda self, array, dtype: b"abc"}, lambda d: ones(d).tolist(), ValueError, "wrong number of bytes: got 3"),
        ({"describe": lambda self, array: None}, lambda d: ones(d).nonzero(), ValueError, r"\[nonzero\] .* cannot be stored"),
        ({"describe": lambda self, array: ((-1, 2), "int64")}, lambda d: ones(d).nonzero(), pyburn.ShapeError, "negative"),
        ({"describe": lambda self, array: ((1 << 62, 1 << 62), "int64")}, lambda d: ones(d).nonzero(), pyburn.ShapeError, "too many"),
        ({"supports": lambda self, op, dtype: 1 / 0}, ones, ZeroDivisionError, "division"),
        ({"synchronize": lambda self: 1 / 0}, lambda d: d.synchronize(), ZeroDivisionError, "division"),
        ({"memory": lambda self: {"in_use": "many"}}, lambda d: d.memory(), TypeError, "integer"),
        ({"host_view": lambda self, buffer, dtype: None}, lambda d: ones(d).numpy(), TypeError, "bytes-like"),
        ({"host_view": lambda self, buffer, dtype: bytearray(3)}, lambda d: ones(d).numpy(), TypeError, "can't convert"),
        ({"strides": lambda self, array: (1, 2)}, lambda d: pyburn.from_dlpack(np.ones(3), device=d), pyburn.ShapeError, "invalid strides"),
    ],
)
def test_wrong_methods(members, use, kind, words):
    with pytest.raises(kind, match=words):
        use(device(**members))


def test_wrong_declarations():
    with pytest.raises(TypeError, match=r"\[backend\] Wrong.name must be a string: got int"):
        device(name=3)
    with pytest.raises(TypeError, match=r"\[backend\] Wrong.capabilities must be a pyburn.backend.Capabilities: got int"):
        device(capabilities=3)
    with pytest.raises(pyburn.DTypeError, match="unknown dtype"):
        device(capabilities=Capabilities(dtypes=["nonsense"]))


def test_exceptions_of_every_kind_arrive_as_they_are():
    for error in (ZeroDivisionError("x"), KeyboardInterrupt(), SystemExit(3), StopIteration(), pyburn.IndexOutOfRange("[exp] x")):

        def raises(x, error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            ones(result(raises)).exp()
        assert caught.value is error


def test_a_late_exception_may_be_raised_again_and_again():
    """An operation that fusion queued fails at each read of what it should have written."""
    name = unused_name()

    @kernel
    def exp(self, x):
        raise ZeroDivisionError("on purpose")

    backend.register(name, type("Late", (NumpyBackend,), {"name": name, "exp": exp}))
    x = pyburn.ones(300_000, device=f"fusion({name})")
    y = x.exp() + 1
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            y.sum().item()
    assert (x + 1)[0].item() == 2


def test_a_deleted_backend_lives_as_long_as_its_device():
    own = NumpyBackend()
    x = ones(own.device)
    del own
    gc.collect()
    assert (x + 1).sum().item() == 12


def test_threads_that_fail_and_threads_that_do_not():
    def odd(x):
        if x.flat[0] % 2:
            raise ZeroDivisionError
        return x

    place, failures = result(odd), []

    def work(number):
        x = pyburn.full((2, 3), float(number), device=place)
        for _ in range(100):
            try:
                x.exp()
                failed = False
            except ZeroDivisionError:
                failed = True
            if failed != bool(number % 2):
                failures.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- what a backend may say and share ---


def test_memory_is_shared_with_numpy_and_dlpack():
    x = pyburn.zeros(2, 3, device="numpy")
    a, b = x.numpy(), np.from_dlpack(x)
    x[0, 1] = 5
    assert a[0, 1] == b[0, 1] == 5 and x.__dlpack_device__() == (1, 0)
    a += 1
    assert x[1, 2].item() == 1
    given = np.arange(6.0).reshape(2, 3).T
    y = pyburn.from_dlpack(given, device="numpy")
    assert y.device == "numpy" and y.stride() == (1, 3)
    y += 10
    assert given[2, 1] == 15
    assert pyburn.from_dlpack(given, device="numpy", copy=True).numpy().ctypes.data != given.ctypes.data
    assert pyburn.zeros(0, 3, device="numpy").numpy().shape == (0, 3)
    del x
    gc.collect()
    assert a[0, 1] == 6


def test_sharing_copies_where_it_must():
    place = device(share=lambda self, exporter: None)
    given = np.zeros(3)
    assert pyburn.from_dlpack(given, device=place).device == place
    with pytest.raises(BufferError, match="would have to be copied"):
        pyburn.from_dlpack(given, device=place, copy=False)


def test_memory_figures_count_what_is_alive():
    place = NumpyBackend().device
    x = pyburn.zeros(1000, device=place)
    assert place.memory() == {"in_use": 4000, "reserved": 4000, "peak": 4000}
    y = x + 1
    assert place.memory()["in_use"] == 8000
    del x, y
    gc.collect()
    assert place.memory() == {"in_use": 0, "reserved": 0, "peak": 8000}
    own = device(memory=lambda self: {"in_use": 1, "reserved": 2, "peak": 3})
    assert own.memory() == {"in_use": 1, "reserved": 2, "peak": 3}


def test_dtypes_that_a_backend_does_not_store():
    place = device(capabilities=Capabilities(dtypes=[pyburn.float32, pyburn.int64, pyburn.bool]))
    with pytest.raises(pyburn.DTypeError, match="wrong cannot store float64"):
        ones(place, pyburn.float64)
    assert ones(place).mean().item() == 1


def test_results_are_adopted_where_the_backend_says_so():
    kept = []

    def adopt(self, array, dtype, shape, strides):
        step = array.itemsize
        fits = array.dtype == dtype.name and array.shape == shape and array.strides == tuple(s * step for s in strides)
        if not fits or not array.flags.owndata:
            return None
        kept.append(array)
        return array

    x = ones(device(adopt=adopt))
    y = x.exp()
    assert np.shares_memory(kept[-1], y.numpy())
    y[0] = 7
    assert kept[-1][0].tolist() == [7] * 3 and x.tolist() == [[1] * 3] * 2
    assert y.T[1].tolist() == y.numpy().T[1].tolist()
