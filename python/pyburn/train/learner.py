"""Learner: trains, evaluates and runs a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from .._core import Tensor
from .arguments import check_batches, check_optimizer
from .callbacks import Callback, CallbackList, adapted
from .checkpoints import Best, CheckpointFolder, Entry, Last, Rule
from .errors import TrainingError
from .evaluation import Evaluation
from .history import History
from .interrupt import StopRequest
from .losses import loss_from
from .metrics import Metric, metrics_from
from .run import Run
from .schedules import advances_per_step, schedule_state
from .state import TrainingState
from .steps import StepFunction, supervised_step
from .updates import Updater


class Learner(Evaluation):
    """Trains, validates and runs a model.

    Args:
        model: The module to train.
        optimizer: Its optimizer; only `fit` needs one.
        lr_scheduler: A learning-rate schedule. A schedule whose `step` takes a metric (ReduceLROnPlateau) gets the value of `monitor`.
        loss: Called as `loss(output, target)`, where the output is the model's result for all but the last item of a batch and the target
            is the last item; or a class of losses such as nn.MSELoss, or a name such as "mse" or "cross_entropy".
        metrics: Metrics or their names, as a list or as a dict by name.
        callbacks: Callbacks for all calls of fit.
        step: Replaces model call and loss: `step(model, batch)` returns the loss or a `Step`.
        device: The device that batches are moved to.
        schedule: When to advance the schedule: "epoch" or "step". By default after each step if it has `per_step = True` (OneCycleLR,
            CyclicLR, NoamLR), else after each epoch.
        monitor: The name of the value for schedules that take a metric.
        accumulate: The number of batches per optimizer step (gradient accumulation).
        clip_norm: The maximum norm of the gradients.
        clip_value: The maximum absolute value of gradient elements.
        precision: "float32", or "bfloat16" or "float16" for mixed precision.
        scaler: A GradScaler; with float16 one is created by default.
        ema: A decay, or an AveragedModel: keeps an exponential moving average of the weights, which validation and prediction use.
        on_nan: What to do if the loss is not finite: "raise", "skip" (skip the batch) or "ignore". With "raise", losses are read when they
            are shown, and steps after a bad loss have no effect until then. With "skip" the loss of each batch is read.
        compile: Whether to run the batches as compiled steps, with the same results; see pyburn.compile. Hooks are called before and after
            a batch, not within it.

    Raises:
        ValueError: An option has an unknown value.

    >>> _ = pyburn.manual_seed(0)
    >>> x = pyburn.rand(64, 2); data = [(x[i:i + 16], x[i:i + 16].sum(1, keepdim=True)) for i in range(0, 64, 16)]
    >>> model = pyburn.nn.Linear(2, 1)
    >>> learner = pyburn.train.Learner(model, pyburn.optim.Adam(model.parameters(), lr=0.1), loss=pyburn.nn.MSELoss(), metrics=["mae"])
    >>> history = learner.fit(data, data, epochs=60, display="quiet")
    >>> learner.evaluate(data)["mae"] < 0.05
    True
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any = None,
        lr_scheduler: Any = None,
        loss: Callable[..., Tensor] | str | None = None,
        metrics: Any = (),
        *,
        callbacks: Sequence[Callback] = (),
        step: StepFunction | None = None,
        device: Any = None,
        schedule: str | None = None,
        monitor: str | None = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: Any = None,
        scaler: Any = None,
        ema: Any = None,
        on_nan: str = "raise",
        compile: bool = False,
    ) -> None:
        if schedule not in ("epoch", "step", None):
            raise ValueError(f"[Learner] schedule must be 'epoch' or 'step': got {schedule!r}")
        if on_nan not in ("raise", "skip", "ignore"):
            raise ValueError(f"[Learner] on_nan must be 'raise', 'skip' or 'ignore': got {on_nan!r}")
        if not callable(model) or hasattr(model, "param_groups"):
            raise TypeError(f"[Learner] model must be a module: got {type(model).__name__}; the order is Learner(model, optimizer, ...)")
        if device is not None:
            model.to(device)
        self.model, self.optimizer, self.lr_scheduler, self.device = model, optimizer, lr_scheduler, device
        self.compile = compile
        per_step = schedule == "step" if schedule else advances_per_step(lr_scheduler)
        self.schedule, self.monitor, self.on_nan = "step" if per_step else "epoch", monitor, on_nan
        self.step_function = step if step is not None else supervised_step(loss_from(loss))
        self.has_loss = step is not None or loss is not None
        self._own_step = step is not None
        self.metrics: dict[str, Metric] = metrics_from(metrics)
        self.callbacks = adapted(callbacks)
        options = {"accumulate": accumulate, "clip_norm": clip_norm, "clip_value": clip_value}
        self.updater = Updater(model, optimizer, precision=precision, scaler=scaler, ema=ema, **options)  # type: ignore[arg-type]
        self.state = TrainingState()
        self.history = History()
        self.run: Run | None = None
        self.checkpoints: CheckpointFolder | None = None
        self.hooks = CallbackList(self.callbacks)
        self.stop_request = StopRequest()
        self.paused = False
        self.higher_is_better = {
            "loss": False,
            **{n: bool(m.higher_is_better) for n, m in self.metrics.items() if m.higher_is_better is not None},
        }
        self.history.higher_is_better = self.higher_is_better

    # --- training ----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Iterable[Any],
        valid_data: Iterable[Any] | None = None,
        epochs: int | None = 1,
        *,
        max_steps: int | None = None,
        run: str | os.PathLike[str] | Run | None = None,
        config: Any = None,
        checkpoints: Sequence[Rule] | None = None,
        resume: bool | str | os.PathLike[str] = False,
        validate_every: int | Collection[int] = 1,
        log_every: int = 10,
        display: Any = "auto",
        resume_with: str | None = None,
        overwrite: bool = False,
    ) -> History:
        """Trains until `epochs` or `max_steps` are reached, counting those of a resumed run.

        The first Ctrl-C finishes the step, saves a checkpoint and returns, and `history.stopped` gives the reason. A second one stops
        immediately.

        Args:
            train_data: An iterable of training batches.
            valid_data: An iterable of validation batches.
            epochs: The total number of epochs; None for no limit.
            max_steps: The total number of optimizer steps; None for no limit.
            run: A Run or the folder to log to; see docs/guides/runs.md. If the folder already holds a run, the first free one of folder-2,
                folder-3, ... is used; `learner.run.folder` says which.
            config: The configuration that is saved with the run; by default a summary of model, optimizer and options.
            checkpoints: Rules for the checkpoints in the run folder; by default the last one and the best one by validation loss.
            resume: True resumes from the newest checkpoint in the run folder, if there is one, with bit-identical results to an
                uninterrupted run. A path resumes from that file.
            validate_every: Validate every this many epochs and after the last one; or a collection of the epochs to validate after.
            log_every: Log every this many steps.
            display: "auto", "dashboard", "bar", "lines", "quiet" or a callback.
            resume_with: The text shown to tell the user how to resume.
            overwrite: Whether to delete the run that the folder holds, instead of choosing a numbered folder.

        Returns:
            The history of all epochs.

        Raises:
            TrainingError: There is no optimizer, or it was made for another model.
            TypeError: The data is a data set of single samples, rather than of batches.
            ValueError: An argument has an invalid value, or the data has no batches.
            NonFiniteLoss: The loss became NaN or infinite and on_nan is "raise".
            CheckpointError: A checkpoint could not be read, or the final one not be written.
            RunInUseError: Another process writes to the run folder.
        """
        from .fit_loop import FitLoop

        if self.optimizer is not None or not self._own_step:  # a step may update the weights itself
            check_optimizer(self.model, self.optimizer)
        check_batches(train_data, "train_data")
        check_batches(valid_data, "valid_data")
        if epochs is None and max_steps is None:
            raise ValueError("[fit] give epochs or max_steps")
        for name, limit in (("epochs", epochs), ("max_steps", max_steps)):
            if limit is not None and (not isinstance(limit, int) or limit < 0):
                raise ValueError(f"[fit] {name} must be a non-negative integer: got {limit!r}")
        if resume and run is None and resume is True:
            raise ValueError("[fit] resume=True needs the folder of a run: fit(..., run='runs/name', resume=True)")
        loop = FitLoop(
            self,
            train_data,
            valid_data,
            epochs=epochs,
            max_steps=max_steps,
            validate_every=validate_every,
            log_every=log_every,
            resume_with=resume_with,
        )
        rules = checkpoints if checkpoints is not None else [Last(), Best("valid/loss")]
        loop.record.open(run, config, rules, resume, overwrite)
        try:
            return loop.fit(display)
        finally:
            if self.run is not None:
                self.run.close()  # also if fit failed before the run was finished

    def start_training(self) -> None:
        """Sets the mode of the model before the first epoch; a subclass may override it."""
        self.model.train()

    def stop(self, reason: str = "stopped") -> None:
        """Stops training after the current step.

        Args:
            reason: The reason, which is recorded in the run.
        """
        self.stop_request.request(reason)

    def tell(self, text: str) -> None:
        """Sends a message to the user: to the display and to the log of the run.

        Args:
            text: The message.
        """
        self.hooks.call("on_message", self, text)
        if self.run is not None:
            self.run.write(text)

    def find_lr(self, data: Iterable[Any], **options: Any) -> Any:
        """Runs a learning-rate range test; see `pyburn.train.find_lr`. Model and optimizer are restored afterwards.

        Args:
            data: The training batches.
            **options: Options of `pyburn.train.find_lr`.

        Returns:
            An LrFinding with the rates, the losses and a suggestion.
        """
        from .lr_finder import find_lr

        return find_lr(self, data, **options)

    # --- checkpoints -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of model, optimizer, schedule, scaler, averaged model and callbacks."""
        return {
            "model": dict(self.model.state_dict()),
            **self.updater.state_dict(),
            "scheduler": schedule_state(self.lr_scheduler),
            "callbacks": self.hooks.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state from `state_dict`.

        Args:
            state: A state from `state_dict`.

        Raises:
            ValueError: Only one of the state and this Learner has a learning-rate schedule.
        """
        if (self.lr_scheduler is None) != (state["scheduler"] is None):
            there = "without" if state["scheduler"] is None else "with"
            raise ValueError(f"[resume] the checkpoint was saved {there} a learning-rate schedule, unlike this Learner")
        self.model.load_state_dict(state["model"])
        self.updater.load_state_dict(state)
        if state["scheduler"]:
            self.lr_scheduler.load_state_dict(state["scheduler"])
        self.hooks.load_state_dict(state["callbacks"])

    def load_best(self, metric: str = "valid/loss") -> Entry:
        """Loads the weights of the best checkpoint of the run into the model.

        Args:
            metric: The name of the metric to compare by.

        Returns:
            The index entry of the checkpoint.

        Raises:
            TrainingError: No checkpoint has a value for the metric.
        """
        entry = self.checkpoints.best(metric) if self.checkpoints is not None else None
        if entry is None or self.checkpoints is None:
            raise TrainingError(f"[load_best] no checkpoint with a value of {metric!r}: fit needs a run and the rule Best({metric!r})")
        state = self.checkpoints.load(entry)
        self.model.load_state_dict(state["model"])
        if self.updater.ema is not None:
            self.updater.ema.load_state_dict(state["ema"])
        return entry
