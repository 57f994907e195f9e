"""HTML for notebooks: what `_repr_html_` of tensors, modules and training results returns. All text is escaped, all styles are inline."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_EDGE = 5  # rows and columns shown at each end
_MOST_STATISTICS = 10_000_000  # elements
_DEEPEST = 20
_FAINT = "color: var(--jp-ui-font-color2, #6a737d)"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table; numbers are aligned to the right.

    >>> pyburn._html.table(["epoch"], [[1]]).count("<td")
    1
    """
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return f'<td style="text-align: {"left" if isinstance(value, str) and value != "…" else "right"}">{escape(text)}</td>'


def picture(svg: str) -> str:
    """Returns an SVG as an image, so that its styles do not affect the notebook."""
    return f'<img alt="" style="width: 460px; max-width: 100%" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


def faint(text: str) -> str:
    """Returns text in a muted colour."""
    return f'<span style="{_FAINT}">{escape(text)}</span>'


def tensor_html(tensor: Any) -> str:
    """Returns the shape, the dtype, the range and the values of a tensor; of a large one, the first and last rows and columns."""
    parts = [f"Tensor {list(tensor.shape)}", str(tensor.dtype).rpartition(".")[2], str(tensor.device)]
    if tensor.requires_grad:
        parts.append("requires_grad")
    values = tensor.detach()
    if values.is_floating_point() and 0 < values.numel() <= _MOST_STATISTICS:
        values = values.float() if values.element_size() < 4 else values
        parts.append(f"min {values.min().item():.4g}, mean {values.mean().item():.4g}, max {values.max().item():.4g}")
    if not values.numel():
        return f"<div>{faint(' · '.join(parts))}</div>"
    if values.ndim > 2:
        parts.append(f"here [{', '.join('0' for _ in range(values.ndim - 2))}]")
        values = values[(0,) * (values.ndim - 2)]
    grid = values.reshape(1, -1) if values.ndim < 2 else values
    rows, columns = (_ends(size) for size in grid.shape)
    cells = [["…" if i is None or j is None else grid[i, j].item() for j in columns] for i in rows]
    return f"<div>{faint(' · '.join(parts))}{table([], cells)}</div>"


def _ends(size: int) -> list[int | None]:
    """The indices shown of a dimension; None stands for those left out."""
    return list(range(size)) if size <= 2 * _EDGE else [*range(_EDGE), None, *range(size - _EDGE, size)]


def module_html(module: Any, name: str = "", depth: int = 0) -> str:
    """Returns the tree of a module with the numbers of parameters; branches can be folded."""
    count = sum(parameter.numel() for parameter in module.parameters())
    options, label = module.extra_repr().replace("\n", ", "), f"{name}: " if name else ""
    title = f"{escape(label)}<b>{escape(type(module).__name__)}</b>({escape(options)}) {faint(f'{count:,} parameters') if count else ''}"
    children = list(module.named_children()) if depth < _DEEPEST else []
    style = 'style="margin-left: 1.2em; font-family: monospace"' if depth else 'style="font-family: monospace"'
    if not children:
        return f"<div {style}>{title}</div>"
    below = "".join(module_html(child, key, depth + 1) for key, child in children)
    return f"<details {'open ' if depth < 2 else ''}{style}><summary>{title}</summary>{below}</details>"
