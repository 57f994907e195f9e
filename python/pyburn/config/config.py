"""Config: a class whose annotated fields are options."""

from __future__ import annotations

import copy
import functools
import os
import typing
from typing import Any, ClassVar

from .values import ConfigError, checked, from_plain, to_plain

__all__ = ["Config", "ConfigError", "field"]

_REQUIRED = object()


class _Factory:
    def __init__(self, make: Any) -> None:
        self.make = make


def field(*, default_factory: Any) -> Any:
    """Declares a field with a default factory, which is called for each config.

    Args:
        default_factory: Called without arguments for each config that gives no value.

    Returns:
        A marker that the class body of a Config understands.

    >>> class Run(pyburn.config.Config):
    ...     seeds: list[int] = pyburn.config.field(default_factory=lambda: [1, 2])
    >>> Run().seeds
    [1, 2]
    """
    return _Factory(default_factory)


class Config:
    """Base class of configurations: the annotated fields of a subclass are options. Fields without a default are required.

    Values are validated on construction; ConfigError names the field, the expected type and the actual value. Configs are immutable;
    `with_<field>(value)` returns a changed copy. `init` creates the object that the config describes; override it.

    Raises:
        ConfigError: A value is missing, unknown or has the wrong type.

    >>> class MlpConfig(pyburn.config.Config):
    ...     inputs: int
    ...     hidden: int = 16
    ...     def init(self, device=None):
    ...         return pyburn.nn.Sequential(pyburn.nn.Linear(self.inputs, self.hidden, device=device), pyburn.nn.ReLU())
    >>> config = MlpConfig(4).with_hidden(8)
    >>> config
    MlpConfig(inputs=4, hidden=8)
    >>> config.init()(pyburn.ones(4)).shape
    pyburn.Size([8])
    >>> MlpConfig.from_json(config.to_json()) == config
    True
    """

    _defaults: ClassVar[dict[str, Any]] = {}

    if typing.TYPE_CHECKING:  # with_<field>

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._defaults = dict(cls._defaults)
        for name in cls.__dict__.get("__annotations__", {}):
            if name.startswith("_") or _is_class_variable(cls.__dict__["__annotations__"][name]):
                continue
            if hasattr(Config, name):
                raise ConfigError(f"{cls.__name__}.{name}: a field cannot be called like a method of Config")
            cls._defaults[name] = cls.__dict__.get(name, _REQUIRED)
            if name in cls.__dict__:
                delattr(cls, name)
            setattr(cls, f"with_{name}", _setter(cls, name))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls, names = type(self), list(self._defaults)
        if len(args) > len(names):
            raise ConfigError(f"{cls.__name__}: expected at most {len(names)} values, got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name in given:
                raise ConfigError(f"{cls.__name__}.{name}: given twice")
            given[name] = value
        _refuse_unknown(cls, given, cls.__name__)
        for name, expected in cls.fields().items():
            value = given[name] if name in given else self._default(name)
            self.__dict__[name] = checked(value, expected, f"{cls.__name__}.{name}")
        self.validate()

    def _default(self, name: str) -> Any:
        default = self._defaults[name]
        if default is _REQUIRED:
            required = [n for n, d in self._defaults.items() if d is _REQUIRED]
            raise ConfigError(f"{type(self).__name__}.{name}: a value is required (required fields: {', '.join(required)})")
        return default.make() if isinstance(default, _Factory) else copy.deepcopy(default)

    def validate(self) -> None:
        """Override it for checks beyond types; raise ConfigError or ValueError."""

    def init(self, device: Any = None) -> Any:
        """Creates the object that the config describes, usually a module.

        Args:
            device: The device to create tensors on.

        Returns:
            The object.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it describes: define init(self, device=None)")

    @classmethod
    def fields(cls) -> dict[str, Any]:
        """Returns the fields and their types, in order."""
        hints: dict[str, Any] = _hints(cls)  # type: ignore[arg-type]
        return {name: hints[name] for name in cls._defaults}

    def replace(self, **changes: Any) -> Any:
        """Returns a copy with changed values; `with_<field>` does the same for one field.

        Args:
            **changes: The new values by field.
        """
        return type(self)(**{**self.__dict__, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON-compatible values."""
        return {name: to_plain(value) for name, value in self.__dict__.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any], where: str = "") -> Any:
        """Creates a config from a dict, as returned by to_dict.

        Args:
            values: The values by field; nested configs are dicts.
            where: A prefix for names in error messages.

        Returns:
            The config.

        Raises:
            ConfigError: A field is unknown, missing or has the wrong type.
        """
        where = where or cls.__name__
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: expected a dict, got {values!r} ({type(values).__name__})")
        _refuse_unknown(cls, values, where)
        fields = cls.fields()
        given = {}
        for name, value in values.items():
            path = f"{where}.{name}"
            given[name] = checked(from_plain(value, fields[name], path), fields[name], path)
        return cls(**given)

    def to_json(self, indent: int | None = 2) -> str:
        """Returns the config as JSON.

        Args:
            indent: The number of spaces per level; None for one line.

        Raises:
            ConfigError: A value cannot be represented in JSON.
        """
        import json

        try:
            return json.dumps(self.to_dict(), indent=indent, allow_nan=False)
        except TypeError as error:
            raise ConfigError(f"{type(self).__name__}: JSON cannot hold all of it: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Any:
        """Creates a config from JSON.

        Args:
            text: The JSON text.

        Returns:
            The config.

        Raises:
            ConfigError: The text is not JSON, or does not match the fields.
        """
        import json

        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{cls.__name__}: not valid JSON: {error}") from None
        return cls.from_dict(values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the config to a JSON file, atomically.

        Args:
            path: The file to write.
        """
        from ..io import atomic_write

        atomic_write(os.fspath(path), (self.to_json() + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Loads a config from a JSON file or from a .pyburn file.

        Args:
            path: The file.

        Returns:
            The config.

        Raises:
            ConfigError: The file is not JSON, or does not match the fields.
        """
        with open(path, "rb") as file:
            data = file.read(8)
            if data == b"PYBURN\r\n":
                from ..io import Bundle

                return cls.from_dict(Bundle(path).config)
            data += file.read()
        try:
            return cls.from_json(data.decode())
        except UnicodeDecodeError as error:
            raise ConfigError(f"{cls.__name__}: not valid JSON: {error}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a config does not change: use with_{name}(...), which gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a config does not change")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _is_class_variable(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else getattr(typing.get_origin(annotation) or annotation, "__name__", str(annotation))
    return "ClassVar" in text


def _setter(cls: type, name: str) -> Any:
    def with_field(self: Any, value: Any) -> Any:
        return self.replace(**{name: value})

    with_field.__name__ = f"with_{name}"
    with_field.__qualname__ = f"{cls.__qualname__}.with_{name}"
    with_field.__doc__ = f"A copy with another value of `{name}`."
    return with_field


def _refuse_unknown(cls: type[Config], values: dict[str, Any], where: str) -> None:
    for name in values:
        if name in cls._defaults:
            continue
        import difflib

        close = difflib.get_close_matches(str(name), cls._defaults, 1)
        hint = f"; did you mean {close[0]!r}?" if close else f" (fields: {', '.join(cls._defaults)})"
        raise ConfigError(f"{where}: there is no field {name!r}{hint}")
