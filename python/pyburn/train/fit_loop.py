"""The training loop behind `Learner.fit`: epochs of batches, with checkpoints, logging and stop requests."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..io import load
from .callbacks import Callback, CallbackList, better, value_of_epoch
from .checkpoints import CheckpointFolder, Rule
from .displays import display_for
from .errors import CheckpointError, NonFiniteLoss, ValidationLeft
from .history import History
from .interrupt import StopRequest
from .loader_position import EpochData, length_of, load_loader_state, loader_state
from .metrics import CpuUse, MemoryUse, Metric
from .non_finite import BadLoss, LossRecord, all_finite, bad_loss_report
from .random_state import random_state, set_random_state
from .run import Run
from .run.append_file import replace_text
from .run.lock import RunLock
from .schedules import takes_metric
from .steps import run_step, to_device

if TYPE_CHECKING:
    from .learner import Learner

_SYSTEM_SECONDS = 2.0
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
        validate_every: int,
        log_every: int,
        resume_with: str | None,
    ) -> None:
        self.learner, self.train_data, self.valid_data = learner, train_data, valid_data
        self.epochs, self.max_steps = epochs, max_steps
        self.validate_every, self.log_every = max(1, validate_every), max(1, log_every)
        self.resume_with = resume_with
        # A gradient scaler finds its scale by trying: some non-finite losses are expected.
        patience = None if learner.on_nan == "ignore" else _MOST_BAD_LOSSES if learner.updater.scaler is not None else 0
        self.losses = LossRecord(patience, learner.updater.guard)
        self.metrics: dict[str, Metric] = {name: metric.fresh() for name, metric in learner.metrics.items()}
        self.epoch_state: dict[str, Any] | None = None  # position in the first epoch, when resuming within it
        self.unsaved: CheckpointError | None = None
        self._left_out = 0  # consecutive skipped batches
        self._cpu, self._memory, self._sampled = CpuUse(), MemoryUse(), 0.0
        self._live: dict[str, float] = {}
        self._lr: Any = None  # learning rate of the last step
        self.done = 0  # completed epochs
        self._saved_at = (-1, -1)  # step and epochs of the last checkpoint
        self._before_validation: dict[str, Any] | None = None  # position to resume from if validation is interrupted
        self.data: EpochData
        self._ran = False  # whether any batch was trained

    # --- opening -----------------------------------------------------------------------------------------------------------

    def open(self, run: Any, config: Any, rules: Sequence[Rule], resume: bool | str | os.PathLike[str]) -> None:
        """Finds the checkpoint to resume from, and opens the run folder."""
        self.learner.stop_request = StopRequest()
        self.learner.hooks = CallbackList(self.learner.callbacks)
        if run is None or isinstance(run, Run):
            self._open(run, None, config, rules, resume)
            return
        Path(run).mkdir(parents=True, exist_ok=True)
        lock = RunLock(Path(run))  # before reading a checkpoint, which the lock's holder might replace
        try:
            self._open(run, lock, config, rules, resume)
        except BaseException:
            lock.release()
            raise

    def _open(self, run: Any, lock: RunLock | None, config: Any, rules: Sequence[Rule], resume: bool | str | os.PathLike[str]) -> None:
        learner = self.learner
        state, name = None, ""
        folder = run.folder if isinstance(run, Run) else Path(run) if run is not None else None
        found = None
        if resume is True and folder is not None:
            found = CheckpointFolder(folder / "checkpoints", rules, higher_is_better=learner.higher_is_better)
            if found.entries:
                state, name = found.load(), os.fspath(folder)
        elif resume:
            state, name = load(resume), os.fspath(resume)  # type: ignore[arg-type]
        if state is not None:
            self._restore(state)
        else:
            learner.state = type(learner.state)()
            learner.history = History()
        learner.history.higher_is_better = learner.higher_is_better
        learner.history.stopped = ""
        if folder is None:
            learner.run = learner.checkpoints = None
        else:
            resumed = resume is True or (folder / "run.json").exists() and bool(resume)
            learner.run = (
                run
                if isinstance(run, Run)
                else Run(
                    folder,
                    config=self._config(config) if state is None or config is not None else None,
                    resume=learner.state.step if resumed else False,
                    resume_epoch=self.done,
                    _lock=lock,
                )
            )
            learner.run.tell = learner.tell
            learner.checkpoints = found or CheckpointFolder(folder / "checkpoints", rules, higher_is_better=learner.higher_is_better)
        if state is not None:
            self._opened = f"resumed from {name} at epoch {learner.state.epoch}, step {learner.state.step}"
        else:
            self._opened = ""

    def _config(self, config: Any) -> Any:
        if config is not None:
            return config
        learner, updater = self.learner, self.learner.updater
        group = {k: v for k, v in learner.optimizer.param_groups[0].items() if k != "params" and not callable(v)}
        return {
            "model": type(learner.model).__name__,
            "parameters": sum(p.numel() for p in learner.model.parameters()),
            "optimizer": {"type": type(learner.optimizer).__name__, **group},
            "lr_scheduler": type(learner.lr_scheduler).__name__ if learner.lr_scheduler is not None else None,
            "epochs": self.epochs,
            "max_steps": self.max_steps,
            "batches": length_of(self.train_data),
            "accumulate": updater.accumulate,
            "clip_norm": updater.clip_norm,
            "clip_value": updater.clip_value,
            "precision": str(updater.dtype) if updater.dtype is not None else "float32",
            "ema": updater.ema is not None,
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        learner = self.learner
        if not isinstance(saved, dict) or "position" not in saved:
            raise CheckpointError("not a training checkpoint: the file has no 'position' entry")
        learner.load_state_dict(saved)
        position = saved["position"]
        if position["step"]:
            learner.optimizer._opt_called = True  # in the earlier process; otherwise schedulers warn about the call order
        self.done = position["epoch"] - 1
        self._saved_at = position["step"], self.done
        epoch = position["epoch"] if position["batch"] else max(1, self.done)
        learner.state = type(learner.state)(epoch=epoch, batch=position["batch"], step=position["step"])
        learner.state.values.update(saved["values"])
        learner.history = History()
        learner.history.rows = [dict(row) for row in saved["history"]]
        self.epoch_state = saved["epoch_data"]
        self.losses.epoch.load_state_dict(saved["metrics"]["loss"])
        self.losses.recent.load_state_dict(saved["metrics"]["recent"])
        for name, metric in self.metrics.items():
            if name in saved["metrics"]["train"]:
                metric.load_state_dict(saved["metrics"]["train"][name])
        if self.epoch_state is None:  # even between epochs a loader may have random state of its own
            load_loader_state(self.train_data, saved["loader"])
            set_random_state(saved["random"])

    # --- the loop ----------------------------------------------------------------------------------------------------------

    def fit(self, display: Any) -> History:
        learner = self.learner
        shown = display_for(display)
        extra: list[Callback] = [shown] if shown is not None else []
        learner.hooks = _with(learner.hooks, extra)
        state, started = learner.state, time.monotonic()
        state.epochs, state.batches = self.epochs, length_of(self.train_data)
        state.validates = self.valid_data is not None
        self._describe()
        learner.model.train()
        failure: BaseException | None = None
        try:
            with learner.stop_request:
                learner.hooks.call("on_fit_start", learner)
                if self._opened:
                    learner.tell(self._opened)
                if self._opened and self._finished():
                    limit = f"epochs={self.epochs}" if self.max_steps is None else f"max_steps={self.max_steps}"
                    learner.tell(f"nothing is left to train with {limit}: give more to go on")
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
            self._close(failure)
            learner.hooks = CallbackList(learner.callbacks)
        if self.unsaved is not None:
            raise CheckpointError(
                f"training is done, but {self.unsaved} The model is whole in memory: save it elsewhere."
            ) from self.unsaved
        return learner.history

    def _finished(self) -> bool:
        if self.max_steps is not None and self.learner.state.step >= self.max_steps:
            return True
        return self.epochs is not None and self.done >= self.epochs

    def _epoch(self) -> None:
        learner, state, updater = self.learner, self.learner.state, self.learner.updater
        state.epoch, state.split, state.validated, self._ran = self.done + 1, "train", False, True
        if self.epoch_state is None:
            state.batch = 0
            self.losses.reset()
            for metric in self.metrics.values():
                metric.reset()
        self.losses.mean = state.values.get("train/loss", math.nan)
        state.values["train/loss"], state.values["lr"] = self.losses.recent_mean, self._last_rate
        learner.hooks.call("on_epoch_start", learner)
        self.data = EpochData(self.train_data, state.epoch, self.epoch_state)
        self.epoch_state = None
        try:
            for batch in self.data:
                self._batch(batch)
                if updater.due:
                    self._step()
                if learner.run is not None or learner.paused:
                    self._between()
                if self.losses.bad is not None:  # the losses were read by a display or log
                    self._fail(self.losses.bad)
                if (learner.stop_request.reason or state.step == self.max_steps) and not updater.begun:
                    return
        finally:
            self.data.close()
        if state.batch == 0:
            raise ValueError("[fit] the training data gave no batches" + (", as an iterator that is used up" if state.epoch > 1 else ""))
        if updater.begun:  # the last, incomplete accumulation group
            self._step()
        self._check()
        self._end_of_epoch()

    def _batch(self, batch: Any) -> None:
        learner, state, updater, hooks = self.learner, self.learner.state, self.learner.updater, self.learner.hooks.functions
        state.inputs = batch = to_device(batch, learner.device)
        for function in hooks["on_batch_start"]:
            function(learner)
        with updater.precision():
            state.result = result = run_step(learner.step_function, learner.model, batch, need_loss=True)
        assert result.loss is not None and result.count is not None
        state.loss_tensor = loss = result.loss.detach().clone()  # the caller may change its tensor in place
        if loss.dim():
            loss = loss.reshape(())
        state.batch = self.data.taken
        for function in hooks["on_forward_end"]:
            function(learner)
        if learner.on_nan == "skip" and self._leave_out(loss):
            return
        self.losses.add(loss, result.count, state.batch, state.step)
        updater.backward(result.loss, result.count)
        for function in hooks["on_backward_end"]:
            function(learner)
        logs = learner.run is not None and updater.due and self._logs(state.step + 1)
        self._live = dict(result.values) if logs else {}
        if result.output is not None:
            for name, metric in self.metrics.items():
                if logs and metric.live:
                    self._live[name] = metric(result.output, result.target)
                else:
                    metric.update(result.output, result.target)
        for function in hooks["on_batch_end"]:
            function(learner)

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

    def _check(self) -> None:
        """Reads pending losses from the device, so that nothing is saved before they are known to be finite."""
        self.losses.look()
        if self.losses.bad is not None:
            self._fail(self.losses.bad)

    def _fail(self, bad: BadLoss) -> NoReturn:
        """Raises NonFiniteLoss. The device skipped all steps since that loss; this rewinds the counters of the host to match."""
        learner, state = self.learner, self.learner.state
        text = bad_loss_report(learner, bad)
        learner.updater.drop()
        learner.updater.uncount(state.step - bad.step)
        state.step = bad.step
        if self.data.rewind(bad.batch):
            state.batch = bad.batch
        for metric in self.metrics.values():  # they have seen the bad batch
            metric.reset()
        self.losses.forget_bad()
        if learner.checkpoints is not None and all_finite(learner.model):
            self._save(["not finite"])
            text += f"\nThe state before this batch was saved: {self._how_to_resume()}"
        raise NonFiniteLoss(text)

    # --- steps -------------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        learner, state, updater, hooks = self.learner, self.learner.state, self.learner.updater, self.learner.hooks.functions
        updater.prepare()
        for function in hooks["on_step_start"]:
            function(learner)
        self._lr = learner.optimizer.param_groups[0]["lr"]
        updater.step()
        state.step += 1
        if learner.lr_scheduler is not None and learner.schedule == "step":
            learner.lr_scheduler.step()
        for function in hooks["on_step_end"]:
            function(learner)
        if learner.run is not None and self._logs(state.step):
            self._check()
            values = {"loss": self.losses.recent.compute(), "lr": state.values["lr"], **self._live}
            if updater.grad_norm is not None:
                values["grad_norm"] = updater.grad_norm
            learner.run.log(values, step=state.step, epoch=state.epoch)
            self.losses.recent.reset()
        if learner.checkpoints is not None:
            reasons = learner.checkpoints.due(epoch=state.epoch, step=state.step, epoch_ended=False, metrics=state.values)
            if reasons:
                self._save(reasons)

    def _last_rate(self) -> float:
        return float(self.learner.optimizer.param_groups[0]["lr"] if self._lr is None else self._lr)

    def _between(self) -> None:
        """Between batches: logs the system load and handles stop and pause requests."""
        learner, state, run = self.learner, self.learner.state, self.learner.run
        if run is not None:
            run.status.update(batch=state.batch, batches=state.batches, epochs=self.epochs)
            now = time.monotonic()
            if now - self._sampled >= _SYSTEM_SECONDS:
                self._sampled = now
                values = {"cpu": self._cpu.read(), "memory": self._memory.read()}
                run.log(values, step=state.step, epoch=state.epoch, split="system")
                state.values.update({f"system/{name}": value for name, value in values.items()})
                run.update()
                if run.stop_requested():
                    learner.stop("a file called stop in the folder of the run")
        if learner.paused:
            if run is not None:
                run.update(state="paused")
            while learner.paused and not learner.stop_request.reason:
                time.sleep(0.05)
            if run is not None:
                run.update(state="running")

    def _end_of_epoch(self) -> None:
        learner, state = self.learner, self.learner.state
        train = learner._computed(self.losses.epoch, self.metrics, "train")
        self._log_epoch("train", train)
        try:
            self._validate(state.epoch % self.validate_every == 0 or state.epoch == self.epochs)
        except ValidationLeft:
            return  # the epoch is incomplete; on resume it is validated again
        if learner.lr_scheduler is not None and learner.schedule == "epoch":
            self._advance_schedule()
        learner.hooks.call("on_epoch_end", learner)
        self.done += 1
        if learner.checkpoints is not None:
            reasons = learner.checkpoints.due(epoch=state.epoch, step=state.step, epoch_ended=True, metrics=self._values_of_epoch())
            if reasons:
                self._save(reasons)

    def _validate(self, due: bool) -> None:
        learner, state = self.learner, self.learner.state
        if self.valid_data is not None and due:
            self._before_validation = self.data.state_dict()
            state.split = "valid"
            self._log_epoch("valid", learner._validated(self.valid_data, "valid", leave=True))
            state.split, state.validated, self._before_validation = "train", True, None

    def _log_epoch(self, split: str, values: dict[str, float]) -> None:
        learner, state, run = self.learner, self.learner.state, self.learner.run
        learner.history.add(state.epoch, {f"{split}/{name}": value for name, value in values.items()})
        if run is None:
            return
        run.log(values, step=state.step, epoch=state.epoch, split=split, kind="epoch")
        for key, table in state.tables.items():
            if key.startswith(f"{split}/"):
                run.log_table(key[len(split) + 1 :], table, step=state.step, epoch=state.epoch, split=split)
        best = run.status["best"]
        for name, value in values.items():
            key = f"{split}/{name}"
            if name in learner.higher_is_better and better(
                value, float(best.get(key, {}).get("value", math.nan)), learner.higher_is_better[name]
            ):
                best[key] = {"value": value, "epoch": state.epoch, "step": state.step}

    def _values_of_epoch(self) -> dict[str, float]:
        """Returns the values of this epoch, without those of an earlier validation."""
        state = self.learner.state
        old = state.validates and not state.validated
        return {name: value for name, value in state.values.items() if not (old and name.startswith("valid/"))}

    def _advance_schedule(self) -> None:
        learner = self.learner
        if not takes_metric(learner.lr_scheduler):
            learner.lr_scheduler.step()
            return
        name = learner.monitor or ("valid/loss" if learner.state.validates else "train/loss")
        value = value_of_epoch(learner, name, type(learner.lr_scheduler).__name__)
        if value is not None:
            learner.lr_scheduler.step(value)

    # --- saving and ending -------------------------------------------------------------------------------------------------

    def _save(self, reasons: Sequence[str]) -> None:
        """Saves a checkpoint. If writing fails, a message is shown and the next checkpoint tries again."""
        learner, state, folder = self.learner, self.learner.state, self.learner.checkpoints
        assert folder is not None
        self._check()
        within = self.done < state.epoch
        if learner.run is not None:
            learner.run.flush()  # first, so that the log is never behind the checkpoint
        saved = {
            "format": 1,
            **learner.state_dict(),
            "position": {"epoch": self.done + 1, "batch": state.batch if within else 0, "step": state.step},
            "random": random_state(),
            "epoch_data": (self._before_validation or self.data.state_dict()) if within else None,
            "loader": None if within else loader_state(self.train_data),
            "metrics": {
                "loss": self.losses.epoch.state_dict(),
                "recent": self.losses.recent.state_dict(),
                "train": {name: metric.state_dict() for name, metric in self.metrics.items()},
            },
            "values": dict(state.values),
            "history": [dict(row) for row in learner.history.rows],
        }
        values = state.values if within else self._values_of_epoch()
        known = {key: value for key, value in values.items() if "/" in key and not key.startswith("system/")}
        try:
            state.checkpoint = folder.save(
                saved, epoch=state.epoch, step=state.step, batch=state.batch if within else 0, metrics=known, reasons=reasons
            )
        except CheckpointError as error:
            if self.unsaved is None:
                learner.tell(f"{error} Training goes on and tries again with the next one.")
            self.unsaved = error
            return
        if self.unsaved is not None:
            learner.tell(f"checkpoints can be written again: {state.checkpoint.file}")
        self.unsaved = None
        self._saved_at = state.step, self.done
        learner.hooks.call("on_checkpoint", learner)

    def _how_to_resume(self) -> str:
        assert self.learner.run is not None
        return self.resume_with or f'fit(..., run="{self.learner.run.folder}", resume=True) goes on from there'

    def _end(self) -> None:
        """After the last epoch or a stop request: saves a final checkpoint to resume from."""
        learner, state = self.learner, self.learner.state
        self._check()
        state.values.update(dict(state.values))  # evaluates values that are still on the device
        reason = learner.stop_request.reason
        learner.history.stopped = reason
        unsaved = self._ran and (reason or self._saved_at != (state.step, self.done))
        if learner.checkpoints is not None and (unsaved or self.unsaved is not None):
            self._save(["interrupt" if reason else "end"])
        if reason:
            text = f"stopped by {reason} in epoch {state.epoch}, batch {state.batch}, step {state.step}"
            if learner.run is not None and self.unsaved is None:
                text += f". Everything is saved: {self._how_to_resume()}"
            learner.tell(text)
        elif self._ran and self.done < state.epoch:  # max_steps, within an epoch
            self._validate(True)

    def _describe(self) -> None:
        learner, run = self.learner, self.learner.run
        if run is None:
            return
        known = {"loss": {"higher_is_better": False, "unit": ""}, "lr": {"higher_is_better": None, "unit": ""}}
        known["cpu"] = {"higher_is_better": None, "unit": "%"}
        known["memory"] = {"higher_is_better": None, "unit": "MiB"}
        known.update({name: {"higher_is_better": m.higher_is_better, "unit": m.unit} for name, m in learner.metrics.items()})
        try:
            replace_text(run.folder / "model.txt", f"{learner.model}\n")
        except OSError as error:
            learner.tell(f"model.txt could not be written: {error}")
        state = learner.state  # when resuming, the position reached so far
        run.update(
            metrics=known, epoch=state.epoch, epochs=self.epochs, batches=state.batches, step=state.step, resume_with=self._how_to_resume()
        )

    def _close(self, failure: BaseException | None) -> None:
        run, reason = self.learner.run, self.learner.stop_request.reason
        if run is None:
            return
        run.status["batch"] = self.learner.state.batch
        if failure is None:
            run.finish("stopped" if reason else "finished", reason)
        elif isinstance(failure, KeyboardInterrupt):
            run.finish("stopped", "Ctrl-C, at once")
        else:
            run.finish("failed", f"{type(failure).__name__}: {failure}")


def _with(hooks: CallbackList, more: Sequence[Callback]) -> CallbackList:
    """Appends displays to the callbacks: they come last, so that they show values set by other callbacks."""
    return CallbackList([*hooks.callbacks, *more])
