"""What is in an ONNX file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ._model import Model, ValueInfo, load

__all__ = ["Info", "info"]


@dataclass
class Info:
    """A description of a model; `str()` gives a table."""

    inputs: list[ValueInfo]
    outputs: list[ValueInfo]
    operators: dict[str, int]
    opsets: dict[str, int]
    parameters: int
    producer: str = ""
    ir_version: int = 0
    graph: str = ""
    metadata: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = [
            ("graph", self.graph),
            ("producer", self.producer),
            ("opsets", ", ".join(f"{domain} {version}" for domain, version in self.opsets.items())),
            ("inputs", "\n".join(f"{v.name}: {v.type}" for v in self.inputs)),
            ("outputs", "\n".join(f"{v.name}: {v.type}" for v in self.outputs)),
            ("parameters", f"{self.parameters:,}"),
            ("operators", ", ".join(f"{count} {name}" for name, count in sorted(self.operators.items(), key=lambda row: -row[1]))),
            *self.metadata.items(),
        ]
        lines = []
        for name, text in rows:
            for i, line in enumerate(text.split("\n")):
                lines.append(f"{'' if i else name:<12}{line}")
        return "\n".join(lines)


def info(source: str | os.PathLike[str] | bytes | Model) -> Info:
    """Describes a model: inputs, outputs, operators, versions and size.

    Args:
        source: The path of the file, its bytes, or a loaded model.

    Raises:
        UnsupportedOp: The model needs operators that pyburn does not have; the message lists all of them.
    """
    model: Any = source if isinstance(source, Model) else load(source, "cpu")
    description = model._pb_description
    return Info(
        inputs=model.inputs,
        outputs=model.outputs,
        operators=description["operators"],
        opsets=description["opsets"],
        parameters=sum(p.numel() for p in model.parameters()),
        producer=description["producer"],
        ir_version=description["ir_version"],
        graph=description["graph"],
        metadata=description["metadata"],
    )
