"""Runs a program statement by statement on torch and on pyburn, and says where they differ."""

from __future__ import annotations

import ast
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documented import explained

HEAD = Path(__file__).with_name("prelude.py").read_text().partition("# --- the head of every program ---\n")[2]
_HEAD = compile(HEAD, "<head>", "exec")
TOLERANCE = {"float64": 1e-5, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}
LARGEST = 1e6  # beyond this, rounding decides what a program computes


def namespace_of(library: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"T": library}
    exec(_HEAD, names)
    return names


def assigned(statement: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(statement)) if isinstance(n, ast.Name) and n.id[0] == "x" and n.id[1:].isdigit()}


@dataclass
class Difference:
    statement: int
    what: str


class Overflow(Exception):
    """The values are too large to compare."""


def execute(statement: str, names: dict[str, Any]) -> Exception | None:
    try:
        exec(compile(statement, "<statement>", "exec"), names)
    except Exception as error:
        return error
    return None


def is_tensor(x: Any) -> bool:
    return hasattr(x, "requires_grad") and hasattr(x, "stride")


def _compare_values(a: Any, b: Any, dtype: str) -> str | None:
    limit = TOLERANCE.get(dtype, 0)
    scale = max((abs(v) for v in a if math.isfinite(v)), default=0.0)
    if scale > LARGEST:
        raise Overflow
    for i, (v, w) in enumerate(zip(a, b, strict=True)):
        if not (math.isfinite(v) and math.isfinite(w)) and str(v) != str(w):
            raise Overflow  # infinity times 0: whether it is computed depends on how a gradient is written
        same = v == w or (v != v and w != w) or (limit and math.isfinite(v) and abs(v - w) <= limit * max(1.0, scale))
        if not same:
            return f"element {i}: torch {v}, pyburn {w}"
    return None


def compare_tensors(a: Any, b: Any, flags: bool = True) -> str | None:
    """a is torch's."""
    dtype = str(a.dtype).partition(".")[2]
    facts = {"shape": (tuple(a.shape), tuple(b.shape)), "dtype": (dtype, str(b.dtype).rpartition(".")[2])}
    if flags:
        facts |= {"requires_grad": (a.requires_grad, b.requires_grad), "is_leaf": (a.is_leaf, b.is_leaf)}
        if not a.is_leaf:
            facts["retains_grad"] = (a.retains_grad, b.retains_grad)
    # "A fresh result lies in plain order where PyTorch keeps the order of a permuted input": views of such a result differ as well.
    if a._base is not None and a.numel() and a._base.is_contiguous() and (b if b._base is None else b._base).is_contiguous():
        significant = [i for i, n in enumerate(a.shape) if n > 1]
        facts["strides"] = ([a.stride(i) for i in significant], [b.stride(i) for i in significant])
    for fact, (expected, got) in facts.items():
        if expected != got:
            return f"{fact}: torch {expected}, pyburn {got}"
    return _compare_values(a.detach().flatten().tolist(), b.detach().flatten().tolist(), dtype)


def compare_states(here: dict[str, Any], there: dict[str, Any], names: set[str], flags: bool) -> str | None:
    """Variables by name, their gradients, and what hooks have seen."""
    if here["calls"] != there["calls"]:
        return f"calls of hooks: torch {here['calls'][-4:]}, pyburn {there['calls'][-4:]}"
    for name in sorted(names & (here.keys() | there.keys())):
        a, b = here.get(name), there.get(name)
        if is_tensor(a) != is_tensor(b):
            return f"{name}: torch {type(a).__name__}, pyburn {type(b).__name__}"
        if not is_tensor(a):
            continue
        found = compare_tensors(a, b, flags)
        if found:
            return f"{name}.{found}"
        if not (a.is_leaf or a.retains_grad):
            continue
        if (a.grad is None) != (b.grad is None):
            return f"{name}.grad: torch {a.grad}, pyburn {b.grad}"
        found = compare_tensors(a.grad, b.grad, flags) if a.grad is not None else None
        if found:
            return f"{name}.grad.{found}"
    return None


def versions(names: dict[str, Any]) -> dict[str, int]:
    return {k: v._version for k, v in names.items() if k[0] == "x" and is_tensor(v)}


def difference(statements: list[str], torch: Any, pyburn: Any) -> Difference | None:
    """The first statement after which the libraries differ; None where they agree or differ as documented."""
    here, there = namespace_of(torch), namespace_of(pyburn)
    flags = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, statement in enumerate(statements):
            # "A gradient whose own derivative is 0 everywhere may ask for no gradient where PyTorch's does, or the other way round."
            flags &= "create_graph" not in statement
            before, before_there = versions(here), versions(there)
            error, other = execute(statement, here), execute(statement, there)
            if error and other:
                kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
                if not isinstance(other, kind) and not isinstance(error, NotImplementedError):
                    return Difference(i, f"error: torch {type(error).__name__} ({error}), pyburn {type(other).__name__} ({other})")
                # Which leaves had their gradient, or what a Function had written, before the error is a matter of order.
                if any(word in statement for word in ("backward", "grads(", "AddOne")):
                    return None
            elif error or other:
                if explained(error, other) or not flags:
                    return None
                return Difference(i, f"error: torch {error!r}, pyburn {other!r}")
            after, after_there = versions(here), versions(there)
            for name in after.keys() & before.keys() & after_there.keys() & before_there.keys():
                if (after[name] > before[name]) != (after_there[name] > before_there[name]) and not error:
                    return Difference(i, f"{name}._version: torch {before[name]} -> {after[name]}, "
                                         f"pyburn {before_there[name]} -> {after_there[name]}")  # fmt: skip
            last = i == len(statements) - 1
            try:
                found = compare_states(here, there, set(here) if last or "backward" in statement else assigned(statement), flags)
            except Overflow:
                return None
            except RuntimeError as unreadable:  # PyTorch raises for the flags of split results whose base was written
                return None if explained(unreadable, unreadable) else Difference(i, f"unreadable: {unreadable}")
            if found:
                return Difference(i, found)
    return None
