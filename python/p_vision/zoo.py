"""The models of p_vision.models with the methods of a p_vision model: `googlenet(backend.NDARRAY)`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pyburn
from pyburn.nn import Module

from .configured import to_plain
from .devices import resolve
from .layer import Layer
from .model import as_model
from .symbolic.drawing import BuiltLayer, part_config


def constructors() -> dict[str, Callable[..., Any]]:
    """Returns the functions of p_vision.models that build a model, by name."""
    models = importlib.import_module("p_vision.models")
    return {name: getattr(models, name) for name in models.list_models()}


def face(name: str) -> Callable[..., Any]:
    """Returns the function of a model: takes a backend, then the arguments of the constructor by name."""
    make = constructors()[name]

    @functools.wraps(make)
    def faced(backend: Any = None, **arguments: Any) -> Any:
        device = resolve(backend)
        with device:
            model = as_model(make(**arguments))
        model.backend = device
        try:
            model._recipe = {"name": name, "arguments": to_plain(arguments, name)}
        except ValueError:  # arguments that cannot be saved: only the weights can
            model._recipe = None
        return model

    return faced


def __getattr__(name: str) -> Callable[..., Any]:
    """Returns the function of a model, as an attribute of this module."""
    if name.startswith("__"):
        raise AttributeError(name)
    return face(name)


def made(recipe: Any) -> Any:
    """Builds the plain model of a saved recipe.

    Raises:
        FormatError: The recipe is invalid.
    """
    known = constructors()
    if not isinstance(recipe, dict) or recipe.get("name") not in known or not isinstance(recipe.get("arguments"), dict):
        raise pyburn.FormatError(f"[load_model] the file names a model that p_vision.models does not have: got {recipe!r}")
    arguments = {key: value for key, value in recipe["arguments"].items() if key != "weights"}  # the file has the weights
    try:
        model = known[recipe["name"]](**arguments)
    except (TypeError, ValueError) as error:
        raise pyburn.FormatError(f"[load_model] {recipe['name']} cannot be made of what the file says: {error}") from None
    as_model(model)._recipe = recipe
    return model


def replaced_parts(model: Module, recipe: dict[str, Any]) -> dict[str, Any]:
    """Returns the submodules that differ from those of the recipe, such as replaced heads, by dotted name."""
    with pyburn.device("null"):
        plain = made(recipe)
    found: dict[str, Any] = {}

    def compare(mine: Module, theirs: Module, prefix: str) -> None:
        others = dict(theirs.named_children())
        for name, part in mine.named_children():
            same = name in others and type(part) is type(others[name])
            if not same or (not others[name]._modules and repr(part) != repr(others[name])):
                found[prefix + name] = BuiltLayer(part, part.built_for) if isinstance(part, Layer) else part_config(part)
            else:
                compare(part, others[name], f"{prefix}{name}.")
        found.update({prefix + name: None for name in others if name not in dict(mine.named_children())})

    compare(model, plain, "")
    return found


def replace_parts(model: Module, parts: Any) -> None:
    """Replaces submodules by dotted name, or removes them if None."""
    if not isinstance(parts, dict):
        raise pyburn.FormatError(f"[load_model] the replaced parts are not a dict: got {type(parts).__name__}")
    for path, part in parts.items():
        *holders, name = path.split(".")
        holder = model
        for step in holders:
            holder = dict(holder.named_children()).get(step, None)  # type: ignore[assignment]
            if holder is None:
                raise pyburn.FormatError(f"[load_model] the file replaces a part that is not there: got {path!r}")
        if part is not None and not isinstance(part, Module):
            raise pyburn.FormatError(f"[load_model] a part of a model is no layer: got {part!r}")
        if part is None:
            delattr(holder, name)
        else:
            holder.add_module(name, part)


def freeze(model: Module, names: Any) -> None:
    """Freezes the parameters of these names."""
    parameters = dict(model.named_parameters())
    for name in names if isinstance(names, list) else ():
        if name in parameters:
            parameters[name].requires_grad_(False)
