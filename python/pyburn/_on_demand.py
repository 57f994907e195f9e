"""Lazy imports of a package, which keep `import pyburn` fast, and the error for missing names."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType


class _Imports:
    """Tracks lazy imports in progress.

    A child forked during another thread's import would wait for its import lock forever, so forks wait for such imports to end. Nothing
    else waits.
    """

    _PATIENCE = 10.0  # seconds: an import may wait for the forking thread

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._wait, after_in_child=self._renew)

    def _renew(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._threads: list[int] = []

    def __enter__(self) -> None:
        with self._changed:
            self._threads.append(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        with self._changed:
            with contextlib.suppress(ValueError):  # in a child: belongs to the parent's thread
                self._threads.remove(threading.get_ident())
            self._changed.notify_all()

    def _wait(self) -> None:
        mine = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: all(thread == mine for thread in self._threads), self._PATIENCE)


_imports = _Imports()


class MissingName(AttributeError):
    """A module attribute does not exist. The message with a suggestion is built when it is read, so that `hasattr` stays fast."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module, name, name=name)

    def __str__(self) -> str:
        module, name = self.args
        return f"module {module!r} has no attribute {name!r}{_advice(module, name)}"


def _advice(module: str, name: str) -> str:
    """Suggests an import if the name is that of a submodule, else the most similar name."""
    import difflib
    from importlib.machinery import PathFinder

    holder = sys.modules[module]
    if hasattr(holder, "__path__") and PathFinder.find_spec(f"{module}.{name}", holder.__path__) is not None:
        return f": write `import {module}.{name}` first"
    similar = difflib.get_close_matches(name, [other for other in dir(holder) if not other.startswith("_")], 1, cutoff=0.75)
    return f". Did you mean {similar[0]!r}?" if similar else ""


def on_demand(
    package: str,
    *modules: str,
    places: Mapping[str, str] | Callable[[], Mapping[str, str]] = MappingProxyType({}),
    anchor: str | None = None,
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns the `__getattr__` and the `__dir__` of a package or module.

    Args:
        package: The name of the package or module.
        modules: The submodules to import lazily.
        places: Maps other names to the submodules that define them, as "module" or "module:name there"; or a function that returns this
            mapping.
        anchor: The package that submodules are relative to; `package` by default.
    """

    def all_places() -> dict[str, str]:
        return {**dict.fromkeys(modules, ""), **(places() if callable(places) else places)}

    def find(name: str) -> object:
        place = all_places().get(name) if not name.startswith("__") else None
        if place is None:
            raise MissingName(package, name)
        import importlib

        place, _, original = place.partition(":")
        with _imports:
            module = importlib.import_module(f".{place or name}", anchor or package)
        value = getattr(module, original or name) if place else module
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        own = {name for name, value in vars(sys.modules[package]).items() if value is not on_demand and value is not from_stub}
        return sorted(own | {*all_places()})

    return find, names


def stub_places(file: str) -> dict[str, str]:
    """Maps each name that the stub of a package or module exports to the submodule that defines it: `places` of `on_demand`."""
    import re
    from pathlib import Path

    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    rows = re.findall(r"^from \.([\w.]*) import (\w+) as (\w+)$", stub, re.MULTILINE)
    return {name: place if original == name else f"{place}:{original}" for place, original, name in rows}


def from_stub(name: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Returns the `__getattr__`, `__dir__` and `__all__` of a package or module whose names are listed once, in its stub, and imported
    lazily.

    Args:
        name: Its `__name__`.
        file: Its `__file__`.
    """
    places = stub_places(file)
    anchor = name if file.endswith("__init__.py") else name.rpartition(".")[0]
    modules = {module for place in places.values() if (module := place.partition(":")[0]).isidentifier()}
    return *on_demand(name, *modules, places=places, anchor=anchor), sorted(one for one in places if not one.startswith("_"))
