"""Making tensors, asking them, converting them; and that nothing a user types ends the process."""

from __future__ import annotations

import array
import doctest
import subprocess
import sys
import types

import numpy as np
import pytest

import pyburn


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1.5, pyburn.float32, ()),
        (1, pyburn.int64, ()),
        (True, pyburn.bool, ()),
        ([1, 2.5], pyburn.float32, (2,)),
        ([True, 2], pyburn.int64, (2,)),
        ([], pyburn.float32, (0,)),
        ([[], []], pyburn.float32, (2, 0)),
        (((1, 2), (3, 4)), pyburn.int64, (2, 2)),
        (range(3), pyburn.int64, (3,)),
        (bytearray(b"abc"), pyburn.int64, (3,)),
        (array.array("i", [1, 2]), pyburn.int64, (2,)),
        (np.float64(3), pyburn.float64, ()),
        (np.float32(3), pyburn.float32, ()),
        (np.int32(3), pyburn.int32, ()),
        (np.bool_(True), pyburn.bool, ()),
        ([np.float64(3)], pyburn.float64, (1,)),
        ([np.float32(3), 1], pyburn.float32, (2,)),
        ([np.ones(2), np.ones(2)], pyburn.float64, (2, 2)),
        (np.ones((2, 3), dtype=np.float16), pyburn.float16, (2, 3)),
        (np.arange(6).reshape(2, 3)[:, ::-1], pyburn.int64, (2, 3)),
        ([pyburn.tensor(1.0), 2], pyburn.float32, (2,)),
    ],
)
def test_dtype_and_shape_follow_the_data(data, dtype, shape) -> None:
    t = pyburn.tensor(data)
    assert t.dtype is dtype
    assert t.shape == shape
    assert not t.requires_grad


def test_values_arrive() -> None:
    assert pyburn.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert pyburn.tensor(np.arange(6).reshape(2, 3)[:, ::-1]).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert pyburn.tensor([1.5, -2.5], dtype=pyburn.int32).tolist() == [1, -2]
    assert pyburn.tensor([-1], dtype=pyburn.uint8).tolist() == [255]
    assert pyburn.tensor(2**63, dtype=pyburn.uint64).item() == 2**63
    assert pyburn.tensor(2**70, dtype=pyburn.float64).item() == 2.0**70
    assert pyburn.tensor([0, 2, 0.5], dtype=pyburn.bool).tolist() == [False, True, True]
    assert pyburn.tensor([0.1], dtype=pyburn.bfloat16).item() == 0.10009765625


@pytest.mark.parametrize(
    "data, options, error, message",
    [
        ([[1, 2], [3]], {}, ValueError, "length 2 at dim 1: got 1"),
        ([[1], 2], {}, ValueError, "sequence of length 1 at dim 1: got int"),
        ([1, [2]], {}, ValueError, "expected a number at dim 1"),
        ("a", {}, TypeError, "got str"),
        (["a"], {}, TypeError, "got str"),
        (b"abc", {}, TypeError, "got bytes"),
        (None, {}, TypeError, "got NoneType"),
        ({1: 2}, {}, TypeError, "got dict"),
        ({1, 2}, {}, TypeError, "got set"),
        (1j, {}, TypeError, "got complex"),
        (2**63, {}, ValueError, "out of range for int64"),
        ([300], {"dtype": pyburn.uint8}, ValueError, "without overflow: got 300"),
        ([-129], {"dtype": pyburn.int8}, ValueError, "without overflow"),
        ([float("nan")], {"dtype": pyburn.int32}, ValueError, "without overflow"),
        ([1e30], {"dtype": pyburn.int64}, ValueError, "without overflow"),
        ([pyburn.ones(2)], {}, ValueError, "only one element"),
        (np.array(["a"]), {}, TypeError, "supported are"),
        (np.array([1j]), {}, TypeError, "supported are"),
        (np.array([None]), {}, TypeError, "supported are"),
        (np.array([1.0], dtype=">f4"), {}, TypeError, "byte order"),
        ([1], {"dtype": "nonsense"}, TypeError, "nonsense"),
        ([1], {"device": "nonsense"}, RuntimeError, "ndarray"),
        ([1], {"requires_grad": True}, RuntimeError, "floating"),
    ],
)
def test_wrong_data_is_explained(data, options, error, message) -> None:
    with pytest.raises(error, match=message):
        pyburn.tensor(data, **options)


def test_a_list_that_holds_itself() -> None:
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions"):
        pyburn.tensor(endless)


