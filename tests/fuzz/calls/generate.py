"""Makes the text of hostile calls: a working call, with a few of its arguments replaced by hostile ones.

A call follows from a seed and its number alone, so each can be repeated by itself.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import oracles
from layers import LAYERS, OPTIMIZERS, SCHEDULES
from oracles import LARGEST
from values import BY_TYPE, DTYPES, EVERYTHING, FLOATS, HUGE, INDICES, INTEGERS, SEQUENCES, STRINGS, TENSORS, VIEWS

import pyburn
import pyburn.einops
from pyburn import _core, nn, optim
from pyburn._schema import Parameter, parse
from pyburn.testing.conformance.calls import TABLE, has_in_place, has_out
from pyburn.testing.conformance.samples import lines_of


def _node(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _kind(node: ast.expr) -> list[str]:
    """What is hostile in place of a working argument."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        kinds: list[tuple[type, list[str]]] = [(bool, ["True", "False", "2"]), (int, INTEGERS), (float, FLOATS), (str, STRINGS)]
        return next((values for kind, values in kinds if isinstance(node.value, kind)), EVERYTHING)
    if isinstance(node, (ast.List, ast.Tuple)):
        return BY_TYPE["Tensor[]"] if node.elts and isinstance(node.elts[0], ast.Call) else SEQUENCES
    if isinstance(node, ast.Name):
        return DTYPES
    return INDICES if _is_index(node) else TENSORS


def _is_index(node: ast.expr) -> bool:
    """Does this argument of a sample hold integers? Kernels may take them for sizes and positions."""
    text = ast.unparse(node)
    return text.startswith("index(") or "dtype=i64" in text or (text.startswith("tensor([") and "." not in text)


class _Strip(ast.NodeTransformer):
    """Takes the marks of the samples off: .constant and .smooth mean nothing here."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return node.value if node.attr in ("constant", "smooth") else node


@cache
def _operations() -> list[tuple[str, list[str], tuple[Parameter, ...]]]:
    rows = [(name, [line.partition(" ! ")[0] for line in lines_of(row)], row["schema"]) for name, row in TABLE.items()]
    return [(name, lines, parse(schema).parameters if schema else ()) for name, lines, schema in rows if lines]


def _at(place: tuple[Any, Any]) -> ast.expr:
    holder, key = place
    return holder[key] if isinstance(holder, list) else holder.value


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _damage(call: ast.Call, rng: random.Random, options: dict[str, list[str]]) -> None:
    """Replaces, adds or removes one argument of the call."""
    places: list[tuple[Any, Any]] = [(call.args, i) for i in range(len(call.args))] + [(k, "value") for k in call.keywords]
    choice = rng.random()
    if options and choice < 0.2:
        name = rng.choice(list(options))
        call.keywords = [k for k in call.keywords if k.arg != name] + [ast.keyword(name, _node(rng.choice(options[name])))]
        return
    if not places or choice > 0.99:
        call.keywords.append(ast.keyword("unknown", _node("3")))
        return
    holder, key = rng.choices(places, [2 if _is_integer(_at(place)) else 1 for place in places])[0]
    node = _at((holder, key))
    if choice > 0.97 and isinstance(holder, list):
        del holder[key]
        return
    if choice < 0.35 and isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        i = rng.randrange(len(node.elts))
        if choice > 0.3 and all(map(_is_integer, node.elts)):
            node.elts = _node(f"[{LARGEST}, {LARGEST}, {sum(map(ast.literal_eval, node.elts)) + 2}]").elts  # the same sum modulo 2**64
        else:
            node.elts[i] = _node(rng.choice(_kind(node.elts[i])))
        return
    if choice < 0.45 and isinstance(node, (ast.Call, ast.Attribute)):
        text = ast.unparse(node)
        edged = f"edged({text}, {rng.randrange(8)}, {rng.randrange(8)})"
        replacement = _node(edged if choice > 0.35 else f"(lambda a: a{rng.choice(HUGE if choice < 0.22 else VIEWS)})({text})")
    else:
        replacement = _node(rng.choice(_kind(node) if rng.random() < 0.93 else EVERYTHING))
    if isinstance(holder, list):
        holder[key] = replacement
    else:
        holder.value = replacement


def _damaged(text: str, rng: random.Random, options: dict[str, list[str]], most: int = 2) -> ast.Call:
    call = _Strip().visit(_node(text))
    for _ in range(rng.randint(1, most)):
        _damage(call, rng, options)
    return call


def _from_schema(parameters: tuple[Parameter, ...], given: int) -> dict[str, list[str]]:
    return {p.name: BY_TYPE.get(p.type.rstrip("?"), EVERYTHING) for p in parameters[given:] if p.default is not None}


@cache
def _from_signature(function: Any) -> dict[str, list[str]]:
    """Hostile values for the options of a callable, by their defaults."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: _kind(_node(repr(p.default))) if isinstance(p.default, (int, float, str, tuple)) else EVERYTHING
            for p in parameters if p.default is not p.empty}  # fmt: skip


