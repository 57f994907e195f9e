"""Loading and saving of models: selection, renaming and conversion of tensors."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from .. import _core
from .._core import DType, Tensor, float16
from ..nn import Module
from .bundle import Bundle
from .file_types import Path, Source
from .native import CoreAdapter, LoadReport, Place, Snapshot
from .tensor_file import TensorFile, open_tensors

Name: TypeAlias = str | re.Pattern[str] | Callable[[str], bool]
Names: TypeAlias = Name | Iterable[Name] | None
Renames: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]] | Callable[[str], str] | None


class Adapter:
    """Converts between the tensors of files and of models. Subclass it and override what differs.

    >>> class Halved(pyburn.io.Adapter):
    ...     def to_file(self, tensor, place):
    ...         return tensor / 2 if place.name == "weight" else tensor
    ...     def from_file(self, tensor, place):
    ...         return tensor * 2 if place.name == "weight" else tensor
    >>> model = pyburn.nn.Linear(2, 1)
    >>> pyburn.io.save_module(model, "half.safetensors", adapter=Halved())
    >>> pyburn.io.load_into(model, "half.safetensors", adapter=Halved()).complete
    True
    """

    def file_name(self, place: Place) -> str:
        """Returns the name of a tensor in the file, relative to its module.

        Args:
            place: The tensor's place in the model: its module and name.
        """
        return place.name

    def from_file(self, tensor: Tensor, place: Place) -> Tensor:
        """Converts a tensor of the file for the model.

        Args:
            tensor: The tensor of the file.
            place: Its place in the model.

        Returns:
            The tensor for the model.
        """
        return tensor

    def to_file(self, tensor: Tensor, place: Place) -> Tensor:
        """Converts a tensor of the model for the file.

        Args:
            tensor: The tensor of the model.
            place: Its place in the model.

        Returns:
            The tensor for the file.
        """
        return tensor


Adapters: TypeAlias = Adapter | CoreAdapter | Iterable[Adapter | CoreAdapter] | None


def burn_layout() -> CoreAdapter:
    """Returns the adapter for files of Burn: linear weights are transposed, and weights and biases of norms are named gamma and beta.

    >>> model = pyburn.nn.Linear(3, 2)
    >>> pyburn.io.save_module(model, "burn.safetensors", adapter=pyburn.io.burn_layout())
    >>> pyburn.io.open_tensors("burn.safetensors")["weight"].shape
    pyburn.Size([3, 2])
    """
    return _core._io.burn_layout()


def half_precision(dtype: DType = float16, except_modules: Iterable[str] = ("BatchNorm",)) -> CoreAdapter:
    """Returns an adapter that stores floating-point tensors as `dtype`.

    Args:
        dtype: The dtype in the file.
        except_modules: Modules whose class name starts with one of these keep their dtype.

    >>> model = pyburn.nn.Linear(3, 2)
    >>> pyburn.io.save_module(model, "small.safetensors", adapter=pyburn.io.half_precision())
    >>> pyburn.io.load_into(model, "small.safetensors").complete, model.weight.dtype
    (True, pyburn.float32)
    """
    return _core._io.half_precision(dtype, list(except_modules))


def load_into(
    module: Module,
    source: Source | TensorFile,
    *,
    rename: Renames = None,
    include: Names = None,
    exclude: Names = None,
    adapter: Adapters = None,
    strict: bool = True,
    dtype: str = "model",
    key: str = "",
    mmap: bool = False,
) -> LoadReport:
    r"""Loads a file of any format into a model, one tensor at a time. On errors, the model is unchanged.

    Args:
        module: The model.
        source: What `open_tensors` accepts or returns.
        rename: Changes of names in the file: regular expressions with their replacements, or a function.
        include: The names in the model to load: regular expressions to search for, or functions.
        exclude: The names in the model to skip.
        adapter: One Adapter or several, the one nearest to the file first.
        strict: Whether missing and unused tensors are errors.
        dtype: "model" converts to the dtype of the model; with "file" parameters take the dtype of the file.
        key: The key of a nested dict in a PyTorch file.
        mmap: Whether to memory-map the file.

    Returns:
        A report of the tensors that were applied, missing and unused.

    Raises:
        ArgumentError: A shape differs, or with strict, tensors are missing or unused.
        FormatError: The file is damaged.
        ValueError: dtype is unknown.

    >>> model = pyburn.nn.Linear(2, 1)
    >>> pyburn.save({"net.weight": pyburn.ones(1, 2)}, "part.pt")
    >>> report = pyburn.io.load_into(model, "part.pt", rename={r"^net\.": ""}, strict=False)
    >>> report.applied, report.missing
    (['weight'], ['bias'])
    """
    if dtype not in ("model", "file"):
        raise ValueError(f"[load_into] dtype must be 'model' or 'file': got {dtype!r}")
    file = source if isinstance(source, TensorFile) else open_tensors(source, key=key, mmap=mmap)
    arguments = _renaming(rename), _choice(include, exclude), _adapters(adapter)
    return _core._io.load_into(module, list(file.values()), *arguments, strict, dtype == "file")


def save_module(
    module: Module,
    path: Path,
    *,
    rename: Renames = None,
    include: Names = None,
    exclude: Names = None,
    adapter: Adapters = None,
    metadata: dict[str, str] | None = None,
    config: Any = None,
    format: str = "",
) -> None:
    r"""Saves the state of a model to a file, one tensor at a time.

    Args:
        module: The model.
        path: The file.
        rename: Changes of names from the model to the file, as for `load_into`.
        include: The names to save, as for `load_into`.
        exclude: The names to skip.
        adapter: One Adapter or several, the one nearest to the file first.
        metadata: Text entries.
        config: The configuration of the model, for .pyburn files.
        format: The format; by default from the file name.

    Raises:
        ValueError: config is given for another format.

    >>> model = pyburn.nn.Sequential(pyburn.nn.Linear(2, 2), pyburn.nn.Linear(2, 1))
    >>> pyburn.io.save_module(model, "first.safetensors", include=r"^0\.", rename={r"^0\.": "first."})
    >>> sorted(pyburn.io.open_tensors("first.safetensors"))
    ['first.bias', 'first.weight']
    """
    snapshots = _core._io.module_snapshots(module, _renaming(rename), _choice(include, exclude), _adapters(adapter))
    if format == "pyburn" or (not format and os.fspath(path).endswith(".pyburn")):
        Bundle.save(path, snapshots, config=config, metadata=metadata)
    elif config is not None:
        raise ValueError(f"[save_module] only .pyburn files hold a config: got {os.fspath(path)!r}")
    else:
        _core._io.write_tensors(snapshots, os.fspath(path), metadata or {}, format)


class Store:
    r"""A file, and how to load and save a model with it; options are set by chained calls.

    Args:
        path: The file.
        key: The key of a nested dict in a PyTorch file.
        format: The format; by default from the file name.
        mmap: Whether to memory-map the file.

    >>> store = pyburn.io.Store("model.safetensors").rename(r"^", "net.").half_precision()
    >>> store.save(pyburn.nn.Linear(2, 1))
    >>> store.keys()
    ['net.bias', 'net.weight']
    >>> report = pyburn.io.Store("model.safetensors").rename(r"^net\.", "").load_into(pyburn.nn.Linear(2, 1))
    >>> print(report)
    2 applied, 0 missing, 0 unused, 0 skipped, 0 errors
    """

    def __init__(self, path: Path, *, key: str = "", format: str = "", mmap: bool = False) -> None:
        self.path = os.fspath(path)
        self._key, self._format, self._mmap = key, format, mmap
        self._renames: list[tuple[str, str]] = []
        self._include: list[Name] = []
        self._exclude: list[Name] = []
        self._adapters: list[Adapter | CoreAdapter] = []
        self._metadata: dict[str, str] = {}
        self._strict, self._contiguous = True, False

    def rename(self, pattern: str, replacement: str) -> Store:
        """Adds a renaming rule; rules are applied in order.

        Args:
            pattern: A regular expression.
            replacement: The replacement, with groups as in `re.sub`.

        Returns:
            The store itself, so that calls can be chained.
        """
        self._renames.append((pattern, replacement))
        return self

    def include(self, *names: Name) -> Store:
        """Adds names to load or save: those that match any of these regular expressions or functions. Without this call, all.

        Returns the store.

        Args:
            *names: Regular expressions, or functions that return whether a name is included.
        """
        self._include += names
        return self

    def exclude(self, *names: Name) -> Store:
        """Adds names to skip, even if included. Returns the store.

        Args:
            *names: Regular expressions, or functions that return whether a name is excluded.
        """
        self._exclude += names
        return self

    def adapt(self, adapter: Adapter | CoreAdapter) -> Store:
        """Adds an adapter; the first one is nearest to the file. Returns the store.

        Args:
            adapter: The adapter.
        """
        self._adapters.append(adapter)
        return self

    def half_precision(self, dtype: DType = float16) -> Store:
        """Stores floating-point tensors as `dtype`, except those of batch norms. Returns the store.

        Args:
            dtype: float16 or bfloat16.
        """
        return self.adapt(half_precision(dtype))

    def contiguous_indices(self, wanted: bool = True) -> Store:
        """When loading, renumbers list indices with gaps in the file (0, 2, 5) to 0, 1, 2, before renaming. Returns the store.

        Args:
            wanted: Whether to renumber.
        """
        self._contiguous = wanted
        return self

    def allow_partial(self, allow: bool = True) -> Store:
        """Sets whether missing and unused tensors are allowed. Returns the store.

        Args:
            allow: Whether they are allowed.
        """
        self._strict = not allow
        return self

    def metadata(self, **texts: str) -> Store:
        """Adds text entries to save. Returns the store.

        Args:
            **texts: The entries.
        """
        self._metadata.update(texts)
        return self

    def open(self) -> TensorFile:
        """Opens the file and returns its tensors, with the names in the file."""
        return open_tensors(self.path, key=self._key, mmap=self._mmap)

    def keys(self) -> list[str]:
        """Returns the names in the file."""
        return list(self.open())

    def __getitem__(self, name: str) -> Snapshot:
        return self.open()[name]

    def load_into(self, module: Module) -> LoadReport:
        """Loads the file into a model; see `pyburn.io.load_into`.

        Args:
            module: The model.

        Returns:
            A report of matched, missing and unused names.
        """
        file = self.open()
        rename = _renaming(self._renames) or str
        if self._contiguous:
            numbers = dict(zip(file, _core._io.contiguous_indices(list(file))))
            rename = functools.partial(lambda change, name: change(numbers[name]), rename)
        return load_into(
            module,
            file,
            rename=rename,
            include=self._include or None,
            exclude=self._exclude or None,
            adapter=self._adapters,
            strict=self._strict,
        )

    def save(self, module: Module, config: Any = None) -> None:
        """Saves the state of a model; see `pyburn.io.save_module`.

        Args:
            module: The model.
            config: A Config to save with it.
        """
        save_module(
            module,
            self.path,
            rename=self._renames or None,
            include=self._include or None,
            exclude=self._exclude or None,
            adapter=self._adapters,
            metadata=self._metadata or None,
            config=config,
            format=self._format,
        )


def _renaming(rename: Renames) -> Callable[[str], str] | None:
    if rename is None or callable(rename):
        return rename
    rules = [(re.compile(pattern), new) for pattern, new in (rename.items() if isinstance(rename, Mapping) else rename)]

    def renamed(name: str) -> str:
        for pattern, new in rules:
            name = pattern.sub(new, name)
        return name

    return renamed


def _tests(names: Names) -> list[Callable[[str], object]]:
    if names is None:
        return []
    if isinstance(names, str | re.Pattern):
        return [re.compile(names).search]
    if callable(names):
        return [names]
    return [test for one in names for test in _tests(one)]


def _choice(include: Names, exclude: Names) -> Callable[[str], bool] | None:
    if include is None and exclude is None:
        return None
    wanted, unwanted = _tests(include), _tests(exclude)
    return lambda name: (include is None or any(test(name) for test in wanted)) and not any(test(name) for test in unwanted)


def _adapters(adapter: Adapters) -> list[Adapter | CoreAdapter]:
    if adapter is None:
        return []
    return [adapter] if isinstance(adapter, (Adapter, CoreAdapter)) else list(adapter)
