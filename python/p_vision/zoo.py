"""The models of p_vision.models with the face of a model: `googlenet(backend.NDARRAY)`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pyburn

from .backend import resolve
from .configured import to_plain
from .model import as_model


def constructors() -> dict[str, Callable[..., Any]]:
    """The functions of p_vision.models that make a model, by name."""
    models = importlib.import_module("p_vision.models")
    return {name: getattr(models, name) for name in models.list_models()}


def face(name: str) -> Callable[..., Any]:
    """The function of a model: takes a backend first, then the arguments of the plain constructor by name."""
    make = constructors()[name]

    @functools.wraps(make)
    def faced(backend: Any = None, **arguments: Any) -> Any:
        device = resolve(backend)
        with device:
            model = as_model(make(**arguments))
        model.backend = device
        try:
            model._recipe = {"name": name, "arguments": to_plain(arguments, name)}
        except ValueError:  # arguments that a file cannot hold: weights can be saved, the model cannot
            model._recipe = None
        return model

    return faced


def made(recipe: Any) -> Any:
    """The plain model of a saved recipe."""
    known = constructors()
    if not isinstance(recipe, dict) or recipe.get("name") not in known or not isinstance(recipe.get("arguments"), dict):
        raise pyburn.FormatError(f"[load_model] the file names a model that p_vision.models does not have: got {recipe!r}")
    arguments = {key: value for key, value in recipe["arguments"].items() if key != "weights"}  # the file has them
    try:
        model = known[recipe["name"]](**arguments)
    except (TypeError, ValueError) as error:
        raise pyburn.FormatError(f"[load_model] {recipe['name']} cannot be made of what the file says: {error}") from None
    as_model(model)._recipe = recipe
    return model
