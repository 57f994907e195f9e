"""Values of annotated fields: type checks, and conversion to and from JSON."""

from __future__ import annotations

import enum
import math
import numbers
import types
import typing
from typing import Any

from .. import _core
from .._core import DType

_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class ConfigError(_core.FormatError):
    """Raised for an invalid value or an unknown field. The message names the field, the expected type and the actual value."""


def describe(expected: Any) -> str:
    """Formats an annotation for messages."""
    if expected is None or expected is type(None):
        return "None"
    if typing.get_origin(expected) is typing.Literal:
        return " or ".join(repr(value) for value in typing.get_args(expected))
    if _is_union(expected):
        return " or ".join(describe(option) for option in typing.get_args(expected))
    if typing.get_origin(expected) is None and isinstance(expected, type):
        return expected.__name__
    return str(expected).replace("typing.", "")


def checked(value: Any, expected: Any, where: str) -> Any:
    """Returns the value, with lossless conversions (int to float, list to tuple).

    Raises:
        ConfigError: The value does not match the annotation.
    """
    fits, result = _match(value, expected, where)
    if not fits:
        raise ConfigError(f"{where}: expected {describe(expected)}, got {value!r} ({type(value).__name__})")
    return result


def _match(value: Any, expected: Any, where: str) -> tuple[bool, Any]:
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any:
        return True, value
    if expected is None or expected is type(None):
        return value is None, value
    if origin is typing.Literal:
        return any(value == option and type(value) is type(option) for option in arguments), value
    if _is_union(expected):
        return _match_any(value, arguments, where)
    if origin in (list, tuple, dict) or expected in (list, tuple, dict):
        return _match_container(value, origin or expected, arguments, where)
    if expected is float:
        return _is_number(value, numbers.Real), float(value) if _is_number(value, numbers.Real) else value
    if expected is int:
        return _is_number(value, numbers.Integral), int(value) if _is_number(value, numbers.Integral) else value
    if isinstance(expected, type):
        return isinstance(value, expected), value
    raise ConfigError(f"{where}: an annotation that configs do not understand: got {expected!r}")


def _is_number(value: Any, kind: type) -> bool:
    """Includes NumPy numbers, excludes bools."""
    return isinstance(value, kind) and not isinstance(value, bool)


def _match_any(value: Any, options: tuple[Any, ...], where: str) -> tuple[bool, Any]:
    """Prefers an exact match over a conversion, so that `float | int` keeps 3 an int."""
    for option in sorted(options, key=lambda option: type(value) is not option):
        try:
            fits, result = _match(value, option, where)
        except ConfigError:
            continue
        if fits:
            return True, result
    return False, value


def _match_container(value: Any, kind: Any, arguments: tuple[Any, ...], where: str) -> tuple[bool, Any]:
    if kind is dict:
        if not isinstance(value, dict):
            return False, value
        key_type, value_type = arguments or (Any, Any)
        return True, {checked(k, key_type, f"{where} key"): checked(v, value_type, f"{where}[{k!r}]") for k, v in value.items()}
    if not isinstance(value, list | tuple):
        return False, value
    if kind is list:
        item = arguments[0] if arguments else Any
        return True, [checked(v, item, f"{where}[{i}]") for i, v in enumerate(value)]
    if not arguments or arguments[-1] is Ellipsis:
        item = arguments[0] if arguments else Any
        return True, tuple(checked(v, item, f"{where}[{i}]") for i, v in enumerate(value))
    if len(value) != len(arguments):
        return False, value
    return True, tuple(checked(v, t, f"{where}[{i}]") for i, (v, t) in enumerate(zip(value, arguments)))


def to_plain(value: Any) -> Any:
    """Converts a value to a JSON-compatible one."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, DType):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return next(text for text, number in _NON_FINITE.items() if repr(number) == repr(value))
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(to_plain(k)): to_plain(v) for k, v in value.items()}
    return value


def from_plain(value: Any, expected: Any, where: str) -> Any:
    """Converts a JSON value back to the annotated type. Mismatches are left for `checked` to report."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if _is_union(expected):
        return _from_plain_any(value, arguments, where)
    if isinstance(expected, type) and hasattr(expected, "from_dict") and isinstance(value, dict):
        return expected.from_dict(value, where)
    if isinstance(expected, type) and issubclass(expected, enum.Enum) and isinstance(value, str):
        return expected.__members__.get(value, value)
    if expected is DType and isinstance(value, str):
        found = getattr(_core, value, None)
        return found if isinstance(found, DType) else value
    if expected is float and isinstance(value, str):
        return _NON_FINITE.get(value, value)
    if origin is dict and isinstance(value, dict) and arguments:
        keys = {k: int(k) if arguments[0] is int and k.lstrip("-").isdigit() else from_plain(k, arguments[0], where) for k in value}
        return {keys[k]: from_plain(v, arguments[1], f"{where}[{k!r}]") for k, v in value.items()}
    if origin in (list, tuple) and isinstance(value, list) and arguments:
        same = origin is list or arguments[-1] is Ellipsis
        if same or len(arguments) == len(value):
            items = [arguments[0]] * len(value) if same else list(arguments)
            return [from_plain(v, t, f"{where}[{i}]") for i, (v, t) in enumerate(zip(value, items))]
    return value


def _from_plain_any(value: Any, options: tuple[Any, ...], where: str) -> Any:
    """Returns the value of the first matching option; raises the last error if a dict matches none of several configs."""
    problem: ConfigError | None = None
    for option in options:
        try:
            result = from_plain(value, option, where)
            if _match(result, option, where)[0]:
                return result
        except ConfigError as error:
            problem = error
    if problem is not None:
        raise problem
    return value


def _is_union(expected: Any) -> bool:
    return typing.get_origin(expected) in (typing.Union, types.UnionType)
