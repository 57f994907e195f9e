"""Docstrings and signatures of classes whose constructor is made of declarations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


class Signature:
    """The signature of a class, which `cls.constructor_parameters()` gives when it is asked for; of an object, that of its call."""

    def __get__(self, obj: Any, cls: Any = None) -> inspect.Signature:
        if obj is not None:
            raise AttributeError("__signature__")
        found = cls.constructor_parameters()
        return inspect.Signature(list(inspect.signature(cls.__init__).parameters.values())[1:] if found is None else found)


def parameter(name: str, default: Any, annotation: Any = inspect.Parameter.empty, named: bool = False) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if named else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def parts_of(doc: str) -> tuple[str, dict[str, str], str]:
    """Splits a docstring.

    Returns:
        What is in front of the Args section, the meanings of its arguments, and what follows it.
    """
    head, found, rest = inspect.cleandoc(doc).partition("\nArgs:\n")
    if not found:  # an Args section belongs in front of the Raises section and the examples
        cut = min((at for at in (head.find(mark) for mark in ("\nRaises:", "\n>>> ")) if at >= 0), default=len(head))
        return head[:cut].rstrip(), {}, head[cut:].strip("\n")
    lines = rest.split("\n")
    size = next((at for at, line in enumerate(lines) if not line.startswith("    ")), len(lines))
    meanings: dict[str, str] = {}
    name = ""
    for line in lines[:size]:
        if line[4] != " ":
            name, _, meanings[name] = line.strip().partition(": ")
        else:
            meanings[name] += " " + line.strip()
    return head.rstrip(), meanings, "\n".join(lines[size:]).strip("\n")


def joined(head: str, meanings: Mapping[str, str], after: str) -> str:
    """Returns a docstring with an Args section; arguments without a meaning are left out."""
    args = [f"    {name}: {text}" for name, text in meanings.items() if text]
    return "\n".join([head, *(["", "Args:", *args] if args else []), *(["", after] if after else [])])


def describe(function: Any, meanings: Mapping[str, str], returns: str) -> None:
    """Adds Args and Returns to the docstring of a function that has only a summary."""
    head, own, after = parts_of(function.__doc__ or "")
    if head and not own:
        given = inspect.signature(function).parameters
        function.__doc__ = joined(head, {name: meanings.get(name, "") for name in given}, after or f"Returns:\n    {returns}")
