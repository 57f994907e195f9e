"""The run folder and the checkpoints of one call of fit."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io import load
from .callbacks import CallbackList, better
from .checkpoints import CheckpointFolder, Rule
from .errors import CheckpointError
from .evaluation import log_epoch_values
from .history import History
from .interrupt import StopRequest
from .loader_position import length_of, load_loader_state, loader_state
from .metrics import CpuUse, MemoryUse
from .random_states import random_state, set_random_state
from .run import Run
from .run.append_file import replace_text
from .run.claim import claim
from .run.lock import RunLock

if TYPE_CHECKING:
    from .fit_loop import FitLoop

_SYSTEM_SECONDS = 2.0


class FitRecord:
    """Opens the run folder, restores a checkpoint to resume from, and writes logs and checkpoints for a FitLoop."""

    def __init__(self, loop: FitLoop, resume_with: str | None) -> None:
        self.loop, self.learner = loop, loop.learner
        self.resume_with = resume_with
        self.opened = ""  # where training was resumed from, for the user
        self.unsaved: CheckpointError | None = None
        self.before_validation: dict[str, Any] | None = None  # position to resume from if validation is interrupted
        self._saved_at = (-1, -1)  # step and epochs of the last checkpoint
        self._cpu, self._memory, self._sampled = CpuUse(), MemoryUse(), 0.0

    # --- opening -----------------------------------------------------------------------------------------------------------

    def open(self, run: Any, config: Any, rules: Sequence[Rule], resume: bool | str | os.PathLike[str], overwrite: bool = False) -> None:
        """Finds the checkpoint to resume from, and opens the run folder."""
        self.learner.stop_request = StopRequest()
        self.learner.hooks = CallbackList(self.learner.callbacks)
        if run is None or isinstance(run, Run):
            self._open(run, None, config, rules, resume)
            return
        folder, lock = claim(Path(run), resume=bool(resume), overwrite=overwrite)  # before reading a checkpoint, which may be replaced
        try:
            self._open(folder, lock, config, rules, resume)
        except BaseException:
            lock.release()
            raise
        if folder != Path(run):
            self.opened = f"{os.fspath(run)} already holds a run: this one is written to {folder}"

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
        learner.state, learner.history = type(learner.state)(), History()
        if state is not None:
            self._restore(state)
            self.opened = f"resumed from {name} at epoch {learner.state.epoch}, step {learner.state.step}"
        learner.history.higher_is_better = learner.higher_is_better
        if folder is None:
            learner.run = learner.checkpoints = None
            return
        resumed = resume is True or (folder / "run.json").exists() and bool(resume)
        learner.run = (
            run
            if isinstance(run, Run)
            else Run(
                folder,
                config=self._config(config) if state is None or config is not None else None,
                resume=learner.state.step if resumed else False,
                resume_epoch=learner.state.done,
                _lock=lock,
            )
        )
        learner.run.tell = learner.tell
        learner.checkpoints = found or CheckpointFolder(folder / "checkpoints", rules, higher_is_better=learner.higher_is_better)

    def _config(self, config: Any) -> Any:
        if config is not None:
            return config
        learner, updater = self.learner, self.learner.updater
        optimizer: dict[str, Any] | None = None
        if learner.optimizer is not None:
            group = {k: v for k, v in learner.optimizer.param_groups[0].items() if k != "params" and not callable(v)}
            optimizer = {"type": type(learner.optimizer).__name__, **group}
        return {
            "model": type(learner.model).__name__,
            "parameters": sum(p.numel() for p in learner.model.parameters()),
            "optimizer": optimizer,
            "lr_scheduler": type(learner.lr_scheduler).__name__ if learner.lr_scheduler is not None else None,
            "epochs": self.loop.epochs,
            "max_steps": self.loop.max_steps,
            "batches": length_of(self.loop.train_data),
            "accumulate": updater.accumulate,
            "clip_norm": updater.clip_norm,
            "clip_value": updater.clip_value,
            "precision": str(updater.dtype) if updater.dtype is not None else "float32",
            "ema": updater.ema is not None,
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        learner, loop, state = self.learner, self.loop, self.learner.state
        if not isinstance(saved, dict) or "position" not in saved:
            raise CheckpointError("not a training checkpoint: the file has no 'position' entry")
        learner.load_state_dict(saved)
        position = saved["position"]
        if position["step"] and learner.optimizer is not None:
            learner.optimizer._opt_called = True  # in the earlier process; otherwise schedulers warn about the call order
        state.done, state.batch, state.step = position["epoch"] - 1, position["batch"], position["step"]
        state.epoch = position["epoch"] if position["batch"] else max(1, state.done)
        state.values.update(saved["values"])
        self._saved_at = state.step, state.done
        learner.history.rows = [dict(row) for row in saved["history"]]
        loop.epoch_state = saved["epoch_data"]
        loop.losses.epoch.load_state_dict(saved["metrics"]["loss"])
        loop.losses.recent.load_state_dict(saved["metrics"]["recent"])
        for name, metric in loop.metrics.items():
            if name in saved["metrics"]["train"]:
                metric.load_state_dict(saved["metrics"]["train"][name])
        if loop.epoch_state is None:  # even between epochs a loader may have random state of its own
            load_loader_state(loop.train_data, saved["loader"])
            set_random_state(saved["random"])

    def describe(self) -> None:
        """Writes what is known before the first step."""
        learner, run, state = self.learner, self.learner.run, self.learner.state
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
        position = {"epoch": state.epoch, "epochs": self.loop.epochs, "batches": state.batches, "step": state.step}
        run.update(metrics=known, **position, resume_with=self.how_to_resume())

    def how_to_resume(self) -> str:
        """Returns the text that tells the user how to resume."""
        assert self.learner.run is not None
        return self.resume_with or f'fit(..., run="{self.learner.run.folder}", resume=True) resumes it'

    # --- logging -----------------------------------------------------------------------------------------------------------

    def between_batches(self) -> None:
        """Logs the system load and handles stop and pause requests."""
        learner, state, run = self.learner, self.learner.state, self.learner.run
        if run is not None:
            run.status.update(batch=state.batch, batches=state.batches, epochs=self.loop.epochs)
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

    def log_step(self, live: dict[str, float]) -> None:
        """Logs the losses since the last line, the learning rate, the gradient norm and the values of the step."""
        learner, state, losses = self.learner, self.learner.state, self.loop.losses
        values = {"loss": losses.recent.compute()} if losses.recent.state["weight"] else {}
        values.update({"lr": state.values["lr"]} if "lr" in state.values else {})
        values.update(live)
        if learner.updater.grad_norm is not None:
            values["grad_norm"] = learner.updater.grad_norm
        assert learner.run is not None
        learner.run.log(values, step=state.step, epoch=state.epoch)
        losses.recent.reset()

    def log_epoch(self, split: str, values: dict[str, float]) -> None:
        """Logs the values of an epoch, and keeps the best ones in the status of the run."""
        learner, state, run = self.learner, self.learner.state, self.learner.run
        learner.history.add(state.epoch, {f"{split}/{name}": value for name, value in values.items()})
        if run is None:
            return
        log_epoch_values(run, state, values, split)
        best = run.status["best"]
        for name, value in values.items():
            key = f"{split}/{name}"
            if name in learner.higher_is_better and better(
                value, float(best.get(key, {}).get("value", math.nan)), learner.higher_is_better[name]
            ):
                best[key] = {"value": value, "epoch": state.epoch, "step": state.step}

    # --- saving ------------------------------------------------------------------------------------------------------------

    def values_of_epoch(self) -> dict[str, float]:
        """Returns the values of this epoch, without those of an earlier validation."""
        state = self.learner.state
        old = state.validates and not state.validated
        return {name: value for name, value in state.values.items() if not (old and name.startswith("valid/"))}

    def save_if_due(self, epoch_ended: bool) -> None:
        """Saves a checkpoint if a rule asks for one."""
        state, folder = self.learner.state, self.learner.checkpoints
        if folder is not None:
            metrics = self.values_of_epoch() if epoch_ended else state.values
            reasons = folder.due(epoch=state.epoch, step=state.step, epoch_ended=epoch_ended, metrics=metrics)
            if reasons:
                self.save(reasons)

    def save_last(self, ran: bool) -> None:
        """Saves a checkpoint to resume from after the last step, unless the last one is of this step."""
        state, reason = self.learner.state, self.learner.stop_request.reason
        new = ran and (reason or self._saved_at != (state.step, state.done))
        if self.learner.checkpoints is not None and (new or self.unsaved is not None):
            self.save(["interrupt" if reason else "end"])

    def save(self, reasons: Sequence[str]) -> None:
        """Saves a checkpoint. If writing fails, a message is shown and the next checkpoint tries again."""
        learner, loop, state, folder = self.learner, self.loop, self.learner.state, self.learner.checkpoints
        assert folder is not None
        loop.check()
        within = state.done < state.epoch
        if learner.run is not None:
            learner.run.flush()  # first, so that the log is never behind the checkpoint
        saved = {
            "format": 1,
            **learner.state_dict(),
            "position": {"epoch": state.done + 1, "batch": state.batch if within else 0, "step": state.step},
            "random": random_state(),
            "epoch_data": (self.before_validation or loop.data.state_dict()) if within else None,
            "loader": None if within else loader_state(loop.train_data),
            "metrics": {
                "loss": loop.losses.epoch.state_dict(),
                "recent": loop.losses.recent.state_dict(),
                "train": {name: metric.state_dict() for name, metric in loop.metrics.items()},
            },
            "values": dict(state.values),
            "history": [dict(row) for row in learner.history.rows],
        }
        values = state.values if within else self.values_of_epoch()
        known = {key: value for key, value in values.items() if "/" in key and not key.startswith("system/")}
        try:
            state.checkpoint = folder.save(
                saved, epoch=state.epoch, step=state.step, batch=state.batch if within else 0, metrics=known, reasons=reasons
            )
        except CheckpointError as error:
            if self.unsaved is None:
                learner.tell(f"{error} Training continues and will try again with the next one.")
            self.unsaved = error
            return
        if self.unsaved is not None:
            learner.tell(f"checkpoints can be written again: {state.checkpoint.file}")
        self.unsaved = None
        self._saved_at = state.step, state.done
        learner.hooks.call("on_checkpoint", learner)

    def close(self, failure: BaseException | None) -> None:
        """Writes how training ended."""
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
