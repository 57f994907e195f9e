"""Diagrams of models, drawn by Graphviz."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

from pyburn._nested import leaves


def model_to_dot(
    model: Any, show_shapes: bool = False, show_dtype: bool = False, show_layer_names: bool = True, rankdir: str = "TB", **options: Any
) -> str:
    """Returns the model in Graphviz's DOT language; other options of Keras are accepted and have no effect."""
    names = {id(layer): name for name, layer in model.named_children()}
    lines = [f"digraph {{ rankdir={rankdir}; node [shape=record, fontname=Helvetica, fontsize=11];"]

    def box(layer: Any, symbols: Any) -> str:
        key = f"layer{id(layer)}"
        name = names.get(id(layer), getattr(layer, "name", ""))
        label = f"{name}: {type(layer).__name__}" if show_layer_names else type(layer).__name__
        found = list(leaves(symbols))
        if show_shapes and found:
            label += "|" + ", ".join(str(symbol.shape) for symbol in found)
        if show_dtype and found:
            label += "|" + ", ".join(symbol.dtype.name for symbol in found)
        lines.append(f'  {key} [label="{{{_escaped(label)}}}"];')
        return key

    nodes = getattr(model, "_nodes", None)
    if nodes:
        for symbol in leaves(model._inputs):
            box(symbol.node.layer, symbol)
        for node in nodes:
            key = box(node.layer, node.output)
            lines.extend(f"  layer{id(before.node.layer)} -> {key};" for before in node.inputs)
    else:
        keys = [box(layer, layer._calls[-1].output if getattr(layer, "_calls", None) else None) for layer in model.children()]
        lines.extend(f"  {a} -> {b};" for a, b in zip(keys, keys[1:]))
    return "\n".join(dict.fromkeys([*lines, "}"]))


def _escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in '{}<>"\\' else letter for letter in text)


def plot_model(model: Any, to_file: Any = "model.png", **options: Any) -> str | None:
    """Draws a model to a file; the extension gives the format, and .dot needs no Graphviz.

    Returns:
        The path; None with a message if the program `dot` is missing, as in Keras.
    """
    options.pop("dpi", None)
    text, path = model_to_dot(model, **options), os.fspath(to_file)
    ending = os.path.splitext(path)[1].removeprefix(".") or "png"
    if ending == "dot":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path
    program = shutil.which("dot")
    if program is None:
        print("[plot_model] a picture is drawn by Graphviz, whose program `dot` is not here; to_file='model.dot' needs none")
        return None
    subprocess.run([program, f"-T{ending}", "-o", path], input=text.encode(), check=True)
    return path
