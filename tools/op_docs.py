"""Docstrings of operations, from their schemas: summary, Args, Returns, Raises and an example with its recorded output."""

from __future__ import annotations

import json
import textwrap
from functools import cache

from op_parameters import PARAMETERS, RETURNS
from schema import ROOT, TYPES, Entry, Parameter

EXAMPLES = ROOT / "tools" / "op_examples.json"
# Functions that only gradients, layers and decompositions call. They are left out of the reference pages.
INTERNAL_SUFFIXES = ("_grad", "_gradient", "_backward", "_input", "_weight")
INTERNAL = {
    "attention", "bmm_plus", "class_loss", "contiguous_copy", "distinct", "grid_sample_grid", "max_pool", "max_pool_with_indices",
    "avg_pool", "normalise_batch", "normalise_rows", "remove_axis", "resize_axis", "rnn_steps", "sample_planes", "seeded_dropout",
    "unpool",
}  # fmt: skip


def internal(e: Entry) -> bool:
    name = e.function
    return name.startswith("_") or name in INTERNAL or (name.endswith(INTERNAL_SUFFIXES) and not name.startswith("linalg_"))


def annotation(p: Parameter) -> str:
    return TYPES[p.type][2]


def description(e: Entry, p: Parameter) -> str:
    for key in (f"{e.function}.{p.name}", f"{e.family}.{p.name}", p.name):
        if key in PARAMETERS:
            return PARAMETERS[key]
    return ""


def arguments(e: Entry) -> list[tuple[Parameter, str]]:
    return [(p, description(e, p)) for p in e.parameters]


def tensor_count(e: Entry) -> int:
    return sum(2 if p.type == "Tensor[]" else p.type.startswith("Tensor") for p in e.parameters)


def returns(e: Entry) -> tuple[str, str]:
    """The type and the description of the result."""
    named = {p.name for p in e.parameters}
    if e.function in RETURNS and e.returns == "Tensor":
        return "Tensor", RETURNS[e.function]
    if e.results:
        return "tuple", f"A named tuple ({', '.join(e.results)})."
    if e.returns == "bool":
        return "bool", "True or False."
    if e.returns == "Tensor[]":
        return "tuple[Tensor, ...]", "A tuple of tensors."
    if e.function.endswith("_") and not e.function.startswith("_"):
        return "Tensor", "input, modified in place."
    if e.row and e.kind == "elementwise":
        dtype = " of dtype bool" if e.doc.startswith("Tests") else ""
        shape = "the broadcast shape of the operands" if tensor_count(e) > 1 else "the shape of input"
        return "Tensor", f"A tensor{dtype} with {shape}."
    if "reduction" in named:
        return "Tensor", "A 0-d tensor, or one loss per element with reduction='none'."
    if "keepdim" in named:
        return "Tensor", "A tensor without the reduced dimensions, or with size 1 there if keepdim."
    if "size" in named and "input" not in named:
        return "Tensor", "A tensor of the given shape."
    return "Tensor", "A tensor."


def raises(e: Entry) -> list[tuple[str, str]]:
    """The errors that follow from the schema; operations check their values as well."""
    found = []
    if any(p.name == "dim" and p.type.startswith("int") for p in e.parameters) and "input" in {p.name for p in e.parameters}:
        found.append(("IndexOutOfRange", "dim is out of range."))
    if e.row and e.kind == "elementwise" and tensor_count(e) > 1:
        found.append(("ShapeError", "The shapes do not broadcast."))
    if tensor_count(e) > 1:
        found.append(("DeviceError", "The tensors are on different devices."))
    return found


@cache
def recorded() -> dict[str, str]:
    """The outputs of the examples, written by tools/make_op_examples.py."""
    return json.loads(EXAMPLES.read_text()) if EXAMPLES.exists() else {}


def example(e: Entry) -> str:
    """The example and what it prints, without the prompt of its first line."""
    if not e.example:
        return ""
    seeded = any(p.name == "generator" for p in e.parameters)
    lines = ["_ = pyburn.manual_seed(0)", ">>> " + e.example] if seeded else [e.example]
    output = recorded().get(e.name)
    return "\n".join([*lines, *([output] if output else [])])


def sections(e: Entry) -> str:
    """Summary, Args, Returns and Raises, in Google's style."""
    lines = [e.doc]
    if described := arguments(e):
        lines += ["", "Args:"]
        for p, text in described:
            default = "" if p.default is None else f", default {p.default}"
            lines.append(f"    {p.name} ({annotation(p)}{default}): {text}".rstrip())
    lines += ["", "Returns:", "    {}: {}".format(*returns(e))]
    if errors := raises(e):
        lines += ["", "Raises:", *(f"    {kind}: {text}" for kind, text in errors)]
    return "\n".join(lines)


def docstring(e: Entry) -> str:
    text = example(e)
    return sections(e) + (f"\n\n>>> {text}" if text else "")


def stub_docstring(e: Entry) -> str:
    """The same as the body of a stub, indented by four spaces."""
    return textwrap.indent(f'"""{docstring(e)}\n"""', "    ", lambda line: bool(line.strip())).replace("\\", "\\\\")
