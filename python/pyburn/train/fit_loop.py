"""The training loop behind `Learner.fit`: epochs of batches, with checkpoints, logging and stop requests."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from .callbacks import CallbackList, value_of_epoch
from .compiled_batches import CompiledBatches, compiled_batches
from .displays import display_for
from .errors import CheckpointError, NonFiniteLoss, TrainingError, ValidationLeft
from .fit_record import FitRecord
from .history import History
from .loader_position import EpochData, length_of
from .metrics import Metric
from .non_finite import BadLoss, LossRecord, all_finite, bad_loss_report
from .schedules import takes_metric
from .steps import Step, run_step

if TYPE_CHECKING:
    from .learner import Learner

_MOST_BAD_LOSSES = 20  # consecutive; tolerated while the gradient scaler adjusts its scale or batches are skipped


class FitLoop:
    """Runs one call of fit.

    Steps do not synchronize with the device. Losses and metrics stay there until a display or log shows them, a checkpoint is saved or the
    epoch ends.
    """

    def __init__(
        self,
        learner: Learner,
        train_data: Iterable[Any],
        valid_data: Iterable[Any] | None,
        *,
        epochs: int | None,
        max_steps: int | None,
        validate_every: int | Collection[int],
        log_every: int,
        resume_with: str | None,
    ) -> None:
        self.learner, self.train_data, self.valid_data = learner, train_data, valid_data
        self.epochs, self.max_steps = epochs, max_steps
        self.validate_every, self.log_every = validate_every, max(1, log_every)
        # A gradient scaler finds its scale by trying: some non-finite losses are expected.
        patience = None if learner.on_nan == "ignore" else _MOST_BAD_LOSSES if learner.updater.scaler is not None else 0
        self.losses = LossRecord(patience, learner.updater.guard)
        self.metrics: dict[str, Metric] = {name: metric.fresh() for name, metric in learner.metrics.items()}
        self.epoch_state: dict[str, Any] | None = None  # position in the first epoch, when resuming within it
        self._left_out = 0  # consecutive skipped batches
        self._live: dict[str, float] = {}
        self._lr: Any = None  # learning rate of the last step
        self._updated = False  # whether the weights of this step are updated already
        self._compiled: CompiledBatches | None = None
        self.data: EpochData
        self._ran = False  # whether any batch was trained
        self.record = FitRecord(self, resume_with)

    # --- the loop ----------------------------------------------------------------------------------------------------------

    def fit(self, display: Any) -> History:
        """Trains until the limits are reached or a stop is requested."""
        learner, record, shown = self.learner, self.record, display_for(display)
        if shown is not None:  # last, so that it shows values set by other callbacks
            learner.hooks = CallbackList([*learner.hooks.callbacks, shown])
        state, started = learner.state, time.monotonic()
        state.epochs, state.batches = self.epochs, length_of(self.train_data)
        state.validates = self.valid_data is not None
        record.describe()
        learner.start_training()
        if learner.compile:
            self._compiled = compiled_batches(learner, self.losses)
        failure: BaseException | None = None
        try:
            with learner.stop_request:
                learner.hooks.call("on_fit_start", learner)
                if record.opened:
                    learner.tell(record.opened)
                if state.step and self._finished():
                    limit = f"epochs={self.epochs}" if self.max_steps is None else f"max_steps={self.max_steps}"
                    learner.tell(f"training is already complete with {limit}: increase it to continue")
                while not self._finished():
                    self._epoch()
                    state.seconds = time.monotonic() - started
                    if learner.stop_request.reason:
                        break
                self._end()
        except BaseException as error:
            failure = error
            learner.hooks.call("on_error", learner, error)
            raise
        finally:
            state.inputs = state.result = None
            learner.updater.guard(None)
            state.seconds = time.monotonic() - started
            learner.hooks.call("on_fit_end", learner)
            record.close(failure)
            learner.hooks = CallbackList(learner.callbacks)
        if record.unsaved is not None:
            raise CheckpointError(
                f"training is done, but {record.unsaved} The model is whole in memory: save it elsewhere."
            ) from record.unsaved
        return learner.history

    def _finished(self) -> bool:
        if self.max_steps is not None and self.learner.state.step >= self.max_steps:
            return True
        return self.epochs is not None and self.learner.state.done >= self.epochs

    def _epoch(self) -> None:
        learner, state, updater = self.learner, self.learner.state, self.learner.updater
        state.epoch, state.split, state.validated, self._ran = state.done + 1, "train", False, True
        state.result, state.running, state.epoch_over = None, self._so_far, False
        if self.epoch_state is None:
            state.batch = 0
            self.losses.reset()
            for metric in self.metrics.values():
                metric.reset()
        self.losses.mean = state.values.get("train/loss", math.nan)
        if learner.has_loss:
            state.values["train/loss"] = self.losses.recent_mean
        if learner.optimizer is not None:
            state.values["lr"] = self._last_rate
        learner.hooks.call("on_epoch_start", learner)
        self.data = EpochData(self.train_data, state.epoch, self.epoch_state)
        self.epoch_state = None
        try:
            for batch in self.data:
                self._batch(batch)
                if updater.due or self._updated:
                    self._step()
                if learner.run is not None or learner.paused:
                    self.record.between_batches()
                if self.losses.bad is not None:  # the losses were read by a display or log
                    self._fail(self.losses.bad)
                if (learner.stop_request.reason or state.step == self.max_steps) and not updater.begun:
                    return
                if state.epoch_over:
                    self.data.finished = True
                    break
        finally:
            self.data.close()
        if state.batch == 0:
            raise ValueError("[fit] the training data gave no batches" + (", as an iterator that is used up" if state.epoch > 1 else ""))
        if updater.begun:  # the last, incomplete accumulation group
            self._step()
        self.check()
        self._end_of_epoch()

    def _batch(self, batch: Any) -> None:
        learner, state, updater, hooks = self.learner, self.learner.state, self.learner.updater, self.learner.hooks.functions
        state.inputs = batch = learner.place(batch)
        for function in hooks["on_batch_start"]:
            function(learner)
        if self._compiled is not None:
            self._compiled_batch(self._compiled, batch)
            return
        with updater.precision():
            state.result = result = run_step(learner.step_function, learner.model, batch, need_loss=True)
        self._updated = result.updated
        state.batch = self.data.taken
        state.loss_tensor = None if result.loss is None else result.loss.detach().clone()  # the caller may change its tensor in place
        for function in hooks["on_forward_end"]:
            function(learner)
        if result.updated:
            if state.loss_tensor is not None:
                self.losses.add_unchecked(state.loss_tensor, result.count or 1)
        elif not self._backward(result.loss, state.loss_tensor, result.count):
            return
        self._end_of_batch(result)

    def _compiled_batch(self, compiled: CompiledBatches, batch: Any) -> None:
        learner, state, updater = self.learner, self.learner.state, self.learner.updater
        if learner.optimizer is None:
            raise TrainingError("[Learner] fit needs an optimizer: Learner(model, optimizer, ...)")
        self._lr = learner.optimizer.param_groups[0]["lr"]
        state.result = result = compiled(batch)
        state.batch, state.loss_tensor = self.data.taken, result.loss
        assert result.loss is not None
        self.losses.note(result.loss.reshape(()), result.count or 1, state.batch, state.step)
        updater.count(result.count or 1)
        self._updated = updater.due
        self._end_of_batch(result)

    def _end_of_batch(self, result: Step) -> None:
        learner, state, updater, hooks = self.learner, self.learner.state, self.learner.updater, self.learner.hooks.functions
        logs = learner.run is not None and (updater.due or result.updated) and self._logs(state.step + 1)
        self._live = dict(result.values) if logs else {}
        if result.output is not None:
            for name, metric in self.metrics.items():
                if logs and metric.live:
                    self._live[name] = metric(result.output, result.target)
                else:
                    metric.update(result.output, result.target)
        for function in hooks["on_batch_end"]:
            function(learner)

    def _backward(self, loss: Any, value: Any, count: Any) -> bool:
        """Adds the gradients of a batch, and returns whether it counts."""
        learner, state = self.learner, self.learner.state
        if learner.optimizer is None:
            raise TrainingError("[Learner] fit needs an optimizer, or a step that updates the weights: Step(..., updated=True)")
        value = value.reshape(()) if value.dim() else value
        if learner.on_nan == "skip" and self._leave_out(value):
            return False
        self.losses.add(value, count, state.batch, state.step)
        learner.updater.backward(loss, count)
        for function in learner.hooks.functions["on_backward_end"]:
            function(learner)
        return True

    def _so_far(self) -> dict[str, float]:
        self.losses.look()
        return self.learner.values_so_far(self.losses.epoch, self.metrics)

    def _logs(self, step: int) -> bool:
        return step % self.log_every == 0 or step == 1

    # --- losses that are not finite ----------------------------------------------------------------------------------------

    def _leave_out(self, loss: Any) -> bool:
        """With on_nan="skip", returns whether to skip the batch. This reads the loss from the device."""
        learner, state, value = self.learner, self.learner.state, float(loss)
        self._left_out = 0 if math.isfinite(value) else self._left_out + 1
        if not self._left_out:
            return False
        if self._left_out > _MOST_BAD_LOSSES:
            self._fail(BadLoss(value, state.batch, state.step))
        learner.tell(f"the loss is {value} in epoch {state.epoch}, batch {state.batch}: the batch is left out")
        return True

    def check(self) -> None:
        """Reads pending losses from the device, so that nothing is saved before they are known to be finite."""
        self.losses.look()
        if self.losses.bad is not None:
            self._fail(self.losses.bad)

    def _fail(self, bad: BadLoss) -> NoReturn:
        """Raises NonFiniteLoss. The device skipped all steps since that loss; this rewinds the counters of the host to match."""
        learner, state = self.learner, self.learner.state
        text = bad_loss_report(learner, bad, self.losses.last)
        learner.updater.drop()
        learner.updater.uncount(state.step - bad.step)
        state.step = bad.step
        if self.data.rewind(bad.batch):
            state.batch = bad.batch
        for metric in self.metrics.values():  # they have seen the bad batch
            metric.reset()
        self.losses.forget_bad()
        if learner.checkpoints is not None and all_finite(learner.model):
            self.record.save(["not finite"])
            text += f"\nThe state before this batch was saved: {self.record.how_to_resume()}"
        raise NonFiniteLoss(text)

    # --- steps -------------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        learner, state, updater, hooks = self.learner, self.learner.state, self.learner.updater, self.learner.hooks.functions
        if not self._updated:
            updater.prepare()
            for function in hooks["on_step_start"]:
                function(learner)
            self._lr = learner.optimizer.param_groups[0]["lr"]
            updater.step()
        elif self._compiled is not None:
            updater.end_group()
        state.step += 1
        if learner.lr_scheduler is not None and learner.schedule == "step":
            learner.lr_scheduler.step()
        for function in hooks["on_step_end"]:
            function(learner)
        if learner.run is not None and self._logs(state.step):
            self.check()
            self.record.log_step(self._live)
        self.record.save_if_due(epoch_ended=False)

    def _last_rate(self) -> float:
        return float(self.learner.optimizer.param_groups[0]["lr"] if self._lr is None else self._lr)

    def _end_of_epoch(self) -> None:
        learner, state = self.learner, self.learner.state
        self.record.log_epoch("train", learner.computed(self.losses.epoch, self.metrics, "train"))
        every, epoch = self.validate_every, state.epoch
        try:
            self._validate(epoch % max(1, every) == 0 or epoch == self.epochs if isinstance(every, int) else epoch in every)
        except ValidationLeft:
            return  # the epoch is incomplete; on resume it is validated again
        if learner.lr_scheduler is not None and learner.schedule == "epoch":
            self._advance_schedule()
        learner.hooks.call("on_epoch_end", learner)
        state.done += 1
        self.record.save_if_due(epoch_ended=True)

    def _validate(self, due: bool) -> None:
        learner, state = self.learner, self.learner.state
        if self.valid_data is not None and due:
            self.record.before_validation = self.data.state_dict()
            self.record.log_epoch("valid", learner.validated(self.valid_data, "valid", leave=True))
            state.validated, self.record.before_validation = True, None

    def _advance_schedule(self) -> None:
        learner = self.learner
        if not takes_metric(learner.lr_scheduler):
            learner.lr_scheduler.step()
            return
        name = learner.monitor or ("valid/loss" if learner.state.validates else "train/loss")
        value = value_of_epoch(learner, name, type(learner.lr_scheduler).__name__)
        if value is not None:
            learner.lr_scheduler.step(value)

    def _end(self) -> None:
        """After the last epoch or a stop request: saves a final checkpoint to resume from."""
        learner, state = self.learner, self.learner.state
        self.check()
        state.values.update(dict(state.values))  # evaluates values that are still on the device
        reason = learner.history.stopped = learner.stop_request.reason
        self.record.save_last(self._ran)
        if reason:
            text = f"stopped by {reason} in epoch {state.epoch}, batch {state.batch}, step {state.step}"
            if learner.run is not None and self.record.unsaved is None:
                text += f". Everything is saved: {self.record.how_to_resume()}"
            learner.tell(text)
        elif self._ran and state.done < state.epoch:  # max_steps, within an epoch
            self._validate(True)
