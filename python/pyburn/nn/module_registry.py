"""The dicts `_parameters`, `_buffers` and `_modules` of a module, as mutable views of the C++ registry."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, MutableMapping, ValuesView
from typing import Any

PARAMETER, BUFFER, MODULE = 0, 1, 2  # nn::Entry::Kind


class RegistryView(MutableMapping[str, Any]):
    """View of the entries of one kind, by name. Writes go to the module, without the checks of attribute assignment."""

    def __init__(self, module: Any, kind: int) -> None:
        self._module = module
        self._kind = kind

    def _as_dict(self) -> dict[str, Any]:
        return {name: value for name, _, value, _ in self._module._pb_entries(self._kind)}

    def __getitem__(self, name: str) -> Any:
        return self._as_dict()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        persistent = {name: kept for name, _, _, kept in self._module._pb_entries(self._kind)}
        self._module._pb_put(name, self._kind, value, persistent.get(name, True))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._module._pb_erase(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._as_dict())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._as_dict())

    # Views of a snapshot: the registry may be changed during iteration, and they are reversible.
    def keys(self) -> KeysView[str]:
        return self._as_dict().keys()

    def items(self) -> ItemsView[str, Any]:
        return self._as_dict().items()

    def values(self) -> ValuesView[Any]:
        return self._as_dict().values()

    def copy(self) -> dict[str, Any]:
        return self._as_dict()

    def __len__(self) -> int:
        return len(self._module._pb_entries(self._kind))

    def __repr__(self) -> str:
        return repr(self._as_dict())
