"""The Learner behind `compile`, `fit`, `evaluate` and `predict`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from pyburn._nested import mapped
from pyburn.train import Callback, Learner, Step

from .batches import Batch, Batches
from .callbacks.adapter import KerasCallbacks
from .symbolic.symbol import mode
from .weights import as_array, is_frozen


class ModelLearner(Learner):
    """Runs the steps of a model: `train_step`, `test_step` and `predict_step`, which update the weights and the metrics themselves.

    Args:
        model: The model.
        callbacks: Callbacks of p_vision or of pyburn.train.
        params: The options of `fit`, for the callbacks.
        class_weight: The weights of the classes, by label.
    """

    def __init__(self, model: Any, callbacks: Iterable[Any], params: Any = None, class_weight: Any = None) -> None:
        given = list(callbacks)
        for callback in given:
            if not isinstance(callback, Callback) and (isinstance(callback, type) or not hasattr(callback, "set_model")):
                hint = f"; create an object: {callback.__name__}()" if isinstance(callback, type) else ""
                raise TypeError(f"[fit] callbacks are objects of classes that derive from Callback: got {callback!r}{hint}")
        own = [callback for callback in given if isinstance(callback, Callback)]
        self.events = _ModelCallbacks([callback for callback in given if callback not in own], params or {})
        self.class_weight = class_weight
        super().__init__(model, model.optimizer, step=self._run, callbacks=[self.events, *own], on_nan="ignore")
        self.has_loss = False  # the logs of the steps have it

    def _run(self, model: Any, batch: Batch) -> Step:
        logs = model.run_step(model.train_step if self.state.split == "train" else model.test_step, *batch)
        self.optimizer = model.optimizer  # a model that is not compiled gets one with its first targets
        return Step(None, count=1, updated=True, running=logs)

    def place(self, batch: Batch) -> Batch:
        return self.model.prepared(*batch, self.class_weight if self.state.split == "train" else None)

    def output_of(self, model: Any, batch: Batch) -> Any:
        return mapped(as_array, model.predict_step(batch[:1]))

    def start_training(self) -> None:
        """Does nothing: the mode is set for each epoch, after the callbacks have frozen or thawed layers."""


class _ModelCallbacks(KerasCallbacks):
    """The callbacks of a model, which run in inference mode between the passes over the data."""

    def __init__(self, callbacks: Any, params: dict[str, Any]) -> None:
        super().__init__(callbacks, params)
        self._mode = contextlib.ExitStack()

    def model_of(self, learner: Any) -> Any:
        return learner.model

    def on_fit_start(self, learner: Any) -> None:
        super().on_fit_start(learner)
        learner.state.done = learner.model.initial_epoch  # BackupAndRestore may have changed it

    def on_epoch_start(self, learner: Any) -> None:
        super().on_epoch_start(learner)
        learner.model.reset_metrics()
        self._mode.enter_context(training_mode(learner.model))

    def on_validation_start(self, learner: Any) -> None:
        self._mode.close()
        learner.model.reset_metrics()
        super().on_validation_start(learner)

    def on_epoch_end(self, learner: Any) -> None:
        self._mode.close()
        super().on_epoch_end(learner)

    def on_fit_end(self, learner: Any) -> None:
        self._mode.close()
        if not self._failed and learner.optimizer is not None and learner.optimizer.use_ema:
            learner.optimizer.finalize_variable_values(learner.model.trainable_weights)
        super().on_fit_end(learner)


@contextlib.contextmanager
def training_mode(model: Any) -> Iterator[None]:
    """Training mode, except for frozen normalization layers, which use their moving averages as in Keras."""
    with mode(model, True):
        for module in model.modules():
            if is_frozen(module) and any(True for _ in module.buffers(recurse=False)):
                module.training = False
        yield


class Passes:
    """Batches limited to a number of steps per pass.

    Args:
        source: The batches.
        steps: The number of batches per pass; None for all.
        goes_on: Whether a pass begins where the last one ended, as an epoch of `steps_per_epoch` batches does.
    """

    def __init__(self, source: Batches, steps: int | None, goes_on: bool = False) -> None:
        self.source, self.steps = source, steps
        self._endless = _endless(source) if goes_on and steps is not None else None

    def __len__(self) -> int:
        count = self.steps if self.steps is not None else self.source.steps
        if count is None:
            raise TypeError("the number of batches is unknown")
        return count

    def __iter__(self) -> Iterator[Batch]:
        return itertools.islice(self.source if self._endless is None else self._endless, self.steps)


def _endless(source: Batches) -> Iterator[Batch]:
    batch = None
    while True:
        for batch in source:
            yield batch
        if batch is None:
            return
        batch = None
