"""Hostile values by the kind of argument that they replace, as the text of Python expressions over the names of hostile.py."""

from __future__ import annotations

# fmt: off
EDGES = ["0", "-1", "2**31", "2**62", "2**63 - 1", "-2**63"]
INTEGERS = [
    *EDGES * 4,  # right kinds are drawn as often as wrong ones
    "0", "1", "-1", "2", "3", "-3", "7", "17", "100", "2**15", "2**20", "2**31 - 1", "-2**31", "2**32", "2**40", "2**61", "2**62",
    "2**62 - 5", "2**63 - 1", "-2**63", "-2**63 + 1", "2**63", "2**64", "2**100", "-2**100", "True", "1.5", "nan", "'3'", "None",
    "Index(2)", "Index(2**63 - 1)", "Index(2**70)", "Index('x')", "Failing()", "np.int64(2**62)", "np.uint8(3)", "tensor(2)",
    "tensor(2**62)", "tensor([1, 2])",
]
FLOATS = [
    "0.0", "-0.0", "1.0", "-1.0", "0.5", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e30", "2**63", "-2**63", "10**400", "True",
    "'0.5'", "None", "1j", "Failing()", "Index(1.5)", "np.float16(0.5)", "tensor(0.5)", "tensor([0.5, nan])",
]
STRINGS = [
    "''", "'none'", "'mean'", "'sum'", "'nearest'", "'bilinear'", "'reflect'", "'circular'", "'\\ud800'", "'\\0'", "'x' * 10**6", "'é'",
    "b'mean'", "3", "None", "Failing()",
]
DTYPES = [
    "f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "b8", "'\\ud800'", "'float32'", "float", "int",
    "np.float32", "None", "3", "Failing()",
]
DEVICES = [
    "'cpu'", "'meta'", "'fusion(cpu)'", "'\\ud800'", "'fusion(' * 5000 + 'cpu' + ')' * 5000", "'cpu:-1'", "'cpu:99999999999999'", "0",
    "None", "Failing()", "'cuda'", "''",
]
TENSORS = [
    "t()", "t(0)", "t(1)", "t(3)", "t(2, 3)", "t(3, 2)", "t(2, 0, 3)", "t(1, 2, 3, 4)", "t(2, 3, 4, 2, 2)", "t(1, 1, 1, 1, 1, 1, 1, 1)",
    "t(1).expand(2**40)", "t(1, 1).expand(2**31, 2**20)", "t(1).expand(0)", "t(1).expand(70000)", "t(64, 64).T[::3]", "t(3).flip(0)",
    "tensor([nan, inf, -inf])", "tensor([1e38, -1e38, 0.0])", "tensor([2**63 - 1])", "tensor([-2**63, 2**63 - 1, 3])",
    "tensor([2**62, 2**62, 3])", "tensor([-1, 0, 5])", "tensor([[0, 2**40], [-7, 1]])", "tensor([True, False])", "tensor([])",
    "t(4).as_strided((2, 2), (1, 1), 1)", "t(4).as_strided((3,), (0,), 2)", "index(3, below=3)", "index(2, 3, below=2)",
    "t(2, 3).requires_grad_()", "t(2, 3, dtype=f64)", "t(2, 3, dtype=f16)", "t(2, 3, dtype=bf16)", "t(2, 3, dtype=i8)", "t(3, dtype=u8)",
    "t(2, 3, dtype=u64)", "t(2, 3, dtype=b8)", "pyburn.empty(2, 3, device='meta')", "None", "3", "1.5", "2**63", "'x'", "[1, 2]",
    "np.ones((2, 3))", "np.zeros(3, object)", "Failing()", "nested(10)", "pyburn.Tensor", "nn.Parameter(t(2, 3))",
]
SEQUENCES = [
    "()", "[]", "(0,)", "(1, 1)", "(-1, -1)", "(2**62, 2**62)", "(2**31, 2**31, 4)", "(2**63 - 1,)", "(-2**63,)", "(1,) * 70",
    "(1,) * 10**5", "range(3)", "(i for i in range(2))", "Sequence(3)", "Sequence(2**62)", "Sequence(-1)", "Sequence('x')",
    "Sequence(2, Failing())", "Shrinking(1, 1, 1)", "[Index(2), Index(2**63 - 1)]", "[None]", "['x']", "[1.5]", "nested(3)",
    "nested(100000)", "cyclic()", "{1, 2}", "{}", "'ab'", "tensor([1, 2])", "np.array([1, 2])", "Failing()", "None", "3",
]
GENERATORS = [
    "None", "pyburn.Generator()", "pyburn.Generator.__new__(pyburn.Generator)", "[1]", "3", "Failing()",
]
ANYTHING = [
    "None", "()", "{}", "print", "pyburn", "type", "object()", "NotImplemented", "b''", "slice(None)", "...", "cyclic()", "Failing()",
]
VIEWS = [
    ".T", "[::2]", "[:0]", "[None]", "[..., 0]", ".expand(3, *a.shape)", ".requires_grad_()", ".double()", ".half()", ".long()",
    ".bool()", ".unsqueeze(0)", ".flatten()", ".detach()", ".contiguous()", ".mT", ".repeat(2, *[1] * a.dim())",
]
# Of any tensor: the same rank, with an extent that products with others overflow.
HUGE = [
    f"{first}.expand({shape})" for n in ("2**40", "2**59", "2**62")
    for first, shape in (("[:1]", f"{n}, *a.shape[1:]"), ("[..., :1]", f"*a.shape[:-1], {n}"))
]
INDICES = [
    "tensor([0])", "tensor([2, 0, 1])", "tensor([-1, 0, 5])", "tensor([2**31])", "tensor([2**40, 1])", "tensor([2**62])",
    "tensor([2**63 - 1])", "tensor([-2**63])", "tensor([2**63 - 1, 2**63 - 1, 3])", "tensor([2**62, 2**62, 3])", "tensor([2**63 - 1, 1])",
    "tensor([[0, 2**40], [-7, 1]])", "tensor(2**63 - 1)", "tensor([], dtype=i64)", "tensor([3, 0], dtype=u8)", "tensor([1, 2], dtype=i32)",
    "tensor([2**63], dtype=u64)", "t(1, dtype=i64).expand(2**40)", "index(3, below=3)", "index(2, 3, below=2)", *TENSORS[:20],
]
# fmt: on
EVERYTHING = [*INTEGERS, *FLOATS, *STRINGS, *TENSORS, *SEQUENCES, *ANYTHING]
BY_TYPE = {
    "Tensor": TENSORS,
    "Tensor[]": ["[]", "[t(2), t(3)]", "[t(2)] * 1000", "[None]", "(t(2),)", "t(2, 3)", "Sequence(2)"],
    "Tensor|Scalar": TENSORS + FLOATS,
    "Scalar": FLOATS + INTEGERS,
    "int": INTEGERS,
    "int[]": SEQUENCES,
    "float": FLOATS,
    "float[]": SEQUENCES,
    "bool": ["True", "False", "2", "None"],
    "str": STRINGS,
    "DType": DTYPES,
    "Device": DEVICES,
    "Generator": GENERATORS,
}
