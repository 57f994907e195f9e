"""Callbacks: code that runs at fixed points of the training loop."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .learner import Learner


class Callback:
    """Base class of callbacks. Override the hooks that you need.

    `learner.state` holds the current position and values; `learner.stop(reason)` stops training after the current step.

    >>> class Printer(pyburn.train.Callback):
    ...     def on_epoch_end(self, learner):
    ...         print(learner.state.epoch, learner.state.values["train/loss"])
    """

    def on_fit_start(self, learner: Learner) -> None:
        """Called before the first epoch, after a checkpoint has been restored.

        Args:
            learner: The Learner that trains.
        """

    def on_fit_end(self, learner: Learner) -> None:
        """Called when fit ends, for whatever reason.

        Args:
            learner: The Learner that trains.
        """

    def on_epoch_start(self, learner: Learner) -> None: ...

    def on_epoch_end(self, learner: Learner) -> None:
        """Called after validation: `state.values` has all values of this epoch.

        Args:
            learner: The Learner that trains.
        """

    def on_batch_start(self, learner: Learner) -> None:
        """Called before the forward pass: `state.inputs` is the batch.

        Args:
            learner: The Learner that trains.
        """

    def on_forward_end(self, learner: Learner) -> None:
        """Called after the forward pass: `state.result` is the Step, `state.loss` its loss.

        Reading `state.loss` synchronizes with the device; `state.loss_tensor` does not.

        Args:
            learner: The Learner that trains.
        """

    def on_backward_end(self, learner: Learner) -> None:
        """Called after the backward pass has added the gradients of this batch.

        Args:
            learner: The Learner that trains.
        """

    def on_batch_end(self, learner: Learner) -> None:
        """Called after the metrics were updated; with accumulation, the weights may not have been updated yet.

        Args:
            learner: The Learner that trains.
        """

    def on_step_start(self, learner: Learner) -> None:
        """Called before an optimizer step: the gradients are accumulated and clipped.

        Args:
            learner: The Learner that trains.
        """

    def on_step_end(self, learner: Learner) -> None:
        """Called after the optimizer updated the weights.

        Args:
            learner: The Learner that trains.
        """

    def on_validation_start(self, learner: Learner) -> None: ...

    def on_validation_batch_start(self, learner: Learner) -> None: ...

    def on_validation_batch_end(self, learner: Learner) -> None: ...

    def on_validation_end(self, learner: Learner) -> None: ...

    def on_predict_start(self, learner: Learner) -> None: ...

    def on_predict_batch_start(self, learner: Learner) -> None: ...

    def on_predict_batch_end(self, learner: Learner) -> None:
        """Called after a batch of `predict`: `state.result.output` is the prediction.

        Args:
            learner: The Learner.
        """

    def on_predict_end(self, learner: Learner) -> None: ...

    def on_checkpoint(self, learner: Learner) -> None:
        """Called after the checkpoint `state.checkpoint` was written.

        Args:
            learner: The Learner that trains.
        """

    def on_message(self, learner: Learner, text: str) -> None:
        """Called with a message for the user.

        Args:
            learner: The Learner that trains.
            text: The message.
        """

    def on_error(self, learner: Learner, error: BaseException) -> None:
        """Called before an exception leaves fit.

        Args:
            learner: The Learner that trains.
            error: The exception.
        """

    def state_dict(self) -> dict[str, Any]:
        """Returns the state that is saved in checkpoints and restored on resume."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


HOOKS = tuple(name for name in vars(Callback) if name.startswith("on_"))


def adapted(callbacks: Sequence[Any]) -> list[Any]:
    """Replaces callbacks of another interface, such as Keras's, by their adapters.

    The attribute `learner_adapter` of such a callback is a subclass of Callback that is created with all callbacks of its kind.
    """
    kinds = {id(kind): kind for kind in (getattr(type(c), "learner_adapter", None) for c in callbacks) if kind is not None}
    adapters = [kind([c for c in callbacks if getattr(type(c), "learner_adapter", None) is kind]) for kind in kinds.values()]
    return [*(c for c in callbacks if getattr(type(c), "learner_adapter", None) is None), *adapters]


class CallbackList:
    """Calls the hooks of several callbacks. Hooks that a callback does not override cost nothing.

    Args:
        callbacks: The callbacks, in the order in which they are called.

    Raises:
        TypeError: An item is not a Callback.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"[Learner] callbacks are subclasses of pyburn.train.Callback: got {callback!r}")
        self.functions = {
            hook: [getattr(c, hook) for c in self.callbacks if getattr(type(c), hook) is not getattr(Callback, hook)] for hook in HOOKS
        }

    def call(self, hook: str, *args: Any) -> None:
        """Calls a hook of all callbacks that override it."""
        for function in self.functions[hook]:
            function(*args)

    def state_dict(self) -> list[dict[str, Any]]:
        """Returns the states of the callbacks with their type names."""
        return [{"type": type(c).__name__, "state": c.state_dict()} for c in self.callbacks]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Restores callbacks, matched by type and order. New callbacks start fresh; states without a callback are ignored."""
        waiting = list(states)
        for callback in self.callbacks:
            found = next((s for s in waiting if s["type"] == type(callback).__name__), None)
            if found is not None:
                waiting.remove(found)
                callback.load_state_dict(found["state"])


def better(new: float, old: float, higher: bool, by: float = 0.0) -> bool:
    """Returns whether `new` improves on `old` by more than `by`. NaN is worse than any number."""
    if math.isnan(new):
        return False
    return math.isnan(old) or (new > old + by if higher else new < old - by)


