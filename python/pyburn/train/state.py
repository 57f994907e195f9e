"""Where training is, and the latest numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core import Tensor
    from .checkpoints import Entry
    from .steps import Step


class Values(MutableMapping[str, float]):
    """Numbers by name, such as "valid/accuracy". Some are functions that read them from the device, called when somebody asks.

    >>> values = pyburn.train.state.Values()
    >>> values["lr"] = lambda: 0.5
    >>> values["lr"]
    0.5
    """

    def __init__(self) -> None:
        self._entries: dict[str, float | Callable[[], float]] = {}

    def __getitem__(self, name: str) -> float:
        entry = self._entries[name]
        return entry() if callable(entry) else entry

    def __setitem__(self, name: str, value: float | Callable[[], float]) -> None:
        self._entries[name] = value

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass
class TrainingState:
    """Where training is."""

    epoch: int = 1
    epochs: int | None = None
    batch: int = 0  # of this epoch, those that are done
    batches: int | None = None
    step: int = 0  # updates of the weights
    split: str = "train"
    inputs: Any = None  # the batch
    result: Step | None = None
    loss_tensor: Tensor | None = None  # of the batch, where it was computed
    values: Values = field(default_factory=Values)  # the latest of everything
    validates: bool = False  # whether some epochs are validated
    validated: bool = False  # whether this one was
    tables: dict[str, Any] = field(default_factory=dict)
    checkpoint: Entry | None = None
    seconds: float = 0.0  # of this call of fit

    @property
    def loss(self) -> float:
        """The loss of the batch. Reading it waits for the device: `loss_tensor` does not."""
        return math.nan if self.loss_tensor is None else float(self.loss_tensor)
