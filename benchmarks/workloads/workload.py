"""What a workload is: written once for pyburn and PyTorch alike (`x` is the module), and for the other peers where it has a meaning there.

make(x) prepares the tensors and returns the function that is timed. A workload says how many floating-point operations it
does, or how many bytes it must read and write, so that its time can be compared with the limit of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]
Make = Callable[[Any], Call]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Workload:
    group: str
    name: str
    make: Make
    flops: float = 0
    reads: float = 0  # bytes
    writes: float = 0
    quick: bool = False  # part of `make bench-quick`
    jax: Make | None = None  # x is a namespace with jax and jnp
    onnx: Make | None = None  # x is a namespace with onnx, onnxruntime, numpy and the number of threads
    layouts: tuple[str, ...] = ("plain",)  # ways in which PyTorch can do it (x.layout); each is measured and the best one counts

    @property
    def key(self) -> str:
        return f"{self.group}: {self.name}"


WORKLOADS: list[Workload] = []


def add(*args: Any, **options: Any) -> None:
    WORKLOADS.append(Workload(*args, **options))


def gradient_of(x: Any, y: Any, inputs: list[Any]) -> Call:
    dy = x.ones_like(y)
    return lambda: x.autograd.grad(y, inputs, dy, retain_graph=True)


def with_jax(f: Callable[..., Any], *shapes: Shape, index_below: int = 0) -> Make:
    """f(x, *arrays), compiled; the last array holds integers below index_below where that is given."""

    def make(x: Any) -> Call:
        arrays = [x.jax.random.uniform(x.jax.random.key(i), s, minval=0.5, maxval=1.5) for i, s in enumerate(shapes)]
        if index_below:
            arrays[-1] = x.jax.random.randint(x.jax.random.key(9), shapes[-1], 0, index_below)
        g = x.jax.jit(lambda *a: f(x, *a))
        return lambda: x.jax.block_until_ready(g(*arrays))

    return make


def with_onnx(
    text: str,
    *shapes: Shape,
    results: dict[str, str] | None = None,
    constants: dict[str, float | list[int]] | None = None,
    index_below: int = 0,
) -> Make:
    """A graph in ONNX's text form. Its inputs are a, b, c, ...: one per shape; `results` gives the dtypes of what it returns."""

    def make(x: Any) -> Call:
        np, helper = x.numpy, x.onnx.helper
        random = np.random.default_rng(0)
        inputs = {name: random.random(shape, dtype=np.float32) + np.float32(0.5) for name, shape in zip("abcdefgh", shapes)}
        if index_below:
            last = list(inputs)[-1]
            inputs[last] = random.integers(0, index_below, shapes[-1])
        fixed = [
            x.onnx.numpy_helper.from_array(np.asarray(value, np.float32 if isinstance(value, float) else np.int64), name)
            for name, value in (constants or {}).items()
            if name in text
        ]
        names = results or {"y": "float32"}
        dtype = helper.np_dtype_to_tensor_dtype
        types = {name: np.dtype("float32" if d == "bfloat16" else d) for name, d in names.items()}
        elements = {n: x.onnx.TensorProto.BFLOAT16 if names[n] == "bfloat16" else dtype(t) for n, t in types.items()}
        graph = helper.make_graph(
            list(x.onnx.parser.parse_graph(f"g () => () {{ {text} }}").node),
            "g",
            [helper.make_tensor_value_info(n, dtype(v.dtype), v.shape) for n, v in inputs.items()],
            [helper.make_tensor_value_info(n, e, None) for n, e in elements.items()],
            fixed,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        options = x.onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = x.threads, 1
        session = x.onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, value in inputs.items():
            binding.bind_cpu_input(name, value)
        for name in names:
            binding.bind_output(name, "cpu")
        return lambda: session.run_with_iobinding(binding)

    return make
