"""The current position in training, and the latest values."""

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
    """Values by name, such as "valid/accuracy". A value may be a function, called on access, that reads it from the device.

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
    """The current position in training.

    Attributes:
        epoch: The current epoch, from 1.
        epochs: The total number of epochs, if known.
        batch: The number of completed batches of this epoch.
        batches: The number of batches per epoch, if known.
        step: The number of optimizer steps.
        split: "train" or "valid".
        inputs: The current batch.
        result: The Step of the current batch.
        loss_tensor: The loss of the current batch, on its device.
        values: The latest values by name.
        validates: Whether fit has validation data.
        validated: Whether the current epoch was validated.
        tables: The latest results that are not numbers.
        checkpoint: The latest checkpoint.
        seconds: The duration of this call of fit.
        done: The number of completed epochs.
        epoch_over: Set to True to end the epoch after this batch, as if the data had ended.
        running: Returns the loss and the metrics over the current pass so far. Calling it synchronizes with the device.

    >>> pyburn.train.TrainingState().step
    0
    """

    epoch: int = 1
    epochs: int | None = None
    batch: int = 0
    batches: int | None = None
    step: int = 0
    split: str = "train"
    inputs: Any = None
    result: Step | None = None
    loss_tensor: Tensor | None = None
    values: Values = field(default_factory=Values)
    validates: bool = False
    validated: bool = False
    tables: dict[str, Any] = field(default_factory=dict)
    checkpoint: Entry | None = None
    seconds: float = 0.0
    done: int = 0
    epoch_over: bool = False
    running: Callable[[], dict[str, float]] = dict

    @property
    def loss(self) -> float:
        """The loss of the current batch. Reading it synchronizes with the device; `loss_tensor` does not."""
        return math.nan if self.loss_tensor is None else float(self.loss_tensor)