def test_a_list_that_changes_while_it_is_read() -> None:
    class Shrinks:
        def __float__(self) -> float:
            values.clear()
            return 1.0

    values: list = [1.0, Shrinks(), 2.0]
    with pytest.raises(ValueError, match="changed"):
        pyburn.tensor(values)


def test_tensor_of_a_tensor_is_a_copy_without_history() -> None:
    a = pyburn.ones(2, requires_grad=True)
    b = pyburn.tensor(a * 2)
    assert b.tolist() == [2, 2]
    assert not b.requires_grad
    assert b._storage_id != a._storage_id


def test_as_tensor_shares_where_it_can() -> None:
    t = pyburn.ones(2)
    assert pyburn.as_tensor(t) is t
    assert pyburn.as_tensor(t, dtype=pyburn.int64).tolist() == [1, 1]
    a = np.zeros(3)
    shared = pyburn.as_tensor(a)
    a[1] = 4
    assert shared.tolist() == [0, 4, 0]
    assert pyburn.as_tensor(a[::-1]).tolist() == [0, 4, 0]
    assert pyburn.as_tensor([1, 2]).dtype is pyburn.int64


def test_the_module_is_also_the_function() -> None:
    assert isinstance(pyburn.tensor, types.ModuleType)
    from pyburn.tensor import Tensor, tensor

    assert Tensor is pyburn.Tensor is pyburn.TensorPy
    assert tensor([1]).tolist() == pyburn.tensor([1]).tolist() == [1]


def test_sizes() -> None:
    t = pyburn.ones(2, 3)
    assert t.shape == t.size() == (2, 3) == pyburn.Size([2, 3])
    assert repr(t.shape) == "pyburn.Size([2, 3])"
    assert (t.size(0), t.size(-1), t.size(dim=1)) == (2, 3, 3)
    assert (t.stride(), t.stride(0)) == ((3, 1), 3)
    assert isinstance(t.shape[:1], pyburn.Size)
    assert isinstance(t.shape + (1,), pyburn.Size)
    assert (t.shape * 2).numel() == 36
    assert t.shape.numel() == t.numel() == t.nelement() == pyburn.numel(t) == 6
    assert (t.dim(), t.ndimension(), t.ndim) == (2, 2, 2)
    assert (t.nbytes, t.itemsize, t.element_size()) == (24, 4, 4)
    with pytest.raises(IndexError):
        t.size(2)
    with pytest.raises(TypeError):
        t.size(1, 2)
    with pytest.raises(TypeError):
        pyburn.Size([1.5])


def test_python_numbers() -> None:
    assert float(pyburn.tensor([2.5])) == 2.5
    assert int(pyburn.tensor(2.7)) == 2
    assert bool(pyburn.tensor(0.0)) is False
    assert ["a", "b"][pyburn.tensor(1)] == "b"
    with pytest.raises(ValueError, match="one element"):
        float(pyburn.ones(2))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(pyburn.ones(2))
    with pytest.raises(RuntimeError, match="no values"):
        bool(pyburn.ones(0))
    with pytest.raises(TypeError, match="integer tensors"):
        range(3)[pyburn.tensor(1.0)]
    with pytest.raises(RuntimeError, match="2 elements"):
        pyburn.ones(2).item()


def test_python_protocols() -> None:
    t = pyburn.arange(3)
    assert [int(x) for x in t] == [0, 1, 2]
    assert [int(x) for x in reversed(t)] == [2, 1, 0]
    assert len(t) == 3
    assert 1 in t and 5 not in t and pyburn.tensor(2) in t
    assert f"{pyburn.tensor(1.234):.2f}" == "1.23"
    assert f"{t}" == "tensor([0, 1, 2])"
    a, b, c = t
    assert int(b) == 1
    assert t.unbind()[2].item() == 2
    for wrong in (lambda: len(pyburn.tensor(1)), lambda: iter(pyburn.tensor(1)), lambda: "x" in t, lambda: format(t, ".2f")):
        with pytest.raises(TypeError):
            wrong()


