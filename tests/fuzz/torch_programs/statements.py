"""Random statements. Each function takes the state of the program so far and returns the text of one statement."""

from __future__ import annotations

import random
from typing import Any

import torch

UNARY = ["neg", "abs", "sin", "cos", "tanh", "sigmoid", "relu", "square", "exp", "clone", "contiguous", "sign", "floor", "atan"]
BINARY = ["+", "-", "*", "/", "T.maximum", "T.minimum", "T.atan2"]
COMPARISONS = ["<", "<=", ">", "==", "!="]
REDUCTIONS = [
    "sum",
    "mean",
    "amax",
    "amin",
    "prod",
    "logsumexp",
    "var",
    "std",
    "norm",
    "cumsum",
    "cumprod",
    "argmax",
    "max",
    "min",
    "median",
    "any",
    "all",
]
CHANGES = ["detach_()", "transpose_(0, -1)", "unsqueeze_(0)", "squeeze_()", "t_()"]
FLOATS = ["T.float32", "T.float64"]
DTYPES = [*FLOATS, "T.int64", "T.int32", "T.bool", "T.uint8"]
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 2), (3, 3), (2, 1, 3), (2, 3, 4), (0, 3), (1, 1)]


def _is_readable(x: torch.Tensor) -> bool:
    """False for results of split and unbind after their base was written: PyTorch then raises for their flags."""
    try:
        return x.is_leaf in (True, False)
    except RuntimeError:
        return False


