"""Objects that are described by their constructor arguments, for printing, saving and cloning.

An object stores each argument in an attribute of the same name.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import pyburn
from pyburn._nested import leaves
from pyburn.nn import Module

from .described import Signature, joined, parameter, parts_of
from .names import PLACES

_MISSING = inspect.Parameter.empty
custom: dict[str, Any] = {}  # registered custom classes and functions, by name


def arguments(cls: Any) -> dict[str, Any]:
    """Returns the constructor arguments of a class and their defaults, in order."""
    return arguments_of(cls.__init__)


@functools.cache
def arguments_of(function: Any) -> dict[str, Any]:
    """Returns the arguments of a function and their defaults, without the first one (`self`)."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {p.name: p.default for p in parameters if p.kind not in kinds}


class Configured:
    """Base class of layers, initializers, losses, optimizers and other configurable objects."""

    __slots__ = ()

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        """Returns the arguments in the config, with their defaults."""
        return arguments(cls)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that recreate the object."""
        return {name: getattr(self, name) for name in self.config_arguments()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Creates an object from the result of get_config; layers in it are cloned, not shared."""
        return cls(**with_own_layers(config))

    @classmethod
    def saved_name(cls) -> str:
        """Returns the name of the class in files."""
        return cls.__name__

    def arguments_text(self) -> str:
        """Returns the non-default arguments, formatted as in a call."""
        config = self.get_config()
        parts = []
        for name, default in self.config_arguments().items():
            value = config.get(name, default)
            if isinstance(value, Module):  # printed as a child module
                continue
            if default is _MISSING:
                parts.append(_written(value))
            elif value != default and not (isinstance(value, tuple) and all(item == default for item in value)):
                parts.append(f"{name}={_written(value)}")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.arguments_text()})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Configured) and self.get_config() == other.get_config()

    __hash__ = object.__hash__


OPTIONS = {  # arguments of the functions of losses and metrics
    "y_true": "The targets.",
    "y_pred": "The outputs.",
    "from_logits": "Whether the outputs are logits instead of probabilities.",
    "label_smoothing": "Moves this fraction of the targets to the uniform distribution.",
    "axis": "The axis of the classes, or the axes to sum over.",
    "delta": "The error from which the loss is linear.",
    "alpha": "The weight of the positive class, or of false positives (Tversky).",
    "beta": "The weight of false negatives.",
    "gamma": "The exponent that weights hard samples, or the scale of similarities (Circle).",
    "apply_class_balancing": "Whether to weight the classes by alpha and 1 - alpha.",
    "ignore_class": "A class that does not count; None for none.",
    "ref_labels": "The classes of ref_embeddings.",
    "ref_embeddings": "The embeddings to compare with; by default those of the batch.",
    "remove_diagonal": "Whether not to compare embeddings with themselves.",
    "margin": "The distance between similarities of equal and different classes.",
    "q": "The exponent: 0 is the cross entropy, 1 the mean absolute error.",
    "k": "The number of outputs.",
    "threshold": "Outputs above it are positive.",
    "reduction": 'How the values are reduced: "sum_over_batch_size", "sum", "mean_with_sample_weight" or "none", as in Loss.',
    "name": "The name of the loss or metric.",
}


