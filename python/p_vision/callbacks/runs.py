"""Callbacks that record or resume runs: TensorBoard, BackupAndRestore, RemoteMonitor, SwapEMAWeights."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyburn
import pyburn.io
from pyburn.train.random_states import random_state, set_random_state

from .callback import Callback, Every, Logs


@dataclass(eq=False)
class TensorBoard(Callback):
    """Writes the logs of each epoch, or of every `update_freq` batches, for TensorBoard: `log_dir/train` and `log_dir/validation`.

    Keras's options for histograms, graphs, profiling and embeddings are accepted and have no effect.

    Args:
        log_dir: The folder.
        histogram_freq: Has no effect, like write_graph, write_images, write_steps_per_second, profile_batch, embeddings_freq and
            embeddings_metadata.
        update_freq: "epoch", "batch", or a number of batches.

    Raises:
        ValueError: update_freq is unknown.

    >>> p_vision.TensorBoard("logs").log_dir.name
    'logs'
    """

    log_dir: Any = "./logs"
    histogram_freq: int = 0
    write_graph: bool = True
    write_images: bool = False
    write_steps_per_second: bool = False
    update_freq: Any = "epoch"
    profile_batch: Any = 0
    embeddings_freq: int = 0
    embeddings_metadata: Any = None

    def __post_init__(self) -> None:
        self.log_dir, self._due = Path(self.log_dir), Every(1 if self.update_freq == "batch" else self.update_freq)
        self._writers: dict[str, Any] = {}

    def _write(self, part: str, values: dict[str, float], step: int) -> None:
        if not values:
            return
        if part not in self._writers:
            from pyburn.train.run.events import EventWriter

            (self.log_dir / part).mkdir(parents=True, exist_ok=True)
            self._writers[part] = EventWriter(self.log_dir / part)
        self._writers[part].scalars(values, step)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        if self._due.after_batch():
            self._write("train", {f"batch_{name}": value for name, value in (logs or {}).items()}, self._due.batches)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        logs = logs or {}
        self._write("train", {f"epoch_{name}": value for name, value in logs.items() if not name.startswith("val_")}, epoch)
        rate = {"epoch_learning_rate": float(self.model.optimizer.learning_rate)} if self.model.optimizer is not None else {}
        self._write("train", rate, epoch)
        self._write("validation", {f"epoch_{n.removeprefix('val_')}": v for n, v in logs.items() if n.startswith("val_")}, epoch)
        for writer in self._writers.values():
            writer.flush()  # makes the values visible during training

    def on_train_end(self, logs: Logs | None = None) -> None:
        for writer in self._writers.values():
            writer.flush()
        self._writers = {}


@dataclass(eq=False)
class BackupAndRestore(Callback):
    """Backs up the training state, so that an interrupted `fit` resumes when it is called again.

    The state consists of the weights, the optimizer state, the random number generators and the epoch. With `save_freq="epoch"`, a resumed
    run gives bit-identical weights, if the data depend only on the random numbers of pyburn, NumPy and Python.

    Args:
        backup_dir: The folder of the backup.
        save_freq: "epoch", or a number of batches.
        double_checkpoint: Accepted for compatibility: a backup is replaced only when the new one is complete.
        delete_checkpoint: Whether to remove the backup when training ends.

    >>> p_vision.BackupAndRestore("backup").save_freq
    'epoch'
    """

    backup_dir: Any
    save_freq: Any = "epoch"
    double_checkpoint: bool = False
    delete_checkpoint: bool = True

    def __post_init__(self) -> None:
        self.backup_dir, self._due, self._epoch = Path(self.backup_dir), Every(self.save_freq), 0

    @property
    def _path(self) -> Path:
        return self.backup_dir / "backup.pyburn"

    def on_train_begin(self, logs: Logs | None = None) -> None:
        if not self._path.exists():
            return
        kept = pyburn.io.load(self._path)
        notes = json.loads(bytes(kept["notes"].tolist()))
        self.model.set_weights([kept[f"weight{i}"] for i in range(notes["weights"])])
        if self.model.optimizer is not None:
            self.model.optimizer.restore(self.model.trainable_weights, kept, notes["optimizer"])
        self.model.initial_epoch = notes["epoch"]
        if "random" in kept and self.save_freq == "epoch":  # within an epoch the data restart
            set_random_state(kept["random"])

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        if self._due.after_batch():
            self._save(self._epoch)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if self.save_freq == "epoch":
            self._save(epoch + 1)

    def _save(self, epoch: int) -> None:
        self.backup_dir.mkdir(parents=True, exist_ok=True)
        weights = [tensor.detach() for tensor in self.model.weights]
        tensors: dict[str, Any] = {f"weight{i}": tensor for i, tensor in enumerate(weights)}
        optimizer, kept = {}, dict[str, Any]()
        if self.model.optimizer is not None:
            optimizer, kept = self.model.optimizer.notes()
        notes = json.dumps({"epoch": epoch, "weights": len(weights), "optimizer": optimizer}).encode()
        state = {**tensors, **kept, "notes": pyburn.tensor(list(notes), dtype=pyburn.uint8), "random": random_state()}
        pyburn.io.save(state, self._path)  # atomic: the previous backup is kept until this one is complete

    def on_train_end(self, logs: Logs | None = None) -> None:
        if self.delete_checkpoint:
            self._path.unlink(missing_ok=True)


@dataclass(eq=False)
class RemoteMonitor(Callback):
    """Sends the logs of each epoch to an HTTP server.

    Args:
        root: The address of the server.
        path: The path of the requests.
        field: The form field of the logs.
        headers: Additional HTTP headers.
        send_as_json: Whether to send JSON instead of a form.

    >>> p_vision.RemoteMonitor().path
    '/publish/epoch/end/'
    """

    root: str = "http://localhost:9000"
    path: str = "/publish/epoch/end/"
    field: str = "data"
    headers: Any = None
    send_as_json: bool = False

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        import urllib.parse
        import urllib.request
        import warnings

        said = json.dumps({"epoch": epoch, **{name: float(value) for name, value in (logs or {}).items()}})
        body = said.encode() if self.send_as_json else urllib.parse.urlencode({self.field: said}).encode()
        headers = {**({"Content-Type": "application/json"} if self.send_as_json else {}), **(self.headers or {})}
        try:
            urllib.request.urlopen(urllib.request.Request(self.root + self.path, body, headers), timeout=10).close()
        except OSError as error:
            warnings.warn(f"[RemoteMonitor] {self.root} was not reached: {error}", stacklevel=2)


class SwapEMAWeights(Callback):
    """Evaluates with the moving averages of the weights that an optimizer with `use_ema=True` keeps; training continues with the weights.

    Args:
        swap_on_epoch: Whether to swap at the end of each epoch, too, for callbacks that save the model.

    >>> p_vision.SwapEMAWeights().swap_on_epoch
    False
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        self.swap_on_epoch = swap_on_epoch
        self._weights: list[Any] | None = None

    def _swap_in(self) -> None:
        optimizer = self.model.optimizer
        if optimizer is None or not optimizer.use_ema:
            raise ValueError("[SwapEMAWeights] the optimizer keeps no averages: give it use_ema=True")
        if self._weights is None:
            self._weights = [tensor.detach().clone() for tensor in self.model.trainable_weights]
            optimizer.finalize_variable_values(self.model.trainable_weights)

    def _swap_out(self) -> None:
        if self._weights is not None:
            with pyburn.no_grad():
                for tensor, values in zip(self.model.trainable_weights, self._weights):
                    tensor.copy_(values)
            self._weights = None

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if self.swap_on_epoch:
            self._swap_in()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._swap_out()

    def on_test_begin(self, logs: Logs | None = None) -> None:
        self._swap_in()

    def on_test_end(self, logs: Logs | None = None) -> None:
        self._swap_out()

    on_predict_begin, on_predict_end = on_test_begin, on_test_end

    def on_train_end(self, logs: Logs | None = None) -> None:
        self._swap_out()
