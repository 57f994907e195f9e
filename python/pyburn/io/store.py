"""Models in and out of files: which tensors, under which names, in which form."""

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
    """How tensors in files differ from those in models. Subclass it and override what differs.

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
        """What the file calls a tensor within its module."""
        return place.name

    def from_file(self, tensor: Tensor, place: Place) -> Tensor:
        """The tensor of a file as the model wants it."""
        return tensor

    def to_file(self, tensor: Tensor, place: Place) -> Tensor:
        """The tensor of the model as the file wants it."""
        return tensor


Adapters: TypeAlias = Adapter | CoreAdapter | Iterable[Adapter | CoreAdapter] | None


def burn_layout() -> CoreAdapter:
    """The adapter for files of Burn: weights of linear layers are transposed, those of normalisations called gamma and beta.

    >>> model = pyburn.nn.Linear(3, 2)
    >>> pyburn.io.save_module(model, "burn.safetensors", adapter=pyburn.io.burn_layout())
    >>> pyburn.io.open_tensors("burn.safetensors")["weight"].shape
    pyburn.Size([3, 2])
    """
    return _core._io.burn_layout()


def half_precision(dtype: DType = float16, except_modules: Iterable[str] = ("BatchNorm",)) -> CoreAdapter:
    """The adapter that keeps floating tensors in `dtype` on disk, except in modules whose class begins with one of the names.

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
    """Reads a file of any format into a model, one tensor after another, and reports what was applied, missing and unused.

    `source` is what `open_tensors` takes, or what it gives. `rename` changes names of the file: regular expressions with what they
    become, or a function. `include` and `exclude` choose names of the model: regular expressions that occur in them, or functions.
    `adapter` is one Adapter or several, the nearest to the file first. Missing and unused tensors are errors unless `strict=False`;
    a shape that differs always is; in either case the model is left as it was. Elements are converted to the dtype of the model,
    or, with `dtype="file"`, parameters take the one of the file.

    >>> model = pyburn.nn.Linear(2, 1)
    >>> pyburn.save({"net.weight": pyburn.ones(1, 2)}, "part.pt")
    >>> report = pyburn.io.load_into(model, "part.pt", rename={r"^net\\.": ""}, strict=False)
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
    """Writes the state of a model to a file, in the format that its name or `format` says, one tensor after another.

    `rename` changes names of the model to those in the file; the other arguments are those of `load_into`. A file in pyburn's own
    format (.pyburn) also holds the `config` that the model was made from.

    >>> model = pyburn.nn.Sequential(pyburn.nn.Linear(2, 2), pyburn.nn.Linear(2, 1))
    >>> pyburn.io.save_module(model, "first.safetensors", include=r"^0\\.", rename={r"^0\\.": "first."})
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
    """A file and how a model goes in and out of it, put together step by step.

    >>> store = pyburn.io.Store("model.safetensors").rename(r"^", "net.").half_precision()
    >>> store.save(pyburn.nn.Linear(2, 1))
    >>> store.keys()
    ['net.bias', 'net.weight']
    >>> report = pyburn.io.Store("model.safetensors").rename(r"^net\\.", "").load_into(pyburn.nn.Linear(2, 1))
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
        """Adds a change of names; they are done in order."""
        self._renames.append((pattern, replacement))
        return self

    def include(self, *names: Name) -> Store:
        """Names to load or save: all that any of these regular expressions or functions wants. Without this call, all."""
        self._include += names
        return self

    def exclude(self, *names: Name) -> Store:
        """Names to leave out, even if included."""
        self._exclude += names
        return self

    def adapt(self, adapter: Adapter | CoreAdapter) -> Store:
        """Adds an adapter; the first one is nearest to the file."""
        self._adapters.append(adapter)
        return self

    def half_precision(self, dtype: DType = float16) -> Store:
        """Floating tensors are `dtype` in the file, those of batch normalisations excepted."""
        return self.adapt(half_precision(dtype))

    def contiguous_indices(self, wanted: bool = True) -> Store:
        """Loading: numbers of lists in the file that have gaps (0, 2, 5) become 0, 1, 2, before names are changed."""
        self._contiguous = wanted
        return self

    def allow_partial(self, allow: bool = True) -> Store:
        """Missing and unused tensors are no errors."""
        self._strict = not allow
        return self

    def metadata(self, **texts: str) -> Store:
        """Text to be saved beside the tensors."""
        self._metadata.update(texts)
        return self

    def open(self) -> TensorFile:
        """The tensors of the file, as they are called there."""
        return open_tensors(self.path, key=self._key, mmap=self._mmap)

    def keys(self) -> list[str]:
        """The names in the file."""
        return list(self.open())

    def __getitem__(self, name: str) -> Snapshot:
        return self.open()[name]

    def load_into(self, module: Module) -> LoadReport:
        """Reads the file into a model; see `pyburn.io.load_into`."""
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
        """Writes the state of a model; see `pyburn.io.save_module`."""
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