class OfFunction(Configured):
    """Base class of losses and metrics made of a function of (y_true, y_pred), whose other arguments become their options."""

    function: ClassVar[Callable[..., Any]]
    if not TYPE_CHECKING:
        __signature__ = Signature()

    def __init_subclass__(cls, function: Callable[..., Any] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if function is not None:
            cls.function = staticmethod(function)
            if cls.__doc__ and "__init__" not in vars(cls):
                head, own, after = parts_of(cls.__doc__)
                cls.__doc__ = joined(head, {name: own.get(name) or OPTIONS.get(name, "") for name in cls.config_arguments()}, after)

    @classmethod
    def constructor_parameters(cls) -> list[inspect.Parameter] | None:
        """Returns the parameters of the constructor; None if the class has its own."""
        if "__init__" in vars(cls) or not hasattr(cls, "function"):
            return None
        return [parameter(name, default) for name, default in cls.config_arguments().items()]

    @classmethod
    def function_options(cls) -> dict[str, Any]:
        """Returns the options of the function and their defaults."""
        return dict(list(arguments_of(cls.function).items())[1:])

    def keep_options(self, names: Mapping[str, Any], args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Stores the options of the function as attributes and returns the other ones.

        Raises:
            TypeError: An option is unknown.
        """
        options.pop("dtype", None)
        unknown = [name for name in options if name not in names]
        if unknown or len(args) > len(names):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(names)}: got {', '.join(unknown) or f'{len(args)} arguments'}")
        given = {**names, **dict(zip(names, args)), **options}
        self.__dict__.update({name: given.pop(name) for name in self.function_options()})
        return given


def _written(value: Any) -> str:
    return getattr(value, "__name__", "function") if callable(value) and not isinstance(value, Configured) else repr(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Returns a hint to the known word that is most similar to a misspelled one, or an empty text."""
    import difflib

    close = difflib.get_close_matches(word, list(known), 1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def snake_case(name: str) -> str:
    """Converts `Conv2DTranspose` to `conv2d_transpose`."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def to_plain(value: Any, where: str) -> Any:
    """Converts a value to JSON types; a Configured object becomes its class name and config."""
    if isinstance(value, Configured):
        return {"class": value.saved_name(), "config": {key: to_plain(item, f"{where}.{key}") for key, item in value.get_config().items()}}
    if isinstance(value, pyburn.DType):
        return value.name
    if isinstance(value, (list, tuple)):
        return [to_plain(item, where) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item, where) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if callable(value) and getattr(value, "saved_as", None) is not None:  # a registered function, or one of this package
        return value.saved_as
    raise ValueError(f"[save] {where} cannot be saved: got {value!r}; give it by name, or save the weights alone with save_weights")


class _Making(threading.local):
    depth = 0


_making = _Making()


def with_own_layers(config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns a config with cloned layers. Layers read from a file are new already; those that cannot be saved are shared."""
    parts = [part for value in leaves(config) if isinstance(value, Module) for part in value.modules()]
    if _making.depth or not parts:
        return dict(config)
    classes = {part.saved_name(): type(part) for part in parts if isinstance(part, Configured)}
    try:
        return from_plain(to_plain(config, "config"), {**classes, **(custom_objects or {})})
    except ValueError:
        return dict(config)


def from_plain(value: Any, custom_objects: Mapping[str, Any]) -> Any:
    """Inverse of `to_plain`. Only classes of p_vision and of `custom_objects` are created."""
    if isinstance(value, list):
        return [from_plain(item, custom_objects) for item in value]
    if isinstance(value, dict) and set(value) == {"class", "config"}:
        if not isinstance(value["config"], dict):
            raise pyburn.FormatError(f"[load] the options of {value['class']!r} are not a dict")
        options = {key: from_plain(item, custom_objects) for key, item in value["config"].items()}
        return _made(class_of(value["class"], custom_objects).from_config, options, str(value["class"]))
    if isinstance(value, dict):
        return {key: from_plain(item, custom_objects) for key, item in value.items()}
    return value


def class_of(name: Any, custom_objects: Mapping[str, Any]) -> Any:
    """Returns the class of a saved object.

    Raises:
        FormatError: The class is unknown.
    """
    import p_vision

    custom_objects = {**custom, **custom_objects}
    found = custom_objects.get(name.removeprefix("metrics.")) if isinstance(name, str) else None
    if found is None and isinstance(name, str) and name.startswith("metrics."):
        found = getattr(p_vision.metrics, name.removeprefix("metrics."), None)
    elif found is None and isinstance(name, str) and PLACES.get(name, "zoo") != "zoo":
        found = getattr(p_vision, name)
    if found is None or (found not in custom_objects.values() and not (isinstance(found, type) and issubclass(found, Configured))):
        raise pyburn.FormatError(f"[load] there is no class {name!r}: give it with custom_objects={{{name!r}: ...}}")
    return found


def _made(make: Callable[..., Any], options: dict[str, Any], name: str) -> Any:
    _making.depth += 1
    try:
        return make(options)
    except pyburn.FormatError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise pyburn.FormatError(f"[load] {name} cannot be made of what the file says: {error}") from None
    finally:
        _making.depth -= 1


class Registry:
    """The classes and functions of one kind, by name: the function `get` of a module.

    Args:
        what: The kind, for messages.
        base: The base class of the kind; an object of it is returned as it is.
        table: The classes and functions by name.
        wrap: Makes an object of the kind of another callable and of its name; by default it is returned as it is.
        wraps: Classes whose objects are wrapped, too.
        default: What None stands for; without it, None raises TypeError.
    """

    def __init__(
        self, what: str, base: Any, table: Mapping[str, Any], wrap: Callable[..., Any] | None = None, wraps: Any = (), **default: Any
    ) -> None:
        self.what, self.base, self.table, self.wrap, self.wraps, self.default = what, base, table, wrap, wraps, default

    def find(self, name: str) -> Any:
        """Returns the class or function of a name.

        Raises:
            ValueError: The name is unknown; the message lists the known ones.
        """
        for known, key in ((self.table, name), (self.table, name.lower()), (custom, name)):
            if key in known:
                return known[key]
        raise ValueError(
            f"there is no {self.what} {name!r}{suggestion(name, self.table) or ': known are ' + ', '.join(sorted(self.table))}"
        )

    def __call__(self, identifier: Any) -> Any:
        """Returns the object for a name, a class, a config, an object or a function."""
        if identifier is None and self.default:
            return self.default["default"]
        found = self.find(identifier) if isinstance(identifier, str) else identifier
        if isinstance(found, Mapping):
            return self.deserialize(found)
        if isinstance(found, self.base):
            return found
        if isinstance(found, type) and issubclass(found, self.base):
            return found()
        if callable(found) or isinstance(found, self.wraps):
            return found if self.wrap is None else self.wrap(found, identifier if isinstance(identifier, str) else None)
        article = "an" if self.what[0] in "aio" else "a"
        raise TypeError(f"{article} {self.what} is a name, a class, an object or a function: got {identifier!r}")

    def deserialize(self, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the object for the result of `serialize`, for Keras's form of it, or for a name."""
        return self(from_plain(plain_form(config), dict(custom_objects or {})))


def plain_form(config: Any) -> Any:
    """Converts Keras's form {"class_name": ..., "config": ...} to that of `to_plain`."""
    if isinstance(config, Mapping) and "class_name" in config:
        return {"class": config["class_name"], "config": config.get("config", {})}
    return config


def public(namespace: dict[str, Any], *more: str) -> list[str]:
    """Returns the names for `__all__` of a module: its own classes and functions, and more."""
    own = (name for name, value in namespace.items() if getattr(value, "__module__", "") == namespace["__name__"] and name[0] != "_")
    return [*own, *more]


def serialize(value: Any) -> Any:
    """Converts an object or a function of this package to a dict or name for JSON."""
    return to_plain(value, type(value).__name__)
