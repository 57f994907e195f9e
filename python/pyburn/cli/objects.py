"""Looks up objects by name, such as `my_models:Net`, for configurations and the command line."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from .main import CommandError

_KEYS = {"object", "arguments", "positional"}


def find_object(name: str, places: tuple[str, ...] = ()) -> Any:
    """Imports `module:name`, `module.name`, or a name from one of the modules `places`.

    Raises:
        CommandError: There is no such object.
    """
    if ":" in name:
        module, _, path = name.partition(":")
        return _attribute(_module(module, name), path, name)
    for place in places:
        try:
            found: Any = importlib.import_module(place)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (AttributeError, ImportError):
            continue
    if "." not in name:
        where = f" in {', '.join(places)}" if places else ""
        raise CommandError(f"there is no {name!r}{where}; a name of your own is written module:name")
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:cut])
        try:
            found = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and not f"{module_name}.".startswith(f"{error.name}."):
                raise CommandError(f"{name!r} cannot be imported: {error}") from error
            continue
        return _attribute(found, ".".join(parts[cut:]), name)
    raise CommandError(f"{name!r} cannot be imported: there is no module {parts[0]!r}")


def _module(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise CommandError(f"{name!r} cannot be imported: {error}") from error


def _attribute(found: Any, path: str, name: str) -> Any:
    for part in path.split("."):
        if not hasattr(found, part):
            raise CommandError(f"{name!r} cannot be imported: {getattr(found, '__name__', found)} has no {part!r}")
        found = getattr(found, part)
    return found


def build(spec: Any, places: tuple[str, ...], what: str, *first: Any) -> Any:
    """Calls the object described by a table with `object`, `positional` and `arguments`; a string is an object called without
    arguments.
    """
    if isinstance(spec, str):
        spec = {"object": spec}
    if not isinstance(spec, Mapping) or "object" not in spec:
        raise CommandError(f"{what} needs a key 'object', such as object = \"my_module:Name\": got {spec!r}")
    unknown = set(spec) - _KEYS
    if unknown:
        raise CommandError(f"{what} has unknown keys {', '.join(sorted(unknown))}: there are object, positional and arguments")
    for key, kind, name in (("object", str, "text"), ("positional", list, "a list"), ("arguments", Mapping, "a table")):
        if key in spec and not isinstance(spec[key], kind):
            raise CommandError(f"{what}: {key} must be {name}: got {spec[key]!r}")
    function = find_object(spec["object"], places)
    positional = [_value(item, places, what) for item in spec.get("positional", [])]
    arguments = {key: _value(item, places, what) for key, item in spec.get("arguments", {}).items()}
    if not callable(function):
        return function
    try:
        return function(*first, *positional, **arguments)
    except (TypeError, ValueError) as error:
        if not is_about_the_call(error):
            raise
        raise CommandError(f"{what}: {spec['object']} does not take these arguments: {error}") from error
    except OSError as error:  # such as missing files of a data set
        raise CommandError(f"{what}: {error}") from error


def is_about_the_call(error: BaseException) -> bool:
    """Returns whether the arguments did not fit or were rejected by pyburn. Errors in user code need their traceback."""
    place = error.__traceback__
    if place is None or place.tb_next is None:
        return True
    while place.tb_next is not None:
        place = place.tb_next
    return str(place.tb_frame.f_globals.get("__name__", "")).partition(".")[0] in ("pyburn", "p_vision")


def _value(item: Any, places: tuple[str, ...], what: str) -> Any:
    """Builds nested objects in arguments."""
    if isinstance(item, Mapping):
        if "object" in item:
            return build(item, places, what)
        return {key: _value(value, places, what) for key, value in item.items()}
    return [_value(value, places, what) for value in item] if isinstance(item, list) else item


def parse_value(text: str) -> Any:
    """Parses JSON; text that is not JSON is returned unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def key_values(items: list[str], option: str) -> dict[str, Any]:
    """Parses KEY=VALUE arguments.

    Raises:
        CommandError: An argument does not have this form.
    """
    found = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise CommandError(f"{option} takes KEY=VALUE: got {item!r}")
        found[key] = parse_value(value)
    return found
