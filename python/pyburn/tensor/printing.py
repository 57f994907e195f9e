"""Printing of tensors."""

from __future__ import annotations

from typing import Any

from .. import _core

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}
_LARGEST = 2**62


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets the print options of tensors. None leaves an option unchanged, except for sci_mode.

    Args:
        precision: The number of digits after the decimal point.
        threshold: Tensors with more elements are summarized.
        edgeitems: The number of elements at both ends of a summarized dimension.
        linewidth: The maximum line length.
        profile: "default", "short" or "full"; any other has no effect.
        sci_mode: Whether to use scientific notation; None decides by the values.

    Raises:
        ValueError: A number is negative.

    >>> pyburn.set_printoptions(precision=2)
    >>> pyburn.tensor([1.2345])
    tensor([1.23])
    >>> pyburn.set_printoptions(profile="default")
    """
    options = _core._print_options()
    if profile is not None:
        options.update(_PROFILES.get(profile.lower(), {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options.update({name: value for name, value in given.items() if value is not None})
    for name in given:
        if isinstance(options[name], bool) or not isinstance(options[name], (int, float)) or not options[name] >= 0:
            raise ValueError(f"[set_printoptions] {name} must be a number of at least 0: got {options[name]!r}")
        options[name] = int(min(options[name], 1000 if name == "precision" else 2**30 if name == "linewidth" else _LARGEST))
    options["sci_mode"] = sci_mode
    _core._set_print_options(**options)


def get_printoptions() -> dict[str, Any]:
    """Returns the print options as a dict for set_printoptions.

    >>> pyburn.get_printoptions()["precision"]
    4
    """
    return _core._print_options()


class printoptions:  # noqa: N801  (a context manager is called like a function)
    """Context manager that sets print options temporarily.

    Args:
        **options: The options of set_printoptions.

    >>> with pyburn.printoptions(precision=1):
    ...     print(pyburn.tensor([1.25]))
    tensor([1.2])
    """

    def __init__(self, **options: Any):
        self._options = options
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(get_printoptions())
        set_printoptions(**self._options)

    def __exit__(self, *error: object) -> None:
        _core._set_print_options(**self._before.pop())
