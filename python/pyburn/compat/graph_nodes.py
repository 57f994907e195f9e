"""Graphs as TensorBoard shows them: NodeDef messages."""

from __future__ import annotations

import re
from typing import Any

_NODE = re.compile(r"\s+([%\d, ]+) (?:=|<-) ([\w.]+)(.*) \[(.*)\]")
_CONSTANT = re.compile(r"\s+(%\d+) = constant (\w+) [(\[](.*)[)\]]")


def node_messages(text: str) -> list[dict[int, Any]]:
    """The printed form of a Graph as NodeDef messages: one node per input, constant and operation."""
    lines = text.splitlines()
    names = {value: f"input_{value[1:]}" for value in re.findall(r"%\d+", lines[0])}
    nodes: list[dict[int, Any]] = [{1: name, 2: "Placeholder"} for name in names.values()]
    for line in lines[1:]:
        constant, found = _CONSTANT.fullmatch(line), _NODE.fullmatch(line)
        if constant:
            value, dtype, shape = constant.groups()
            names[value] = f"constant_{value[1:]}"
            nodes.append({1: names[value], 2: "Const", 5: [{1: "shape", 2: {2: f"({shape})"}}, {1: "dtype", 2: {2: dtype}}]})
        elif found:
            values, operation, options, inputs = found.groups()
            outputs = re.findall(r"%\d+", values)
            name = f"{operation}_{outputs[0][1:]}"
            nodes.append({1: name, 2: operation, 3: [names[v] for v in re.findall(r"%\d+", inputs)],
                          5: {1: "options", 2: {2: options.strip()}} if options.strip() else None})  # fmt: skip
            names.update({value: name if i == 0 else f"{name}:{i}" for i, value in enumerate(outputs)})
    return nodes
