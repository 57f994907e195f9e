"""Custom classes and functions in files: registered globally, or within a `with` statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .configured import custom, from_plain, plain_form, public, to_plain


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[Any], Any]:
    """Decorator that registers a class or function, so that `load_model` finds it without `custom_objects`."""

    def registered(thing: Any) -> Any:
        key = name or thing.__name__
        custom[key] = custom[thing.__name__] = custom[f"{package}>{key}"] = thing
        if not isinstance(thing, type):
            thing.saved_as = key
        return thing

    return registered


def get_registered_name(obj: Any) -> str:
    """Returns the registered name with its package, or the object's own name."""
    return next((name for name, thing in custom.items() if thing is obj and ">" in name), getattr(obj, "__name__", str(obj)))


def get_registered_object(name: str, custom_objects: Mapping[str, Any] | None = None, module_objects: Any = None) -> Any:
    """Returns the object registered under a name, or None."""
    return {**custom, **(custom_objects or {})}.get(name)


def get_custom_objects() -> dict[str, Any]:
    """Returns the dict of registered objects, which can be modified."""
    return custom


@contextmanager
def custom_object_scope(custom_objects: Mapping[str, Any]) -> Iterator[None]:
    """Context manager that registers names within a `with` statement."""
    before = dict(custom)
    custom.update(custom_objects)
    try:
        yield
    finally:
        custom.clear()
        custom.update(before)


CustomObjectScope = custom_object_scope


def serialize_keras_object(obj: Any) -> Any:
    """Converts an object to JSON types."""
    return to_plain(obj, type(obj).__name__)


def deserialize_keras_object(config: Any, custom_objects: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """Inverse of `serialize_keras_object`; also accepts Keras's form {"class_name": ..., "config": ...}."""
    return from_plain(plain_form(config), dict(custom_objects or {}))


serialize, deserialize = serialize_keras_object, deserialize_keras_object
__all__ = public(globals())
