"""The summary table of a model: layers, output shapes, parameter counts."""

from __future__ import annotations

from typing import Any

from pyburn._nested import leaves
from pyburn.nn.summary import summary

from .weights import named_weights


def summary_text(
    model: Any, line_length: int | None = None, input_shape: Any = None, expand_nested: bool = False, show_trainable: bool = False
) -> str:
    """Returns the summary table as text."""
    if input_shape is not None and not hasattr(model, "_nodes"):
        return str(summary(model, (1, *input_shape)))
    rows: list[tuple[str, ...]] = [("Layer (type)", "Output Shape", "Param #", "Connected to", "Trainable"), *_rows(model, expand_nested)]
    empty = [i for i, nothing in ((1, "?"), (3, "")) if all(row[i] == nothing for row in rows[1:])]
    empty += [] if show_trainable else [4]
    rows = [tuple(cell for i, cell in enumerate(row) if i not in empty) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    numbers = rows[0].index("Param #")
    if line_length is not None:
        widths[-1] = max(widths[-1], line_length - sum(widths[:-1]) - 3 * len(widths) - 1)
    rule = ["─" * (width + 2) for width in widths]
    lines = [f'Model: "{_name(model)}"', f"┌{'┬'.join(rule)}┐"]
    for index, row in enumerate(rows):
        cells = [cell.rjust(width) if i == numbers else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("│ " + " │ ".join(cells) + " │")
        if index == 0:
            lines.append(f"├{'┼'.join(rule)}┤")
    lines.append(f"└{'┴'.join(rule)}┘")
    for name, tensors in (("Total", model.weights), ("Trainable", model.trainable_weights), ("Non-trainable", model.non_trainable_weights)):
        size = sum(tensor.numel() * tensor.dtype.itemsize for tensor in tensors)
        lines.append(f" {name} params: {sum(tensor.numel() for tensor in tensors):,} ({_size(size)})")
    return "\n".join(lines)


def _rows(model: Any, nested: bool, before_name: str = "") -> list[tuple[str, ...]]:
    shapes: dict[int, str] = {}
    before: dict[int, list[str]] = {}
    names = {id(layer): name for name, layer in model.named_children()}
    nodes = getattr(model, "_nodes", [])
    for node in nodes:
        shapes[id(node.layer)] = _shapes(node.output)
        before.setdefault(id(node.layer), []).extend(names.get(id(symbol.node.layer), "input") for symbol in node.inputs)
    tails = getattr(model, "_tails", [])
    shapes.update({id(layer): _shapes(tail) for layer, tail in zip(model.children(), tails)})
    branches = any(len(found) > 1 for found in before.values())
    rows: list[tuple[str, ...]] = []
    for name, layer in model.named_children():
        symbol = getattr(layer, "output", None) if type(layer).__name__ == "InputLayer" else None
        shape = _shapes(symbol) if symbol is not None else shapes.get(id(layer), "?")
        count = sum(tensor.numel() for _, tensor in named_weights(layer))
        built = getattr(layer, "built", True)
        where = ", ".join(dict.fromkeys(before.get(id(layer), []))) if branches else ""
        trained = any(t.requires_grad for _, t in named_weights(layer))
        trains = ("Y" if trained else "N") if count else "-"
        rows.append((f"{before_name}{name} ({type(layer).__name__})", shape, f"{count:,}" if built else "? (unbuilt)", where, trains))
        if nested and hasattr(layer, "_nodes"):
            rows += _rows(layer, True, before_name + "└ ")
    return rows


def _shapes(output: Any) -> str:
    shapes = [str(symbol.shape) for symbol in leaves(output)]
    return shapes[0] if len(shapes) == 1 else f"[{', '.join(shapes)}]"


def _name(model: Any) -> str:
    given = getattr(model, "_name", None)
    return given or type(model).__name__.lower()


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.2f} {unit}"
        count /= 1024
    return f"{count:.2f} GB"
