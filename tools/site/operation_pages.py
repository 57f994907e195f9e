"""Reference pages of the operations, from their schemas: one page per topic, under public names."""

from __future__ import annotations

from itertools import groupby

import op_docs
from docstrings import markdown
from schema import Entry, read_aliases, read_all

# Topic -> files of src/pyburn/ops. Files that are not listed are on a last page.
OTHER = "Other operations"
TOPICS = {
    "Creation": "fill",
    "Random sampling": "random random_functions",
    "Arithmetic": "unary binary binary_math pointwise bits",
    "Exponentials and trigonometry": "transcendental",
    "Comparison and logic": "logic",
    "Reductions and statistics": "reduce extremum moments vector_norm histogram calculus",
    "Cumulative operations": "scan",
    "Sorting and searching": "sort search",
    "Shapes and views": "movement axes views copy",
    "Joining and splitting": "join split",
    "Rearranging and padding": "rearrange pad",
    "Indexing, gathering and scattering": "index index_tensors scatter overwrite selection segment",
    "Matrix products": "matmul einsum cdist",
    "Linear algebra": "linalg solvers matrix_functions factor_functions",
    "Activations": "activation softmax",
    "Convolution": "conv conv_functions unfold sample_planes",
    "Pooling": "pool pool_functions fractional_pool",
    "Interpolation and sampling grids": "interpolate grid_sample",
    "Normalisation and dropout": "normalisation batch_norm dropout",
    "Attention and embedding": "attention embedding",
    "Recurrent networks": "rnn rnn_steps",
    "Losses": "loss cross_entropy ctc_loss margin_loss",
    "Special functions": "special bessel polynomial",
    "Window functions": "window",
}


def public_name(e: Entry) -> str:
    for prefix in ("linalg", "special"):
        if e.function.startswith(prefix + "_"):
            return f"pyburn.{prefix}.{e.function.removeprefix(prefix + '_')}"
    return "pyburn." + e.function


def signature(e: Entry) -> str:
    parts, named = [], False
    for p in e.parameters:
        if p.keyword_only and not named:
            parts.append("*")
            named = True
        parts.append(f"{p.name}: {op_docs.annotation(p)}" + ("" if p.default is None else f" = {p.default}"))
    if e.has_out:
        parts += ([] if named else ["*"]) + ["out=None"]
    text = f"{public_name(e)}({', '.join(parts)}) -> {op_docs.returns(e)[0]}"
    return text if len(text) < 100 else f"{public_name(e)}(\n    " + ",\n    ".join(parts) + f",\n) -> {op_docs.returns(e)[0]}"


def forms(entries: list[Entry]) -> str:
    e = entries[0]
    names = [f"`Tensor.{e.function}`"] if e.is_method else []
    if any(entry.has_inplace for entry in entries):
        names.append(f"`Tensor.{e.function}_` (in place)")
    names += [f"`pyburn.{alias}`" for alias, function in read_aliases().items() if function == e.function]
    return "Also available as " + ", ".join(names) + "." if names else ""


def operation(entries: list[Entry]) -> str:
    """All forms of one function: what they share is said once."""
    lines = [f"## {public_name(entries[0])} {{#pyburn.{entries[0].function}}}", ""]
    for e in entries:
        lines += ["```python", signature(e), "```", "", markdown(op_docs.docstring(e)), ""]
    return "\n".join([*lines, forms(entries), ""])


def slug(topic: str) -> str:
    return topic.lower().replace(",", "").replace(" ", "-")


def pages() -> dict[str, tuple[str, str]]:
    """Path -> (title, Markdown)."""
    entries = [e for e in read_all() if e.public and not op_docs.internal(e)]
    topic_of = {family: topic for topic, families in TOPICS.items() for family in families.split()}
    found = {}
    for topic in [*TOPICS, OTHER]:
        of_topic = sorted((e for e in entries if topic_of.get(e.family, OTHER) == topic), key=lambda e: public_name(e).lower())
        if not of_topic:
            continue
        functions = [list(group) for _, group in groupby(of_topic, key=public_name)]
        summary = "\n".join(f"- [`{public_name(f[0])}`](#pyburn.{f[0].function}): {f[0].doc}" for f in functions)
        text = "\n".join([f"# {topic}", "", summary, "", *(operation(f) for f in functions)])
        found[f"reference/operations/{slug(topic)}.md"] = (topic, text)
    return found