def test_conversions() -> None:
    t = pyburn.tensor([1.5, 0.0])
    for name, dtype in [("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
                        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool")]:  # fmt: skip
        assert getattr(t, name)().dtype is getattr(pyburn, dtype)
    assert t.float() is t
    assert t.cpu() is t
    assert t.to(pyburn.float32) is t
    assert t.to("cpu") is t
    assert t.to(pyburn.float32, copy=True) is not t
    assert t.to("cpu", pyburn.float64).dtype is pyburn.float64
    assert t.to(pyburn.ones(1, dtype=pyburn.int8)).dtype is pyburn.int8
    assert t.to(device="cpu", dtype=pyburn.int64).tolist() == [1, 0]
    assert t.type() == "pyburn.FloatTensor"
    assert t.type(pyburn.int32).dtype is pyburn.int32
    assert t.type_as(pyburn.ones(1, dtype=pyburn.float64)).dtype is pyburn.float64
    assert t.is_floating_point() and t.is_signed()
    with pytest.raises(TypeError):
        t.to(3.5)
    with pytest.raises(RuntimeError):
        t.to("nowhere")


def test_conversions_are_differentiable() -> None:
    x = pyburn.ones(2, requires_grad=True)
    (x.double() * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]


def test_relatives() -> None:
    t = pyburn.ones(2, 3, dtype=pyburn.float64)
    assert t.new_zeros(2).tolist() == [0, 0] and t.new_zeros(2).dtype is pyburn.float64
    assert t.new_ones((2, 1), dtype=pyburn.int64).tolist() == [[1], [1]]
    assert t.new_full((2,), 7).tolist() == [7, 7]
    assert t.new_empty(3, 4).shape == (3, 4)
    assert t.new_tensor([1], requires_grad=True).requires_grad
    assert pyburn.arange(6).view_as(t).shape == pyburn.arange(6).reshape_as(t).shape == t.shape
    assert pyburn.ones(3).expand_as(t).shape == t.shape


def test_comparison() -> None:
    a = pyburn.tensor([1.0, float("inf"), float("nan")])
    assert pyburn.equal(pyburn.ones(2), pyburn.ones(2)) and not pyburn.ones(2).equal(pyburn.ones(3))
    assert not a.equal(a)
    assert not pyburn.allclose(a, a)
    assert pyburn.allclose(a, a, equal_nan=True)
    assert not pyburn.allclose(pyburn.tensor([1.0]), pyburn.tensor([float("inf")]))
    assert pyburn.allclose(pyburn.tensor([1, 2]), pyburn.tensor([1, 2]))
    assert pyburn.ones(2).allclose(pyburn.ones(2) + 1e-7)
    with pytest.raises(TypeError):
        pyburn.allclose(pyburn.ones(2), pyburn.ones(2, dtype=pyburn.float64))


def test_distributions() -> None:
    random, of = pyburn.Tensor.random, pyburn.Distribution
    pyburn.manual_seed(0)
    default = random((1000,))
    assert default.amin().item() >= 0 and default.amax().item() < 1
    uniform = random((1000,), of.Uniform(-3, -1))
    assert uniform.amin().item() >= -3 and uniform.amax().item() < -1
    assert abs(random((10000,), of.Normal(5, 2)).mean().item() - 5) < 0.2
    assert set(random((100,), of.Bernoulli(0.5)).tolist()) == {0.0, 1.0}
    assert set(random((100,), of.Uniform(2, 5), dtype=pyburn.int64).tolist()) == {2, 3, 4}
    assert random((100,), dtype=pyburn.bool).dtype is pyburn.bool
    assert random(3, of.Default, requires_grad=True).requires_grad
    assert pyburn.rand(2, 3, distribution=of.Normal(0, 1)).shape == (2, 3)
    assert of.Normal(0, 1) == of.Normal(0, 1) != of.Normal(0, 2)
    for wrong in (lambda: of.Bernoulli(2), lambda: of.Uniform(2, 1), lambda: of.Normal(0, -1), lambda: of("Cauchy", 1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        random((2,), of.Normal(0, 1), dtype=pyburn.int64)
    with pytest.raises(TypeError):
        random((2,), "normal")


def test_limits_of_dtypes() -> None:
    for name in ("float16", "float32", "float64"):
        ours, theirs = pyburn.finfo(getattr(pyburn, name)), np.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.tiny) == (theirs.bits, float(theirs.eps), float(theirs.max), float(theirs.tiny))
    assert pyburn.finfo(pyburn.bfloat16).max == 3.3895313892515355e38
    assert repr(pyburn.iinfo(pyburn.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"
    assert pyburn.iinfo(pyburn.int64).min == -(2**63)
    assert repr(pyburn.finfo()).startswith("finfo(resolution=1e-06, min=-3.40282e+38,")
    with pytest.raises(TypeError):
        pyburn.finfo(pyburn.int8)
    with pytest.raises(TypeError):
        pyburn.iinfo(pyburn.float32)


def test_subclasses() -> None:
    class Mine(pyburn.Tensor):
        pass

    t = Mine([1.0, 2.0])
    assert type(t) is Mine
    assert repr(t) == "Mine([1., 2.])"
    assert type(Mine()) is Mine
    assert pyburn.is_tensor(t)


@pytest.mark.parametrize("row", [r for r in pyburn._core._op_table() if r["example"]], ids=lambda r: r["name"])
def test_examples_of_operations_run(row) -> None:
    eval(row["example"], {"pyburn": pyburn})


MODULES = ["pyburn.tensor", "pyburn._device", "pyburn._random"]
MODULES += [f"pyburn.tensor.{name}" for name in ("creation", "distribution", "number_info", "printing", "methods")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_python_functions_are_right(name: str) -> None:
    result = doctest.testmod(sys.modules[name], extraglobs={"pyburn": pyburn})
    assert result.failed == 0


def test_every_public_function_is_documented() -> None:
    for name in dir(pyburn):
        value = getattr(pyburn, name)
        if not name.startswith("_") and callable(value):
            assert value.__doc__, name


def documented() -> list[tuple[str, str]]:
    """The public functions, and the methods and attributes of Tensor, with their docstrings."""
    without = {"load_library"}  # needs a library: ../../examples/plugin_op_cpp
    found = []
    for module in (pyburn, pyburn.nn.functional, pyburn.linalg):
        functions = [(name, getattr(module, name)) for name in dir(module) if not name.startswith("_") and name not in without]
        found += [
            (f"{module.__name__}.{n}", f.__doc__)
            for n, f in functions
            if callable(f) and not isinstance(f, type) and not hasattr(f, "_name")
        ]
    found += [(f"Tensor.{n}", getattr(pyburn.Tensor, n).__doc__) for n in dir(pyburn.Tensor) if not n.startswith("_")]
    return found


@pytest.mark.parametrize(("name", "doc"), documented(), ids=[name for name, _ in documented()])
def test_docstrings_have_an_example_that_runs(name: str, doc: str) -> None:
    examples = doctest.DocTestParser().get_examples(doc)
    assert examples
    names = {"pyburn": pyburn}
    for example in examples:
        exec(example.source, names)


SILLY = """
pyburn.zeros(-1)
pyburn.zeros(2**62, 2**62)
pyburn.zeros(10**15)
pyburn.zeros("a")
pyburn.ones(2, dtype=3)
pyburn.ones(2, device=3)
pyburn.ones(2)[10**30]
pyburn.ones(2)[None, ..., None, 0, 0]
pyburn.ones(2, 2)[object()]
pyburn.ones(2).reshape(-1, -1)
pyburn.ones(0).reshape(-1, 0)
pyburn.Tensor.shape.__get__(3)
pyburn.Tensor.numel(3)
pyburn.Tensor.__getitem__(3, 0)
pyburn.Tensor.add(3)
pyburn.Tensor(pyburn.ones(1), 2, 3)
pyburn.Tensor.__new__(int)
pyburn.Tensor.__new__(pyburn.Tensor, object())
pyburn.DType()
pyburn.Node()
pyburn.Device()
pyburn.Device("")
pyburn.Device("((((")
pyburn.Device("autodiff()")
pyburn.Device("autodiff(" * 1000)
pyburn.Generator().set_state(3)
pyburn.manual_seed("a")
pyburn.manual_seed(2**70)
pyburn.set_printoptions(precision=-1)
pyburn.from_dlpack(3)
pyburn.from_numpy(3)
pyburn._core._from_dlpack(3)
pyburn._core._from_bytes(b"abc", (2,), pyburn.float32, None)
pyburn._core._from_bytes(b"abc", (2**40, 2**40), pyburn.float32, None)
memoryview(pyburn.ones(2, dtype=pyburn.bfloat16))
memoryview(pyburn.ones(2, requires_grad=True))
pyburn.ones(2) + "a"
pyburn.ones(2) + None
pyburn.ones(2) @ 3
pyburn.ones(2) ** "a"
pyburn.ones(2) < "a"
setattr(pyburn.ones(2), "shape", 3)
pyburn.ones(2).__setitem__(0, object())
pyburn.ones(2).__setitem__("a", 1)
pyburn.ones(2).__delitem__(0)
pyburn.ones(2).copy_(3)
pyburn.arange(0, 1, 0)
pyburn.randint(5, 1, (2,))
pyburn.ones(2).expand(-1, -1, -5)
pyburn.Size.numel(3)
pyburn.Size(3)
pyburn.tensor(range(10**13))
pyburn.ones(2).to(1, 2, 3, 4, 5)
pyburn.device("cpu").__exit__()
pyburn.backend.Backend().execute()
""".strip().splitlines()


def test_nothing_silly_ends_the_process() -> None:
    program = f"""
import pyburn
for line in {SILLY!r}:
    try:
        eval(line)
    except Exception as e:
        print(type(e).__name__)
    else:
        print('no error:', line)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    accepted = [line for line in done.stdout.splitlines() if line.startswith("no error")]
    assert accepted == [], accepted
