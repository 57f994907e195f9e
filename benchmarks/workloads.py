"""What is measured: each workload is written once, for pyburn and PyTorch alike (`x` is the module), and some also for JAX.

make(x) prepares the tensors and returns the function that is timed. A workload says how many floating-point operations it
does, or how many bytes it must read and write, so that its time can be compared with the limit of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Make = Callable[[Any], Callable[[], Any]]


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
    layouts: tuple[str, ...] = ("plain",)  # PyTorch is measured in each, and its best one counts

    @property
    def key(self) -> str:
        return f"{self.group}: {self.name}"


WORKLOADS: list[Workload] = []


def add(*args: Any, **options: Any) -> None:
    WORKLOADS.append(Workload(*args, **options))


def gradient_of(x: Any, y: Any, inputs: list[Any]) -> Callable[[], Any]:
    dy = x.ones_like(y)
    return lambda: x.autograd.grad(y, inputs, dy, retain_graph=True)


# --- matrix products -----------------------------------------------------------------------------------------------------


def matmul(m: int, n: int, k: int, batch: int = 0, ta: bool = False, tb: bool = False) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        lead = (batch,) if batch else ()
        a = x.randn(*lead, *((k, m) if ta else (m, k)))
        b = x.randn(*lead, *((n, k) if tb else (k, n)))
        a, b = a.transpose(-1, -2) if ta else a, b.transpose(-1, -2) if tb else b
        return lambda: x.matmul(a, b)

    return make


def jax_matmul(m: int, n: int, k: int) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a, b, f = x.jnp.ones((m, k)), x.jnp.ones((k, n)), x.jax.jit(x.jnp.matmul)
        return lambda: f(a, b).block_until_ready()

    return make


for n in (64, 128, 256, 512, 1024, 2048, 4096):
    add("matmul", f"{n}³", matmul(n, n, n), 2.0 * n**3, quick=n in (64, 512, 1024), jax=jax_matmul(n, n, n))
for m, n, k, what in (
    (128, 768, 768, "BERT projection, 128 tokens"),
    (128, 3072, 768, "BERT feed-forward up, 128 tokens"),
    (128, 768, 3072, "BERT feed-forward down, 128 tokens"),
    (512, 768, 768, "BERT projection, 512 tokens"),
    (512, 3072, 768, "BERT feed-forward up, 512 tokens"),
    (3136, 64, 576, "ResNet layer1 as a product"),
    (784, 128, 1152, "ResNet layer2 as a product"),
    (196, 256, 2304, "ResNet layer3 as a product"),
    (49, 512, 4608, "ResNet layer4 as a product"),
):
    add("matmul", f"{m}×{n}×{k} ({what})", matmul(m, n, k), 2.0 * m * n * k, quick=m == 128 and n == 768 and k == 768)
for n in (512, 1024):
    add("matmul", f"{n}³, left transposed", matmul(n, n, n, ta=True), 2.0 * n**3, quick=n == 512)
    add("matmul", f"{n}³, right transposed", matmul(n, n, n, tb=True), 2.0 * n**3)
    add("matmul", f"{n}³, both transposed", matmul(n, n, n, ta=True, tb=True), 2.0 * n**3)
for m, n, k in ((1, 256, 256), (1, 1024, 1024), (1, 4096, 4096), (4, 1024, 1024), (16, 256, 256), (16, 1024, 1024), (32, 1024, 1024)):
    bytes_ = 4.0 * k * n
    add("skinny", f"{m}×{n}×{k}", matmul(m, n, k), 2.0 * m * n * k, bytes_, quick=n == 1024 and m in (1, 16))
    add("skinny", f"{m}×{n}×{k}, right transposed", matmul(m, n, k, tb=True), 2.0 * m * n * k, bytes_, quick=n == 1024 and m == 1)
for b, m, n, k in ((96, 128, 128, 64), (96, 128, 64, 128), (256, 32, 32, 32), (1024, 16, 16, 16), (8, 512, 512, 64)):
    add("batched", f"{b} × {m}×{n}×{k}", matmul(m, n, k, b), 2.0 * b * m * n * k, quick=b == 96 and n == 128)

# --- convolutions --------------------------------------------------------------------------------------------------------

RESNET18 = (  # channels in, out, size, kernel, stride
    ("conv1", 3, 64, 224, 7, 2),
    ("layer1", 64, 64, 56, 3, 1),
    ("layer2 first", 64, 128, 56, 3, 2),
    ("layer2 shortcut", 64, 128, 56, 1, 2),
    ("layer2", 128, 128, 28, 3, 1),
    ("layer3 first", 128, 256, 28, 3, 2),
    ("layer3 shortcut", 128, 256, 28, 1, 2),
    ("layer3", 256, 256, 14, 3, 1),
    ("layer4 first", 256, 512, 14, 3, 2),
    ("layer4 shortcut", 256, 512, 14, 1, 2),
    ("layer4", 512, 512, 7, 3, 1),
)
MOBILENET = (  # channels, size, stride of the depthwise; then the pointwise to
    (32, 112, 1, 64), (64, 112, 2, 128), (128, 56, 1, 128), (128, 56, 2, 256), (256, 28, 1, 256), (256, 28, 2, 512), (512, 14, 1, 512),
    (512, 14, 2, 1024), (1024, 7, 1, 1024),
)  # fmt: skip


def conv(rank: int, batch: int, c: int, o: int, size: int, k: int, s: int, groups: int = 1, what: str = "forward") -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a = x.randn(batch, c, *(size,) * rank)
        w = x.randn(o, c // groups, *(k,) * rank) * 0.1
        if getattr(x, "layout", "plain") == "channels last" and rank == 2:
            a, w = a.contiguous(memory_format=x.channels_last), w.contiguous(memory_format=x.channels_last)
        f = getattr(x.nn.functional, f"conv{rank}d")
        if what == "forward":
            return lambda: f(a, w, None, s, k // 2, 1, groups)
        (a if what == "input" else w).requires_grad_()
        return gradient_of(x, f(a, w, None, s, k // 2, 1, groups), [a if what == "input" else w])

    return make


def conv_flops(rank: int, batch: int, c: int, o: int, size: int, k: int, s: int, groups: int = 1) -> float:
    out = (size + 2 * (k // 2) - k) // s + 1
    return 2.0 * batch * o * out**rank * (c // groups) * k**rank


BOTH = ("plain", "channels last")
for batch in (1, 8):
    for name, *shape in RESNET18:
        for what in ("forward", "input", "weight"):
            if what == "input" and name == "conv1":
                continue
            full = f"ResNet-18 {name} {shape[3]}×{shape[3]} {shape[0]}→{shape[1]}, batch {batch}, {what}"
            quick = batch == 8 and name in ("conv1", "layer1", "layer2", "layer3", "layer2 first") and what in ("forward", "weight")
            add("conv2d", full, conv(2, batch, *shape, what=what), conv_flops(2, batch, *shape), quick=quick, layouts=BOTH)
for c, size, s, o in MOBILENET:
    depthwise = (c, c, size, 3, s)
    for what in ("forward", "input", "weight"):
        bytes_ = 4.0 * 8 * c * size**2
        add("depthwise", f"MobileNet {c}@{size} stride {s}, batch 8, {what}", conv(2, 8, *depthwise, groups=c, what=what), reads=bytes_,
            writes=bytes_ / s**2, quick=c == 128 and s == 1 and what == "forward", layouts=BOTH)  # fmt: skip
    pointwise = (c, o, size // s, 1, 1)
    add("conv2d", f"MobileNet pointwise {c}→{o}@{size // s}, batch 8", conv(2, 8, *pointwise), conv_flops(2, 8, *pointwise), layouts=BOTH)
add("conv1d", "64→64, 1024 samples, kernel 7, batch 8", conv(1, 8, 64, 64, 1024, 7, 1), conv_flops(1, 8, 64, 64, 1024, 7, 1), quick=True)
add("conv3d", "32→32, 24³, kernel 3, batch 2", conv(3, 2, 32, 32, 24, 3, 1), conv_flops(3, 2, 32, 32, 24, 3, 1), quick=True)

# --- element by element --------------------------------------------------------------------------------------------------


def elementwise(f: Callable[..., Any], n: int, operands: int = 1) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        tensors = [x.rand(n) + 0.5 for _ in range(operands)]
        return lambda: f(x, *tensors)

    return make


def jax_elementwise(f: Callable[..., Any], n: int, operands: int = 1) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        tensors = [x.jnp.full((n,), 0.75) for _ in range(operands)]
        g = x.jax.jit(lambda *t: f(x.jnp, *t))
        return lambda: g(*tensors).block_until_ready()

    return make


ELEMENTWISE = {
    "add": (lambda x, a, b: a + b, 2), "mul by a number": (lambda x, a: a * 2.5, 1), "div": (lambda x, a, b: a / b, 2),
    "exp": (lambda x, a: x.exp(a), 1), "log": (lambda x, a: x.log(a), 1), "tanh": (lambda x, a: x.tanh(a), 1),
    "sigmoid": (lambda x, a: x.sigmoid(a), 1), "sin": (lambda x, a: x.sin(a), 1), "erf": (lambda x, a: x.erf(a), 1),
    "gelu": (lambda x, a: x.nn.functional.gelu(a), 1), "relu": (lambda x, a: x.relu(a), 1), "pow": (lambda x, a, b: x.pow(a, b), 2),
    "sqrt": (lambda x, a: x.sqrt(a), 1), "greater": (lambda x, a, b: a > b, 2), "where": (lambda x, a, b: x.where(a > b, a, b), 2),
}  # fmt: skip
for name, (f, operands) in ELEMENTWISE.items():
    for n, label in ((1 << 10, "1k"), (1 << 16, "64k"), (1 << 20, "1M"), (1 << 24, "16M"), (1 << 26, "64M")):
        if n == 1 << 26 and name not in ("add", "exp"):
            continue
        add("elementwise", f"{name}, {label}", elementwise(f, n, operands), reads=4.0 * n * operands,
            writes=4.0 * n if name != "greater" else n,
            quick=name in ("add", "exp", "gelu", "where") and label in ("64k", "16M"),
            jax=jax_elementwise(f, n, operands) if name in ("add", "exp", "tanh") else None)  # fmt: skip


def chain(x: Any, a: Any, b: Any) -> Any:
    y = (a + b) * 0.5
    y = y * a - b
    return (y * y + 1.0) * 0.25


for n, label in ((1 << 10, "1k"), (1 << 16, "64k"), (1 << 20, "1M"), (1 << 24, "16M")):
    add("chain", f"7 operations, {label}", elementwise(chain, n, 2), reads=8.0 * n, writes=4.0 * n, quick=label in ("64k", "16M"),
        jax=jax_elementwise(chain, n, 2))  # fmt: skip


def cast(dtype: str, n: int) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a, to = x.rand(n), getattr(x, dtype)
        return lambda: a.to(to)

    return make


for dtype, size in (("float16", 2), ("bfloat16", 2), ("int32", 4), ("float64", 8)):
    add(
        "cast", f"float32 to {dtype}, 16M", cast(dtype, 1 << 24), reads=4.0 * (1 << 24), writes=float(size << 24), quick=dtype == "bfloat16"
    )

# --- reductions and rows ---------------------------------------------------------------------------------------------------


def on_matrix(f: Callable[[Any, Any], Any], *shape: int) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a = x.randn(*shape)
        return lambda: f(x, a)

    return make


MATRIX = 4.0 * 4096 * 4096
for name, f in {
    "sum of all": lambda x, a: a.sum(), "sum over rows": lambda x, a: a.sum(0), "sum over columns": lambda x, a: a.sum(1),
    "mean over columns": lambda x, a: a.mean(1), "amax over rows": lambda x, a: a.amax(0), "amax over columns": lambda x, a: a.amax(1),
    "argmax over columns": lambda x, a: a.argmax(1), "var over columns": lambda x, a: a.var(1), "norm": lambda x, a: a.norm(),
    "max over columns": lambda x, a: a.max(1),
}.items():  # fmt: skip
    add("reduce", f"{name}, 4096²", on_matrix(f, 4096, 4096), reads=MATRIX, quick=name.startswith("sum"))
add("reduce", "sum over the middle, 64×256×1024", on_matrix(lambda x, a: a.sum(1), 64, 256, 1024), reads=4.0 * 64 * 256 * 1024)
for shape, label in (((4096, 4096), "4096²"), ((1024, 1024), "1024²"), ((4096, 128), "4096×128")):
    n = 4.0 * shape[0] * shape[1]
    quick = label == "4096²"
    add("rows", f"softmax, {label}", on_matrix(lambda x, a: x.softmax(a, 1), *shape), reads=n, writes=n, quick=quick)
    add("rows", f"log_softmax, {label}", on_matrix(lambda x, a: x.log_softmax(a, 1), *shape), reads=n, writes=n)
    add(
        "rows",
        f"layer norm, {label}",
        on_matrix(lambda x, a: x.nn.functional.layer_norm(a, a.shape[1:]), *shape),
        reads=n,
        writes=n,
        quick=quick,
    )
    add("rows", f"transpose copy, {label}", on_matrix(lambda x, a: a.t().contiguous(), *shape), reads=n, writes=n, quick=quick)
    add("rows", f"cumsum, {label}", on_matrix(lambda x, a: x.cumsum(a, 1), *shape), reads=n, writes=n, quick=quick)


def row_gradient(f: Callable[[Any, Any], Any], *shape: int) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a = x.randn(*shape).requires_grad_()
        return gradient_of(x, f(x, a), [a])

    return make


add("rows", "softmax gradient, 4096²", row_gradient(lambda x, a: x.softmax(a, 1), 4096, 4096), reads=2 * MATRIX, writes=MATRIX)
add("rows", "layer norm gradient, 4096²", row_gradient(lambda x, a: x.nn.functional.layer_norm(a, a.shape[1:]), 4096, 4096),
    reads=2 * MATRIX, writes=MATRIX)  # fmt: skip


def cross_entropy(x: Any) -> Callable[[], Any]:
    a, target = x.randn(4096, 1000).requires_grad_(), x.randint(0, 1000, (4096,))
    return lambda: x.autograd.grad(x.nn.functional.cross_entropy(a, target), [a])


add("rows", "cross entropy with gradient, 4096×1000", cross_entropy, reads=4.0 * 4096 * 1000, writes=4.0 * 4096 * 1000, quick=True)
for n, label in ((1 << 16, "64k"), (1 << 20, "1M")):
    add("sort", f"sort, {label}", on_matrix(lambda x, a: x.sort(a), n), quick=label == "1M")
add("sort", "sort of rows, 4096×256", on_matrix(lambda x, a: x.sort(a, 1), 4096, 256))
add("sort", "topk 10 of rows, 1024×4096", on_matrix(lambda x, a: x.topk(a, 10, 1), 1024, 4096), quick=True)

# --- through an index ------------------------------------------------------------------------------------------------------


def indexed(what: str, rows: int = 1 << 17, width: int = 64, count: int = 1 << 17) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a, index, source = x.randn(rows, width), x.randint(0, rows, (count,)), x.randn(count, width)
        full = index.unsqueeze(1).expand(count, width)
        return {
            "index_select": lambda: x.index_select(a, 0, index), "advanced indexing": lambda: a[index],
            "gather": lambda: x.gather(a, 0, full), "embedding": lambda: x.nn.functional.embedding(index, a),
            "index_add": lambda: x.index_add(a, 0, index, source),
            "scatter_add": lambda: x.scatter_add(a, 0, full, source), "boolean mask": lambda: a[a > 0],
        }[what]  # fmt: skip

    return make


for what in ("index_select", "advanced indexing", "gather", "embedding", "index_add", "scatter_add", "boolean mask"):
    n = 4.0 * (1 << 17) * 64
    add("index", f"{what}, 128k rows of 64", indexed(what), reads=n, writes=n, quick=what in ("index_select", "index_add"))
add("index", "cat of 8, 1M each", on_matrix(lambda x, a: x.cat([a] * 8), 1 << 20), reads=4.0 * (8 << 20), writes=4.0 * (8 << 20))

# --- random ----------------------------------------------------------------------------------------------------------------

for name, f in {
    "rand": lambda x: x.rand(1 << 22),
    "randn": lambda x: x.randn(1 << 22),
    "randint": lambda x: x.randint(0, 100, (1 << 22,)),
}.items():
    add("random", f"{name}, 4M", lambda x, f=f: lambda: f(x), writes=4.0 * (1 << 22), quick=name == "randn")
add(
    "random",
    "dropout, 4M",
    on_matrix(lambda x, a: x.nn.functional.dropout(a, 0.1, True), 1 << 22),
    reads=4.0 * (1 << 22),
    writes=4.0 * (1 << 22),
)

# --- attention and recurrent layers -------------------------------------------------------------------------------------------


def attention(batch: int, heads: int, tokens: int, width: int, causal: bool, backward: bool) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        q, k, v = (x.randn(batch, heads, tokens, width).requires_grad_(backward) for _ in range(3))
        f = x.nn.functional.scaled_dot_product_attention
        if not backward:
            return lambda: f(q, k, v, is_causal=causal)

        def both() -> Any:
            y = f(q, k, v, is_causal=causal)
            return x.autograd.grad(y, [q, k, v], x.ones_like(y))

        return both

    return make


for batch, heads, tokens, width in ((1, 8, 512, 64), (8, 12, 128, 64), (1, 8, 2048, 64)):
    for causal in (False, True):
        for backward in (False, True):
            flops = 4.0 * batch * heads * tokens**2 * width * (3.5 if backward else 1) * (0.5 if causal else 1)
            label = f"{batch}×{heads}×{tokens}×{width}{', causal' if causal else ''}, {'forward + backward' if backward else 'forward'}"
            add("attention", label, attention(batch, heads, tokens, width, causal, backward), flops, quick=tokens == 512 and not causal)


def recurrent(kind: str, backward: bool, batch: int = 32, steps: int = 100, features: int = 128, hidden: int = 128) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        gates = {"lstm": 4, "gru": 3}[kind] * hidden
        a = x.randn(steps, batch, features)
        weights = [(x.randn(gates, n) * 0.1) for n in (features, hidden)] + [x.randn(gates) * 0.1 for _ in range(2)]
        weights = [w.requires_grad_(backward) for w in weights]
        h = x.zeros(1, batch, hidden)
        state = (h, h) if kind == "lstm" else h
        run = lambda: getattr(x, kind)(a, state, weights, True, 1, 0.0, backward, False, False)[0]  # noqa: E731
        return (lambda: x.autograd.grad(run().sum(), weights)) if backward else run

    return make


for kind in ("lstm", "gru"):
    for backward in (False, True):
        gates = {"lstm": 4, "gru": 3}[kind]
        flops = 2.0 * 100 * 32 * gates * 128 * 256 * (3 if backward else 1)
        what = "forward + backward" if backward else "forward"
        add("recurrent", f"{kind.upper()} 128→128, 100 steps, batch 32, {what}", recurrent(kind, backward), flops,
            quick=kind == "lstm" and backward)  # fmt: skip

# --- small work ----------------------------------------------------------------------------------------------------------------


def small(f: Callable[..., Any], recorded: bool) -> Make:
    def make(x: Any) -> Callable[[], Any]:
        a, b = x.ones(10, requires_grad=recorded), x.ones(10, requires_grad=recorded)
        return lambda: f(x, a, b)

    return make


for recorded in (False, True):
    suffix = ", gradient recorded" if recorded else ""
    add("small", f"a + b, 10 floats{suffix}", small(lambda x, a, b: a + b, recorded), quick=True)
    add("small", f"exp, 10 floats{suffix}", small(lambda x, a, b: x.exp(a), recorded))
    add("small", f"sum, 10 floats{suffix}", small(lambda x, a, b: a.sum(), recorded))
    add("small", f"view, 10 floats{suffix}", small(lambda x, a, b: a.view(2, 5), recorded))
    add("small", f"slice, 10 floats{suffix}", small(lambda x, a, b: a[2:5], recorded))
add("small", "add and backward, 10 floats", small(lambda x, a, b: (a * b).sum().backward(), True), quick=True)
