"""torch.save and torch.load with modules and arrays: PyTorch pickles them, which pyburn's own files refuse.

A file with such things is a pickle that is read with an allow-list: modules of pyburn and of the running program, arrays of numpy, and what
torch.serialization.add_safe_globals or safe_globals name. Nothing else in it is called.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .. import io as files
from ..nn import Module

_MAGIC = b"PYBURN MODULES\r\n"
DEFAULT_PROTOCOL = 2
_safe: list[Any] = []
_ALLOWED = {
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("builtins", "slice"),
    ("collections", "OrderedDict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("pyburn.nn.hooks", "ModuleHooks"),
    ("pyburn.nn.module_methods", "_unfilled"),
    ("pyburn.nn.parameter", "_rebuild"),
    ("pyburn.nn.utils.spectral_norm", "SpectralNorm"),
    ("pyburn.nn.utils.weight_norm", "WeightNorm"),
    ("pyburn.tensor.copying", "_rebuild"),
}


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Allows files to refer to these classes and functions.

    Args:
        safe_globals: The classes and functions.
    """
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    return list(_safe)


def clear_safe_globals() -> None:
    _safe.clear()


@contextlib.contextmanager
def safe_globals(names: Sequence[Any]) -> Iterator[None]:
    """Allows files to refer to these classes and functions within a `with` statement.

    Args:
        names: The classes and functions.
    """
    before = list(_safe)
    add_safe_globals(names)
    try:
        yield
    finally:
        _safe[:] = before


def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
    """Saves an object as torch.save does: tensors and containers in PyTorch's format, modules and arrays in a format of compat.

    Args:
        obj: The object.
        f: A path or a binary file.
        *args: Arguments of pyburn.save.
        **kwargs: Options of pyburn.save.

    >>> save({"weight": pyburn.ones(2)}, "model.pt")
    """
    if _is_plain(obj):
        files.save(obj, f, *args, **kwargs)
        return
    data = io.BytesIO()
    pickle.Pickler(data, protocol=4).dump(obj)
    content = _MAGIC + data.getvalue()
    if hasattr(f, "write"):
        f.write(content)
    else:
        files.atomic_write(os.fspath(f), content)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = True, mmap: Any = None, **options: Any
) -> Any:
    """Loads a file of `save` or of PyTorch. No code in the file is run, also with `weights_only=False`.

    Args:
        f: A path or a binary file.
        map_location: The device of the tensors.
        pickle_module: Ignored.
        weights_only: Ignored.
        mmap: Whether to map the file instead of reading it.
        **options: Ignored.

    Returns:
        The object.

    >>> save({"weight": pyburn.ones(2)}, "model.pt")
    >>> load("model.pt")
    {'weight': tensor([1., 1.])}
    """
    if hasattr(f, "read"):
        content = f.read()
    else:
        with open(f, "rb") as file:
            content = file.read(len(_MAGIC))
            content = content + file.read() if content == _MAGIC else b""
    if content.startswith(_MAGIC):
        return _Unpickler(io.BytesIO(content[len(_MAGIC) :])).load()
    return files.load(io.BytesIO(content) if content else f, map_location, mmap=None if content else mmap)


def _is_plain(obj: Any) -> bool:
    """Whether the format of PyTorch's weights can hold it."""
    if isinstance(obj, dict):
        return all(_is_plain(item) for item in obj.values())
    if isinstance(obj, (list, tuple, set)):
        return all(_is_plain(item) for item in obj)
    return obj is None or isinstance(obj, (_core.Tensor, bool, int, float, complex, str, bytes, _core.DType, _core.Device))


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        found = getattr(sys.modules.get(module), name, None) if "." not in name else None
        if found is not None and any(found is allowed for allowed in _safe):
            return found
        if isinstance(found, type) and issubclass(found, (Module, _core.Tensor)):
            return found
        if module == "pyburn.nn.utils.pruning_methods" and isinstance(found, type):
            return found
        if isinstance(found, _core.DType) or (module == "pyburn.nn.functional" and callable(found)):
            return found
        raise _core.FormatError(f"[load] the file names {module}.{name}, which is not allowed: see torch.serialization.add_safe_globals")
