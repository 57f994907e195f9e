"""Calls of a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..._core import Tensor
from ..._core._nn import Module
from ..module_registry import BUFFER

_ABSENT = -1  # kind of a name that is not registered


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with the given tensors in place of its parameters and buffers, which are restored afterwards.

    Args:
        module: The module.
        parameter_and_buffer_dicts: The tensors by dotted name; a dict, or several dicts with distinct names.
        args: The positional arguments.
        kwargs: The keyword arguments.
        tie_weights: Whether a tensor that the module has under several names is replaced under all of them.
        strict: Whether the names must be exactly those of the module.

    Returns:
        The result of the call.

    Raises:
        TypeError: module is not a Module.
        RuntimeError: With strict, the names do not match.
        ValueError: A name is given several times, or different tensors for tied weights.

    >>> layer = pyburn.nn.Linear(2, 1, bias=False)
    >>> pyburn.func.functional_call(layer, {"weight": pyburn.ones(1, 2)}, (pyburn.ones(2),))
    tensor([2.])
    """
    if not isinstance(module, Module):
        raise TypeError(f"expected a Module: got {type(module).__name__}")
    tensors = _joined(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _joined(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}")
    joined: dict[str, Tensor] = {}
    for part in dicts:
        if repeated := [key for key in part if key in joined]:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        joined.update(part)
    return joined


@contextmanager
def _replaced(module: Any, tensors: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    if strict:
        _check_names(module, tensors)
    if tie_weights:
        tensors = _tied(module, tensors)
    entries = {name: _entry(module, name) for name in tensors}
    changed = []
    try:
        for name, tensor in tensors.items():
            owner, entry = entries[name]
            changed.append((owner, entry))
            # As a buffer: it may be any tensor, including one with a gradient history.
            owner._pb_put(entry[0], BUFFER, tensor, entry[3])
        yield
    finally:
        for owner, entry in reversed(changed):
            if entry[1] == _ABSENT:
                owner._pb_erase(entry[0])
            else:
                owner._pb_put(*entry)


def _named_tensors(module: Any) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]


def _check_names(module: Any, tensors: dict[str, Tensor]) -> None:
    own = [name for name, _ in _named_tensors(module)]
    problems = []
    for what, keys in (("Unexpected", [k for k in tensors if k not in own]), ("Missing", [k for k in own if k not in tensors])):
        if keys:
            problems.append(f"\n\t{what} key(s): {', '.join(map(repr, sorted(keys)))}.")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:{''.join(problems)}")


def _tied(module: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Adds all names of tied tensors that are given under one of their names."""
    by_tensor: dict[int, list[str]] = {}
    for name, tensor in _named_tensors(module):
        by_tensor.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for names in by_tensor.values():
        given = [name for name in names if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. Consider using tie_weights=False"
            )
        if given:
            result.update(dict.fromkeys(names, tensors[given[0]]))
    return result


def _entry(module: Any, name: str) -> tuple[Any, tuple]:
    path, _, leaf = name.rpartition(".")
    owner = module.get_submodule(path)
    for entry in owner._pb_entries():
        if entry[0] == leaf and not isinstance(entry[2], Module):
            return owner, entry
    if hasattr(owner, leaf):
        raise TypeError(f"{name}: expected a parameter or buffer, got {type(getattr(owner, leaf)).__name__}")
    return owner, (leaf, _ABSENT, None, False)  # unknown names are set during the call, as in PyTorch