def value_of_epoch(learner: Learner, metric: str, asked_by: str) -> float | None:
    """Returns the value of a metric after an epoch.

    Returns:
        The value, or None if the metric starts with "valid/" and this epoch was not validated (see `validate_every`).

    Raises:
        KeyError: There is no metric of that name.
    """
    state = learner.state
    if metric.startswith("valid/") and state.validates and not state.validated:
        return None
    if metric not in state.values:
        raise KeyError(f"[{asked_by}] there is no {metric!r}: there are {', '.join(state.values)}")
    return state.values[metric]


def wants_higher(learner: Learner, metric: str) -> bool:
    """Returns whether higher values of a metric are better; False (as for a loss) if the metric is unknown."""
    return bool(learner.higher_is_better.get(metric.rpartition("/")[2]))


class EarlyStopping(Callback):
    """Stops training when a metric has stopped improving.

    Args:
        metric: The name of the monitored value, such as "valid/loss".
        patience: The number of epochs without improvement after which training stops.
        min_delta: The smallest change that counts as an improvement.
        warmup: The number of first epochs that do not count towards the patience.
        mode: "min", "max", or None to use the direction of the metric.
        restore_best: Whether to restore the weights of the best epoch at the end.

    Epochs without validation are ignored when the metric is one of the validation set.

    Raises:
        ValueError: patience is not a positive int, or mode is unknown.

    >>> pyburn.train.EarlyStopping("valid/accuracy", patience=5).patience
    5
    """

    def __init__(
        self,
        metric: str = "valid/loss",
        patience: int = 3,
        *,
        min_delta: float = 0.0,
        warmup: int = 0,
        mode: str | None = None,
        restore_best: bool = False,
    ) -> None:
        if not isinstance(patience, int) or patience < 1:
            raise ValueError(f"[EarlyStopping] patience must be a positive number: got {patience!r}")
        if mode not in ("min", "max", None):
            raise ValueError(f"[EarlyStopping] mode must be 'min', 'max' or None: got {mode!r}")
        self.metric, self.patience, self.min_delta, self.warmup, self.mode = metric, patience, min_delta, warmup, mode
        self.restore_best = restore_best
        self._forget()

    def _forget(self) -> None:
        self.best, self.best_epoch, self.waited = math.nan, 0, 0
        self._weights: dict[str, Any] | None = None
        self._average: dict[str, Any] | None = None  # averaged weights (EMA): they are what validation uses

    def on_fit_start(self, learner: Learner) -> None:
        if not learner.state.step:  # a new run, not a resumed one
            self._forget()

    def on_epoch_end(self, learner: Learner) -> None:
        state, value = learner.state, value_of_epoch(learner, self.metric, "EarlyStopping")
        if value is None:
            return
        higher = wants_higher(learner, self.metric) if self.mode is None else self.mode == "max"
        if better(value, self.best, higher, self.min_delta):
            self.best, self.best_epoch, self.waited = value, state.epoch, 0
            if self.restore_best:
                self._weights = copy.deepcopy(dict(learner.model.state_dict()))
                average = learner.updater.ema
                self._average = None if average is None else copy.deepcopy(dict(average.state_dict()))
        elif state.epoch > self.warmup:
            self.waited += 1
            if self.waited >= self.patience:
                learner.stop(f"{self.metric} has not improved for {self.patience} epochs (best {self.best:.5g} in epoch {self.best_epoch})")

    def on_fit_end(self, learner: Learner) -> None:
        if self._weights is not None:
            learner.model.load_state_dict(self._weights)
        if self._average is not None and learner.updater.ema is not None:
            learner.updater.ema.load_state_dict(self._average)

    def state_dict(self) -> dict[str, Any]:
        figures = {"best": self.best, "best_epoch": self.best_epoch, "waited": self.waited}
        return {**figures, "weights": self._weights, "average": self._average}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.best_epoch, self.waited, self._weights = state["best"], state["best_epoch"], state["waited"], state["weights"]
        self._average = state.get("average")


class When(Callback):
    """Creates a callback from functions, without a subclass.

    Args:
        **hooks: Functions by the name of the hook that calls them.

    Raises:
        ValueError: A name is not the name of a hook.

    >>> callback = pyburn.train.When(on_epoch_end=lambda learner: print(learner.state.values))
    """

    def __init__(self, **hooks: Callable[..., Any]) -> None:
        for name, function in hooks.items():
            if name not in HOOKS:
                raise ValueError(f"[When] no hook is called {name!r}: there are {', '.join(HOOKS)}")
            setattr(self, name, function)
        # CallbackList checks which hooks the class overrides, so each instance gets its own class.
        self.__class__ = type("When", (When,), {name: staticmethod(function) for name, function in hooks.items()})


class Samples(Callback):
    """Logs example predictions to the run after validation.

    Args:
        make: Called with the model in evaluation mode; returns the list of samples for `Run.log_samples`.
        every: Log every this many epochs.

    >>> samples = pyburn.train.Samples(lambda model: [{"input": "a", "output": "b"}], every=5)
    """

    def __init__(self, make: Callable[[Any], Sequence[dict[str, Any]]], every: int = 1) -> None:
        self.make, self.every = make, every

    def on_validation_end(self, learner: Learner) -> None:
        state = learner.state
        if learner.run is not None and state.epoch % self.every == 0:
            with learner.evaluating() as model:
                learner.run.log_samples(self.make(model), step=state.step, epoch=state.epoch)