def _operation(rng: random.Random) -> str:
    name, lines, parameters = rng.choice(_operations())
    function = name.split(".")[0]
    line = rng.choice(lines)
    call = _damaged(f"pyburn.{function}({line})", rng, _from_schema(parameters, len(_node(f"f({line})").args)))  # type: ignore[attr-defined]
    if rng.random() < 0.1 and has_out(name):
        call.keywords.append(ast.keyword("out", _node(rng.choice(TENSORS))))
    if not hasattr(pyburn, function):
        call.func = _node(f"pyburn._core.{function}")
    elif call.args and rng.random() < 0.3:  # the method, in place where there is one
        suffix = "_" if rng.random() < 0.5 and has_in_place(name) else ""
        call.func = ast.Attribute(call.args.pop(0), function + suffix)
    text = ast.unparse(call)
    huge = any(view in text for view in HUGE)  # most kernels would take years
    device = rng.choice(["meta"] * 8 + ["cpu"] * 2 if huge else ["cpu"] * 8 + ["fusion(cpu)", "meta"])
    gradient = "\nbackward(y)" if rng.random() < 0.3 else ""
    return f"on({device!r})\ny = {text}\nuse(y){gradient}"


def _layer(rng: random.Random) -> str:
    construction, inputs = rng.choice(LAYERS)
    if rng.random() < 0.6:
        kind = getattr(nn, construction.partition("(")[0][3:])
        construction = ast.unparse(_damaged(construction, rng, _from_signature(kind)))
    call = f"m({inputs})"
    if rng.random() < 0.5:
        call = ast.unparse(_damaged(call, rng, {}))
    lines = [f"m = {construction}", "use(m)", f"y = {call}", "use(y)"]
    if rng.random() < 0.3:
        options = list(_from_signature(getattr(nn, construction.partition("(")[0][3:]))) or ["weight"]
        lines.insert(1, f"m.{rng.choice([*options, 'weight', 'bias'])} = {rng.choice(EVERYTHING)}")
    if rng.random() < 0.3:
        lines.append("backward(y)")
    return "\n".join(lines)


def _optimizer(rng: random.Random) -> str:
    text = rng.choice(OPTIMIZERS)
    kind = getattr(optim, text.partition("(")[0][6:])
    optimizer = _damaged(text, rng, _from_signature(kind)) if rng.random() < 0.7 else _node(text)
    lines = ["w = nn.Parameter(t(3, 2))", "p = [w]", f"o = {ast.unparse(optimizer)}"]
    if rng.random() < 0.4:
        lines.append(f"s = {ast.unparse(_damaged(rng.choice(SCHEDULES), rng, {}))}")
    lines.append(f"w.grad = {rng.choice(['t(3, 2)'] * 3 + TENSORS)}")
    lines += ["o.step(lambda: w.sum())" if "LBFGS" in text else "o.step()"] * 2
    if rng.random() < 0.2:
        lines.append(f"o.param_groups[0][{rng.choice(list(_from_signature(kind)))!r}] = {rng.choice(EVERYTHING)}\no.step()")
    return "\n".join([*lines, "s.step(0.5) if 's' in globals() else 0", "o.load_state_dict(o.state_dict())", "use(w)"])