class State:
    """The variables of a program while it is made: the program runs on PyTorch as it grows, so that shapes are known."""

    def __init__(self, rng: random.Random, namespace: dict[str, Any]):
        self.rng, self.namespace, self.count = rng, namespace, 0

    def tensors(self) -> dict[str, torch.Tensor]:
        return {k: v for k, v in self.namespace.items() if k[0] == "x" and isinstance(v, torch.Tensor) and _is_readable(v)}

    def any(self, floating: bool | None = True, least_rank: int = 0) -> str:
        """The name of a tensor, as a rule one that fits; later ones more often."""
        names = list(self.tensors())
        fit = [n for n in names if (floating is None or self[n].is_floating_point() == floating) and self[n].dim() >= least_rank]
        pool = fit or names
        return pool[-1 - min(int(self.rng.expovariate(0.4)), len(pool) - 1)]

    def like(self, name: str) -> str:
        """Another tensor that broadcasts with this one, or a number."""
        shape = self[name].shape
        fit = [n for n, t in self.tensors().items() if t.is_floating_point() and self._broadcasts(t.shape, shape)]
        return self.rng.choice(fit) if fit and self.rng.random() < 0.8 else str(self.rng.choice([0.5, 2.0, -1.0, 3]))

    @staticmethod
    def _broadcasts(a: Any, b: Any) -> bool:
        return all(m in (1, n) or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))

    def new(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def __getitem__(self, name: str) -> torch.Tensor:
        return self.namespace[name]

    def numel(self, text: str) -> int:
        """The number of elements of an expression; 0 if it raises."""
        try:
            return eval(text, self.namespace).numel()
        except Exception:
            return 0

    def is_alone(self, name: str) -> bool:
        """Shares memory with no other tensor: of PyTorch's views some forget their history when the other side is changed."""
        memory = self[name].untyped_storage()._cdata
        return [t.untyped_storage()._cdata for t in self.tensors().values()].count(memory) == 1

    def dim(self, name: str) -> int:
        rank = max(self[name].dim(), 1)
        return self.rng.randrange(-rank, rank) if self.rng.random() < 0.97 else rank


def factory(s: State) -> str:
    shape, rng = s.rng.choice(SHAPES), s.rng
    made = rng.choice(
        [f"make({shape}, {rng.randrange(9)}, {rng.choice(FLOATS)})"] * 6
        + [f"make({shape}, {rng.randrange(9)}, {rng.choice(DTYPES)})", f"T.zeros({shape})", f"T.full({shape}, 1.5)",
           f"T.arange({rng.randrange(5)}, {rng.randrange(3, 9)}, dtype={rng.choice(FLOATS)})", f"T.eye({rng.randrange(1, 4)})",
           f"T.ones_like({s.any(None)})" if s.tensors() else "T.ones(2)"]
    )  # fmt: skip
    return f"{s.new()} = {made}" + (".requires_grad_()" if rng.random() < 0.6 else "")


def unary(s: State) -> str:
    x = s.any()
    return f"{s.new()} = {x}.{s.rng.choice(UNARY)}()"


def binary(s: State) -> str:
    x = s.any()
    y, op = s.like(x), s.rng.choice(BINARY)
    if op.startswith("T.") and y[0] != "x":
        op = "*"
    return f"{s.new()} = {op}({x}, {y})" if op.startswith("T.") else f"{s.new()} = {x} {op} {y}"


def select(s: State) -> str:
    x = s.any()
    y, c = s.like(x), s.rng.choice(COMPARISONS)
    return s.rng.choice([
        f"{s.new()} = T.where({x} {c} 0.25, {x}, {y})", f"{s.new()} = {x}.contiguous().masked_fill({x} {c} 0.25, 1.5)",
        f"{s.new()} = {x} {c} {y}", f"{s.new()} = {x}.clamp(-1.0, 1.25)", f"{s.new()} = {x} ** {s.rng.choice([2, 3, 1])}",
        f"{s.new()} = T.lerp({x}, {x} * 2, 0.25)", f"{s.new()} = T.addcmul({x}, {x}, {y if y[0] == 'x' else x}, value=0.5)",
    ])  # fmt: skip


def _slice(s: State, extent: int) -> str:
    r = s.rng
    return r.choice([
        ":", f"{r.randrange(extent + 1)}:", f":{r.randrange(extent + 1)}", f"::{r.randrange(1, 4)}", f"1::{r.randrange(1, 3)}",
        f"-{r.randrange(1, extent + 2)}:", str(r.randrange(-max(extent, 1), max(extent, 1))), "None", "...",
    ])  # fmt: skip


def _key(s: State, x: str) -> str:
    parts: list[str] = []
    for extent in s[x].shape[: s.rng.randrange(1, s[x].dim() + 1) if s[x].dim() else 0]:
        part = _slice(s, extent)
        parts.append(":" if part == "..." and "..." in parts else part)
    return ", ".join(parts) or "..."


def view(s: State) -> str:
    x = s.any(None)
    t, r = s[x], s.rng
    d, e = s.dim(x), s.dim(x)
    extent = t.shape[d] if t.dim() and -t.dim() <= d < t.dim() else 1
    order = r.sample(range(t.dim()), t.dim())
    whole = ["flatten()", "reshape(-1)", "ravel()", f"view({t.numel()},)"]
    plain = (t if t._base is None else t._base).is_contiguous()  # the strides of other fresh results differ
    storage = t.untyped_storage().nbytes() // t.element_size()
    shape = [r.randrange(1, 4) for _ in range(r.randrange(0, 3))]
    strides = [r.randrange(0, 4) for _ in shape]
    reach = sum((n - 1) * m for n, m in zip(shape, strides, strict=True))
    offset = r.randrange(max(storage - reach, 1)) if r.random() < 0.95 else storage
    text = r.choice([
        f"transpose({d}, {e})", f"permute({order})", f"unsqueeze({d})", f"squeeze({d})", "squeeze()", *(whole if plain else []),
        f"expand({r.randrange(1, 3)}, {', '.join(['-1'] * t.dim()) or '1'})" if t.dim() else "expand(2)",
        f"select({d}, {r.randrange(-max(extent, 1), max(extent, 1))})",
        f"narrow({d}, {r.randrange(extent + 1)}, {r.randrange(extent + 1)})",
        f"unfold({d}, {r.randrange(1, extent + 1) if extent else 1}, {r.randrange(1, 3)})", f"diagonal({r.randrange(-1, 2)}, {d}, {e})",
        *[f"as_strided({tuple(shape)}, {tuple(strides)}, {offset})"] * (2 if plain else 0),
        f"movedim({d}, {e})", "t()", "mT", "detach()", f"view_as({x})", "T", f"swapaxes({d}, {e})", f"split(2, {d})[0]",
        f"chunk(2, {d})[-1]", f"unbind({d})[0]",
    ])  # fmt: skip
    return f"{s.new()} = {x}[{_key(s, x)}]" if r.random() < 0.25 else f"{s.new()} = {x}.{text}"


def in_place(s: State) -> str:
    x = s.any()
    y, r = s.like(x), s.rng
    # "An input that partly overlaps the tensor it is written to is copied first, where PyTorch ... reads what it has just written."
    if y[0] == "x" and y != x and s[y].untyped_storage()._cdata == s[x].untyped_storage()._cdata:
        y = "0.5"
    # "A tensor overwritten by `fill_`, `zero_`, `copy_` ... hands no gradient (`None`) to what it was before."
    overwrites = [] if s[x].requires_grad else [f"{x}.copy_({y})" if y[0] == "x" else f"{x}.fill_({y})", f"{x}.zero_()"]
    # PyTorch's graph keeps the shape of a leaf from before: of no use to anybody, and not compared.
    reshapes = [] if s[x].requires_grad or not s.is_alone(x) else [f"{x}.{change}" for change in CHANGES]
    text = r.choice([
        f"{x}.add_({y})", f"{x}.mul_({y})", f"{x}.sub_({y})", *overwrites,
        f"{x}.neg_()", f"{x}.sin_()", f"{x}.tanh_()", f"{x}.clamp_(-1.0, 1.0)", f"{x}.masked_fill_({x} > 0.5, 0.25)",
        f"{x}[{_key(s, x)}] = {r.choice([0.5, 1.0, y])}", f"{x}[{_key(s, x)}] *= 2", f"{x} += {y}", f"{x} *= {y}",
        f"{x}.add_({y}, alpha=2)", f"{x}.relu_()", *reshapes,
    ])  # fmt: skip
    if f"{x}[" in text and s[x].requires_grad and s.numel(text.partition(" ")[0]) in (0, s[x].numel()):
        text = f"{x}.neg_()"  # an overwrite as well
    # "A view of a leaf keeps its history when the leaf is written under `no_grad`, where PyTorch's view loses it."
    return f"with T.no_grad(): {text}" if r.random() < 0.2 and s.is_alone(x) else text


def index(s: State) -> str:
    x = s.any(None, 1)
    n, r = s[x].shape[0] if s[x].dim() else 1, s.rng
    rows = [r.randrange(-max(n, 1), max(n, 1)) for _ in range(r.randrange(1, 4))]
    if r.random() < 0.05:
        rows[0] = n
    at, up = f"T.tensor({rows})", f"T.tensor({[max(i, 0) for i in rows]})"
    return r.choice([
        f"{s.new()} = {x}[{at}]", f"{s.new()} = {x}[{x} > 0]", f"{s.new()} = {x}.index_select(0, {up})", f"{s.new()} = {x}[..., {at}]",
        f"{s.new()} = {x}[None, {at}]", f"{x}[{at}] = 0.5", f"{x}[{x} > 0.5] = 1.0",
        f"{x}.index_put_(({at},), T.tensor(1.5).to({x}.dtype), accumulate=True)",
        f"{x}.index_fill_(0, {up}, 2.0)", f"{s.new()} = {x}.index_add(0, {up}, {x}[{at}])", f"{s.new()} = {x}.flip(0)",
        f"{s.new()} = {x}.gather(0, T.zeros_like({x}, dtype=T.int64))", f"{s.new()} = {x}.roll(1, 0)", f"{s.new()} = {x}.take({up})",
        f"{s.new()} = {x}.scatter_add(0, T.zeros_like({x}, dtype=T.int64), {x})",
    ])  # fmt: skip


def reduction(s: State) -> str:
    x, op, r = s.any(), s.rng.choice(REDUCTIONS), s.rng
    d = s.dim(x)
    if op == "cumprod" and 1 in s[x].shape:  # where it does nothing, PyTorch's gradient asks for none, and pyburn's does
        op = "cumsum"
    # Of nothing it is nan, of which PyTorch says that it asks for a gradient; of stretched tensors PyTorch's is wrong.
    if op == "median" and (s[x].numel() == 0 or 0 in s[x].stride()):
        op = "sum"
    if op in ("cumsum", "cumprod"):
        return f"{s.new()} = {x}.{op}({d})"
    # "The gradient of `median()` of a whole tensor goes to one of equal medians."
    if op in ("logsumexp", "median") or (op not in ("any", "all", "argmax") and r.random() < 0.6):
        keep = ", keepdim=True" if r.random() < 0.4 else ""
        return f"{s.new()} = {x}.{op}(dim={d}{keep})" + (".values" if op in ("max", "min", "median") else "")
    return f"{s.new()} = {x}.{op}()"


def joined(s: State) -> str:
    x = s.any()
    same = [n for n, t in s.tensors().items() if t.shape == s[x].shape and t.dtype == s[x].dtype]
    y, d = s.rng.choice(same), s.dim(x) if s[x].numel() else 0  # PyTorch leaves empty vectors out before it looks at dim
    return s.rng.choice([
        f"{s.new()} = T.cat([{x}, {y}], {d})", f"{s.new()} = T.stack([{x}, {y}], {d})", f"{s.new()} = T.cat([{x}, {x}, {y}])",
        f"{s.new()} = {x}.repeat(2, {', '.join(['1'] * s[x].dim()) or '1'})", f"{s.new()}, {s.new()} = T.split({x}, 1)[:2]",
        f"{s.new()} = {x}.tile(2)", f"{s.new()} = T.nn.functional.pad({x}, (1, 2))",
    ])  # fmt: skip


def product(s: State) -> str:
    x, y = s.any(True, 1), s.any(True, 1)
    if not s[x].is_floating_point():
        return factory(s)
    return s.rng.choice([
        f"{s.new()} = {x} @ {x}.mT" if s[x].dim() > 1 else f"{s.new()} = {x} @ {x}", f"{s.new()} = {x} @ {y}.to({x}.dtype)",
        f"{s.new()} = T.outer({x}.flatten(), {x}.flatten())", f"{s.new()} = T.softmax({x}, {s.dim(x)})",
        f"{s.new()} = T.einsum('...i,...i->...', {x}, {x})", f"{s.new()} = {x}.tril()",
    ])  # fmt: skip


def cast(s: State) -> str:
    x = s.any(None)
    # Of computed numbers rounding decides which integer they become, and negative ones have no meaning as uint8.
    exact = s.rng.random() < 0.4 and bool((s[x].detach().double() * 4 % 1 == 0).all()) and bool((s[x] >= 0).all())
    return f"{s.new()} = {x}.to({s.rng.choice(DTYPES if exact else FLOATS)})"


def flags(s: State) -> str:
    x, r = s.any(None), s.rng
    toggles = [f"{x}.requires_grad_()", f"{x}.requires_grad_(False)", f"{x}.requires_grad = True"] if s.is_alone(x) else []
    return r.choice([
        *toggles, f"{s.new()} = {x}.detach().clone().requires_grad_()",
        f"{s.new()} = {x}.clone().detach()", f"{x}.grad = None",
        f"with T.no_grad(): {s.new()} = {x} * 2", f"with T.enable_grad(): {s.new()} = {x} + 1",
    ])  # fmt: skip


def hooks(s: State) -> str:
    # A hook of a view is lost in PyTorch when the view is written later; here it is called.
    tensors = [n for n, t in s.tensors().items() if t.is_floating_point() and (t._base is None or t.is_leaf)]
    x, r = s.rng.choice(tensors or [s.any()]), s.rng
    name = f"h{s.count}{r.randrange(10)}"
    return r.choice([
        f"{x}.register_hook(hook({name!r}))", f"{x}.register_hook(hook({name!r}, {r.choice([0.5, 2.0])}))", f"{x}.retain_grad()",
        f"{x}.register_hook(hook({name!r})).remove()",
        f"{x}.register_post_accumulate_grad_hook(lambda p: calls.append(({name!r}, tuple(p.shape))))",
    ])  # fmt: skip


def custom(s: State) -> str:
    x, r = s.any(), s.rng
    same = [n for n, t in s.tensors().items() if t.shape == s[x].shape and t.dtype == s[x].dtype]
    return r.choice([
        f"{s.new()} = function('Cube')({x})", f"{s.new()} = function('Scaled')({x}, 0.5)",
        f"{s.new()}, {s.new()} = function('Pair')({x}, {r.choice(same)})",
        f"{s.new()} = function('AddOne')({x if s[x].requires_grad else x + '.clone().requires_grad_()'})",
    ])  # fmt: skip


def backward(s: State) -> str:
    asking = [n for n, t in s.tensors().items() if t.requires_grad]
    y, r = (s.rng.choice(asking[-4:]) if asking and s.rng.random() < 0.95 else s.any()), s.rng
    leaves = [n for n, t in s.tensors().items() if t.requires_grad and t.is_leaf] or [y]
    wanted = ", ".join(r.sample(leaves, r.randrange(1, min(3, len(leaves)) + 1)))
    keep = r.choice(["", "", "retain_graph=True", "create_graph=True"])
    if r.random() < 0.5:
        return f"{y}.sum().backward({keep})" if r.random() < 0.7 else f"{y}.backward(T.ones_like({y}){', ' * bool(keep)}{keep})"
    option = f", {keep}" if keep else ""
    names = ", ".join(s.new() for _ in wanted.split(", "))
    return f"{names}{',' if ', ' not in names else ''} = grads({y}.sum(), [{wanted}]{option})"


KINDS = [(factory, 10), (unary, 10), (binary, 14), (select, 6), (view, 20), (in_place, 14), (index, 6), (reduction, 6), (joined, 4),
         (product, 4), (cast, 3), (flags, 4), (hooks, 6), (custom, 4), (backward, 9)]  # fmt: skip


def statement(s: State) -> str:
    if len(s.tensors()) < 2:
        return factory(s)
    return s.rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0](s)
