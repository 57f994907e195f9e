"""Docstrings as Markdown: Google's sections become tables, doctests become code blocks."""

from __future__ import annotations

import inspect
import logging
import re
from typing import Any

from griffe import Docstring, DocstringSectionKind, Parser

logging.getLogger("griffe").setLevel(logging.ERROR)


def cell(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))  # a bar inside of code needs no backslash
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows])


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def with_code_blocks(text: str) -> str:
    """Doctests and indented programs of a text, fenced."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    text = "\n".join(lines + (["```"] if inside else []))
    # A program that is indented after a colon or an empty line is code for Markdown as well, but only with its language is it coloured.
    return re.sub(r"\n\n((?:    [^\n]*\n?|\n(?=    ))+)", lambda m: "\n\n```python\n" + inspect.cleandoc("\n" + m[1]) + "\n```\n\n", text)


def parameter_rows(found: list[Any], signature: inspect.Signature | None) -> list[list[str]]:
    known = signature.parameters if signature else {}
    rows = []
    for p in found:
        of_signature = known.get(p.name.lstrip("*"))
        kind = str(p.annotation or "")
        kind, _, default = kind.partition(", default ")
        if of_signature is not None:
            if not kind and of_signature.annotation is not inspect.Parameter.empty:
                kind = annotation_text(of_signature.annotation)
            if not default and of_signature.default is not inspect.Parameter.empty:
                default = default_text(of_signature.default)
        rows.append([code(p.name), code(kind), code(default), p.description])
    return rows


def annotation_text(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(typing|collections\.abc|pyburn\._types|pyburn\._core)\.", "", text)


def default_text(value: Any) -> str:
    text = repr(value)
    return re.sub(r"<(?:function|class) '?([\w.]+)'?.*>", r"\1", text) if " at 0x" not in text else "..."


def markdown(doc: str, signature: inspect.Signature | None = None) -> str:
    """A docstring as Markdown; `signature` completes types and defaults."""
    parts = []
    parser: Any = Parser.google
    for section in Docstring(doc, lineno=1).parse(parser, warnings=False):
        if section.kind is DocstringSectionKind.text:
            parts.append(with_code_blocks(section.value))
        elif section.kind in (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters, DocstringSectionKind.attributes):
            title = "Attributes" if section.kind is DocstringSectionKind.attributes else "Arguments"
            parts.append(f"**{title}**\n\n" + table(["name", "type", "default", "meaning"], parameter_rows(section.value, signature)))
        elif section.kind in (DocstringSectionKind.returns, DocstringSectionKind.yields):
            items = [": ".join(filter(None, [code(str(v.annotation or v.name or "")), v.description])) for v in section.value]
            parts.append(f"**{section.kind.value.capitalize()}**: " + "; ".join(items))
        elif section.kind in (DocstringSectionKind.raises, DocstringSectionKind.warns):
            rows = [[code(str(v.annotation)), v.description] for v in section.value]
            parts.append("**Raises**\n\n" + table(["error", "when"], rows))
        elif section.kind is DocstringSectionKind.examples:
            texts = [f"```pycon\n{v}\n```" if kind is DocstringSectionKind.examples else str(v) for kind, v in section.value]
            parts.append("\n\n".join(texts))
        elif section.kind is DocstringSectionKind.admonition:
            parts.append(f"**{section.title}** {section.value.description}")
    return "\n\n".join(part.strip("\n") for part in parts)
