"""Reference pages of the Python packages, from the objects of the built package and their docstrings."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

from docstrings import annotation_text, default_text, markdown

# Where a name is documented is the first module of this list that has it; a package that is not listed follows under its own name.
MODULES = [
    "pyburn", "pyburn.nn", "pyburn.nn.functional", "pyburn.nn.init", "pyburn.nn.utils", "pyburn.nn.graph", "pyburn.optim",
    "pyburn.optim.lr_scheduler", "pyburn.optim.swa_utils", "pyburn.autograd", "pyburn.amp", "pyburn.func", "pyburn.data",
    "pyburn.data.transforms", "pyburn.data.sets", "pyburn.data.files", "pyburn.data.text", "pyburn.train", "pyburn.train.metrics",
    "pyburn.train.run", "pyburn.inference", "pyburn.io", "pyburn.io.safetensors", "pyburn.config", "pyburn.distributions", "pyburn.linalg",
    "pyburn.special", "pyburn.masked", "pyburn.signal.windows", "pyburn.backend", "pyburn.testing", "pyburn.utils.checkpoint",
    "pyburn.dashboard", "pyburn.server", "pyburn.compat", "p_vision.layers", "p_vision.losses", "p_vision.metrics", "p_vision.optimizers",
    "p_vision.callbacks", "p_vision.ops", "p_vision.applications", "p_vision.models", "p_vision.preprocessing", "p_vision.utils",
    "p_vision",
]  # fmt: skip
LEFT_OUT = {
    "pyburn.cli",
    "pyburn.utils",
    "pyburn.signal",
    "pyburn.tensor",
    "pyburn.nn.modules",
    "pyburn.lr_scheduler",
    "pyburn.return_types",
}
LAYER_TOPICS = {
    "Losses": r"Loss",
    "Graph layers": r"GCN|SAGE|GAT|GIN|Graph|MessagePassing",
    "Transformers and attention": r"Transformer|Attention|PositionWise|RotaryEncoding|PositionalEncoding",
    "Recurrent layers": r"RNN|LSTM|GRU",
    "Convolution": r"Conv|^Fold|^Unfold",
    "Pooling": r"Pool",
    "Padding": r"Pad",
    "Normalisation": r"Norm|LRN",
    "Dropout and noise": r"Dropout|Noise",
    "Embedding": r"Embedding",
    "Linear layers": r"^(Lazy)?(Bil|L)inear|SwiGlu|GeGlu|Identity",
    "Resizing": r"Upsample|Upsampling|Interpolate|Shuffle|Flatten|Unflatten",
    "Modules, containers and parameters": r"^Module|Sequential|Parameter|Buffer|DataParallel|Lazy|Cosine|Pairwise|Distance",
    "Activations": r"",
}


def public(module: ModuleType) -> dict[str, Any]:
    """The classes, functions and values that a module offers, by name."""
    listed = getattr(module, "__all__", None)
    names = listed or [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in sorted(set(names), key=str.lower) if hasattr(module, name)}
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, ModuleType) and callable(value) and (listed or str(value.__module__).startswith(module.__name__))
    }


def signature_of(value: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(value)
    except (ValueError, TypeError):
        return None


def signature_text(name: str, value: Any, signature: inspect.Signature | None) -> str:
    if signature is None:
        return f"{name}(...)"
    types = getattr(value, "_option_types", {})
    parts: list[str] = []
    named = False
    for p in signature.parameters.values():
        if p.name in ("self", "cls") and not parts:
            continue
        if p.kind is p.KEYWORD_ONLY and not named:
            parts.append("*")
        named = named or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        kind = types.get(p.name) or (annotation_text(p.annotation) if p.annotation is not p.empty else "")
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        text = f"{star}{p.name}" + (f": {kind}" if kind else "")
        if p.default is not p.empty:
            text += (" = " if kind else "=") + default_text(p.default)
        parts.append(text)
    back = "" if signature.return_annotation is signature.empty else f" -> {annotation_text(signature.return_annotation)}"
    if inspect.isclass(value):
        back = ""
    text = f"{name}({', '.join(parts)}){back}"
    return text if len(text) < 100 else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){back}"


def methods(cls: type) -> dict[str, Any]:
    """The documented methods and properties that a class defines itself."""
    return {
        name: value
        for name, value in vars(cls).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
        if (inspect.getdoc(value) or f"{name}(").split("\n\n")[-1][: len(name) + 1] != f"{name}("  # nanobind's signature is no docstring
    }  # fmt: skip


def document(path: str, name: str, value: Any, level: int = 2) -> str:
    """A class or a function with everything that belongs to it."""
    signature = signature_of(value)
    doc = inspect.getdoc(value) or ""
    kind = "class " if inspect.isclass(value) else ""
    lines = [f"{'#' * level} {name} {{#{path}}}", ""]
    if not (inspect.isclass(value) and issubclass(value, (enum.Enum, Warning, BaseException))):
        lines += ["```python", kind + signature_text(path, value, signature), "```", ""]
    lines += [markdown(doc, signature), ""]
    if inspect.isclass(value):
        if issubclass(value, enum.Enum):
            lines += ["Members: " + ", ".join(f"`{member}`" for member in value.__members__) + ".", ""]
        for method, found in methods(value).items():
            function = found.__func__ if isinstance(found, (classmethod, staticmethod)) else found
            if isinstance(found, property):
                lines += [
                    f"{'#' * (level + 1)} {name}.{method} {{#{path}.{method}}}",
                    "",
                    "*Property.* " + markdown(inspect.getdoc(found) or ""),
                    "",
                ]
            else:
                of_method = signature_of(function)
                lines += [f"{'#' * (level + 1)} {name}.{method} {{#{path}.{method}}}", "", "```python"]
                lines += [signature_text(method, function, of_method), "```", "", markdown(inspect.getdoc(found) or "", of_method), ""]
    return "\n".join(lines)


def first_line(value: Any) -> str:
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(text.split())


def module_page(title: str, module: str, head: str, members: dict[str, Any]) -> str:
    summary = [f"- [`{name}`](#{module}.{name}): {first_line(value)}" for name, value in members.items()]
    return "\n".join([f"# {title}", "", head, "", *summary, "", *(document(f"{module}.{n}", n, v) for n, v in members.items())])


def discovered() -> list[str]:
    """Public packages that MODULES does not list."""
    import pyburn

    names = [f"pyburn.{m.name}" for m in pkgutil.iter_modules(pyburn.__path__) if m.ispkg and not m.name.startswith("_")]
    return [name for name in names if name not in MODULES and name not in LEFT_OUT]


def overview() -> str:
    """A table of the packages: the first sentence of each."""
    rows = ["", "## Packages", "", "| package | contents |", "|---|---|"]
    for path, (title, _) in pages().items():
        module = "pyburn.nn" if path.endswith("nn/activations.md") else title
        if module.startswith(("pyburn", "p_vision")):
            rows.append(f"| [`{module}`]({path.removeprefix('reference/')}) | {first_line(importlib.import_module(module))} |")
    return "\n".join(rows) + "\n"


def layer_topic(name: str) -> str:
    return next(topic for topic, pattern in LAYER_TOPICS.items() if re.search(pattern, name))


def slug(text: str) -> str:
    return text.lower().replace(",", "").replace(" ", "-")


def tensor_page() -> str:
    import op_docs
    from operation_pages import OTHER, TOPICS
    from operation_pages import slug as topic_slug
    from schema import read_all

    import pyburn

    generated = {e.function: e for e in read_all() if e.public}
    topic_of = {family: topic for topic, families in TOPICS.items() for family in families.split()}
    own, listed = [], []
    for name in sorted(n for n in dir(pyburn.Tensor) if not n.startswith("_")):
        e = generated.get(name) or generated.get(name.rstrip("_"))
        if e is None:
            value = getattr(pyburn.Tensor, name)
            signature = signature_of(value) if callable(value) else None
            text = ["```python", signature_text(name, value, signature), "```", ""] if callable(value) else []
            own.append(
                "\n".join([f"## Tensor.{name} {{#pyburn.Tensor.{name}}}", "", *text, markdown(inspect.getdoc(value) or "", signature), ""])
            )
        elif not op_docs.internal(e) and e.function == name:
            listed.append(f"- [`Tensor.{name}`](operations/{topic_slug(topic_of.get(e.family, OTHER))}.md#pyburn.{e.function}): {e.doc}")
    head = "A tensor: a view of a storage with a shape, strides, a dtype and a device. Methods that are also functions come first."
    return "\n".join(["# Tensor", "", head, "", *listed, "", *own])


def pages() -> dict[str, tuple[str, str]]:
    """Path -> (title, Markdown)."""
    import pyburn

    seen = {id(pyburn.Tensor)}
    found = {"reference/tensor.md": ("Tensor", tensor_page())}
    listed = list(MODULES)
    listed[MODULES.index("pyburn.linalg") : MODULES.index("pyburn.linalg")] = discovered()
    for name in listed:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:  # the list may name a package of another version
            continue
        members = {}
        for key, value in public(module).items():
            tensor = name == "pyburn" and key.endswith(("Tensor", "TensorPy"))
            if id(value) in seen or type(value).__name__ == "Function" or tensor:
                continue  # a Function is an operation; both have pages of their own
            seen.add(id(value))
            members[key] = value
        if not members:
            continue
        head = markdown(inspect.getdoc(module) or "")
        base = f"reference/{name.replace('.', '/')}"
        if name == "pyburn.nn":
            for topic in LAYER_TOPICS:
                of_topic = {n: v for n, v in members.items() if layer_topic(n) == topic}
                if of_topic:
                    found[f"{base}/{slug(topic)}.md"] = (f"nn: {topic}", module_page(f"pyburn.nn: {topic}", name, head, of_topic))
        else:
            found[f"{base}/index.md" if name == "pyburn" else f"{base}.md"] = (name, module_page(name, name, head, members))
    return found