def _indexing(rng: random.Random) -> str:
    keys = [*INTEGERS, *SEQUENCES, *TENSORS, ":", "::2", "1:2**63 - 1", "-2**63::2**62", "::2**63 - 1", "::-1", "..., None"]
    key = ", ".join(rng.choice(keys) for _ in range(rng.randint(1, 3)))
    x = rng.choice(["t(3)", "t(2, 3)", "t(4, 3, 2)", "t(5, 2, dtype=i64)", "t(0, 3)", *TENSORS])
    write = f"x[{key}] = {rng.choice(TENSORS)}\nuse(x)"
    return f"x = {x}\n" + (write if rng.random() < 0.4 else f"use(x[{key}])")


MODULES = ["", ".linalg", ".special", ".nn.functional", ".nn.init", ".nn.utils", ".autograd", ".func", ".distributions", ".amp",
           ".signal.windows", ".inference", ".config", ".utils.checkpoint", ".einops", ".backend", ".testing"]  # fmt: skip
# These stop or wait by purpose, start processes, or change how every later call of the child works.
LEFT_OUT = {"load_library", "conformance", "set_num_interop_threads"}


@cache
def _callables() -> list[tuple[str, Callable[..., Any]]]:
    found: list[tuple[str, Callable[..., Any]]] = []
    for path in MODULES:
        module = pyburn
        for part in path.split(".")[1:]:
            module = getattr(module, part)
        names = [n for n in dir(module) if not n.startswith("_") and n not in LEFT_OUT]
        values = [(f"pyburn{path}.{n}", getattr(module, n)) for n in names]
        found += [(n, v) for n, v in values if callable(v) and not isinstance(v, ModuleType)]
    return found


@cache
def _classes() -> list[str]:
    found = {f"pyburn.{n}" for n in dir(pyburn) if isinstance(getattr(pyburn, n), type)}
    found |= {f"pyburn._core.{n}" for n in dir(_core) if isinstance(getattr(_core, n), type)}
    return sorted(found | {f"nn.{n}" for n in dir(nn) if isinstance(getattr(nn, n), type)})


def _anything(rng: random.Random) -> str:
    """Any public function with arguments that nobody chose."""
    if rng.random() < 0.1:
        return f"new({rng.choice(_classes())})"
    name, function = rng.choice(_callables())
    arguments = [rng.choice(TENSORS if rng.random() < 0.4 else EVERYTHING) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4]))]
    options = _from_signature(function)
    if options and rng.random() < 0.4:
        option = rng.choice(list(options))
        arguments.append(f"{option}={rng.choice(options[option])}")
    return f"y = {name}({', '.join(arguments)})\nuse(y)"


def _method(rng: random.Random) -> str:
    """Any method of Tensor."""
    protocols = ("__array__", "__dlpack__", "__setstate__", "__deepcopy__")
    name = rng.choice([n for n in dir(pyburn.Tensor) if not n.startswith("__") or n in protocols])
    arguments = [rng.choice(EVERYTHING) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    return f"y = {rng.choice(TENSORS[:30])}.{name}\ny = y({', '.join(arguments)}) if callable(y) else y\nuse(y)"


def _session(rng: random.Random) -> str:
    """A captured function, run with inputs that it was not captured with."""
    line = rng.choice(["lambda a: a * 2", "lambda a: a.sum(0)", "lambda a: a[1:] @ a.mT", "nn.Linear(3, 2)"])
    inputs = ", ".join(rng.choice(TENSORS) for _ in range(rng.choice([0, 1, 1, 1, 2])))
    free = rng.choice(["", ", dynamic={0: [0]}", f", dynamic={rng.choice(EVERYTHING)}"])
    return f"s = pyburn.inference.Session(pyburn.inference.capture({line}, t(2, 3){free}))\nuse(s.run({inputs}))"


SOURCES = [
    (_operation, 62), (_layer, 14), (_optimizer, 6), (_indexing, 8), (_anything, 6), (_method, 4), (_session, 1), (oracles.text_of, 2)
]  # fmt: skip


def text_of(seed: int, number: int) -> str:
    """The text of one call."""
    rng = random.Random(f"{seed} {number}")
    make = rng.choices([s for s, _ in SOURCES], [w for _, w in SOURCES])[0]
    return make(rng)


def make_tables(seed: int) -> None:
    """Makes what most texts look up, once: each child would make it again."""
    _operations(), _callables(), _classes()
    for number in range(500):
        text_of(seed, number)
