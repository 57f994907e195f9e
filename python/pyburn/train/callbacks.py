"""Callbacks: what else should happen, and when."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .learner import Learner

HOOKS = (
    "on_fit_start",
    "on_fit_end",
    "on_epoch_start",
    "on_epoch_end",
    "on_batch_start",
    "on_forward_end",
    "on_backward_end",
    "on_batch_end",
    "on_step_start",
    "on_step_end",
    "on_validation_start",
    "on_validation_batch_end",
    "on_validation_end",
    "on_checkpoint",
    "on_message",
    "on_error",
)


class Callback:
    """Override what you need. `learner.state` says where training is; `learner.stop(reason)` ends it after the step.

    >>> class Printer(pyburn.train.Callback):
    ...     def on_epoch_end(self, learner):
    ...         print(learner.state.epoch, learner.state.values["train/loss"])
    """

    def on_fit_start(self, learner: Learner) -> None:
        """Before the first epoch, after a resume."""

    def on_fit_end(self, learner: Learner) -> None:
        """At the end, whatever the reason."""

    def on_epoch_start(self, learner: Learner) -> None: ...

    def on_epoch_end(self, learner: Learner) -> None:
        """After validation: `state.values` has everything of this epoch."""

    def on_batch_start(self, learner: Learner) -> None:
        """`state.inputs` is the batch."""

    def on_forward_end(self, learner: Learner) -> None:
        """`state.result` is the Step, `state.loss` its loss; reading it waits for the device, `state.loss_tensor` does not."""

    def on_backward_end(self, learner: Learner) -> None:
        """Gradients of this batch were added."""

    def on_batch_end(self, learner: Learner) -> None:
        """The metrics have seen the batch; the weights may not have been updated yet."""

    def on_step_start(self, learner: Learner) -> None:
        """Gradients are complete and clipped."""

    def on_step_end(self, learner: Learner) -> None:
        """The weights were updated."""

    def on_validation_start(self, learner: Learner) -> None: ...

    def on_validation_batch_end(self, learner: Learner) -> None: ...

    def on_validation_end(self, learner: Learner) -> None: ...

    def on_checkpoint(self, learner: Learner) -> None:
        """`state.checkpoint` was written."""

    def on_message(self, learner: Learner, text: str) -> None:
        """Something to tell the user."""

    def on_error(self, learner: Learner, error: BaseException) -> None:
        """Before an exception leaves fit."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed training needs to know."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class CallbackList:
    """Calls a hook of all that have it; those that left it as it was cost nothing."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"[Learner] callbacks are subclasses of pyburn.train.Callback: got {callback!r}")
        self.functions = {
            hook: [getattr(c, hook) for c in self.callbacks if getattr(type(c), hook) is not getattr(Callback, hook)] for hook in HOOKS
        }

    def call(self, hook: str, *args: Any) -> None:
        for function in self.functions[hook]:
            function(*args)

    def state_dict(self) -> list[dict[str, Any]]:
        return [{"type": type(c).__name__, "state": c.state_dict()} for c in self.callbacks]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """By type and order: a callback that is new starts fresh, one that is gone is left out."""
        waiting = list(states)
        for callback in self.callbacks:
            found = next((s for s in waiting if s["type"] == type(callback).__name__), None)
            if found is not None:
                waiting.remove(found)
                callback.load_state_dict(found["state"])


def better(new: float, old: float, higher: bool, by: float = 0.0) -> bool:
    """NaN is worse than anything."""
    if math.isnan(new):
        return False
    return math.isnan(old) or (new > old + by if higher else new < old - by)


def value_of_epoch(learner: Learner, metric: str, asked_by: str) -> float | None:
    """What an epoch that has ended gave; None for a figure of validation where this epoch, other than some, was not validated."""
    state = learner.state
    if metric.startswith("valid/") and state.validates and not state.validated:
        return None
    if metric not in state.values:
        raise KeyError(f"[{asked_by}] there is no {metric!r}: there are {', '.join(state.values)}")
    return state.values[metric]


def wants_higher(learner: Learner, metric: str) -> bool:
    """From the metric itself; what is unknown is taken for a loss."""
    return bool(learner.higher_is_better.get(metric.rpartition("/")[2]))


class EarlyStopping(Callback):
    """Stops when `metric` has not improved by more than `min_delta` for `patience` epochs; the first `warmup` epochs do not count, nor do
    those that are not validated, for a figure of validation.

    `mode` is "min", "max" or None: as the metric says. With `restore_best` the weights of the best epoch are put back at the end.

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
        self._average: dict[str, Any] | None = None  # of weights, which is what was validated where there is one

    def on_fit_start(self, learner: Learner) -> None:
        if not learner.state.step:  # a training that begins, not one that is resumed
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
    """Calls functions at hooks, without a class.

    >>> callback = pyburn.train.When(on_epoch_end=lambda learner: print(learner.state.values))
    """

    def __init__(self, **hooks: Callable[..., Any]) -> None:
        for name, function in hooks.items():
            if name not in HOOKS:
                raise ValueError(f"[When] no hook is called {name!r}: there are {', '.join(HOOKS)}")
            setattr(self, name, function)
        # CallbackList looks at the class, so each object gets one of its own.
        self.__class__ = type("When", (When,), {name: staticmethod(function) for name, function in hooks.items()})


class Samples(Callback):
    """Writes examples to the run after validation: `make(model)` gives the list for `Run.log_samples`."""

    def __init__(self, make: Callable[[Any], Sequence[dict[str, Any]]], every: int = 1) -> None:
        self.make, self.every = make, every

    def on_validation_end(self, learner: Learner) -> None:
        state = learner.state
        if learner.run is not None and state.epoch % self.every == 0:
            with learner.evaluating() as model:
                learner.run.log_samples(self.make(model), step=state.step, epoch=state.epoch)
