"""What a Learner does with its model besides training: evaluation and prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Tensor
from .._progress import Progress
from ..autograd import no_grad
from .callbacks import CallbackList
from .errors import ValidationLeft
from .interrupt import StopRequest
from .metrics import Loss, Metric
from .run import Run
from .state import TrainingState
from .steps import Step, StepFunction, run_step, split_batch, to_device
from .updates import Updater


def log_epoch_values(run: Run, state: TrainingState, values: dict[str, float], split: str) -> None:
    """Writes the values and the tables of a pass over the data to the run."""
    run.log(values, step=state.step, epoch=state.epoch, split=split, kind="epoch")
    for key, table in state.tables.items():
        if key.startswith(f"{split}/"):
            run.log_table(key[len(split) + 1 :], table, step=state.step, epoch=state.epoch, split=split)


class Evaluation:
    """The part of Learner that evaluates and predicts."""

    model: Any
    device: Any
    step_function: StepFunction
    updater: Updater
    state: TrainingState
    metrics: dict[str, Metric]
    callbacks: list[Any]
    hooks: CallbackList
    stop_request: StopRequest
    run: Run | None

    @property
    def eval_model(self) -> Any:
        """The model used for evaluation: the averaged model if `ema` is set, else the model."""
        return self.updater.ema.module if self.updater.ema is not None else self.model

    @contextmanager
    def evaluating(self) -> Iterator[Any]:
        """Context manager that returns the model in evaluation mode, without gradients; the mode of each module is restored afterwards."""
        model = self.eval_model
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        try:
            with no_grad(), self.updater.precision():
                yield model
        finally:
            for module, training in modes:
                module.training = training

    def validate(self, data: Iterable[Any], split: str = "valid", *, progress: bool = True) -> dict[str, float]:
        """Computes the loss and the metrics over a data set.

        Args:
            data: An iterable of batches.
            split: The name under which the values are stored in `state.values`.
            progress: Whether to draw a progress bar on a terminal if evaluation takes longer than a moment.

        Returns:
            The values by name. Results that are not numbers, such as confusion matrices, are in `state.tables`.

        Raises:
            ValueError: data has no batches.
        """
        return self.validated(self._watched(data, "evaluating", progress), split)

    def _watched(self, data: Iterable[Any], doing: str, progress: bool) -> Iterable[Any]:
        """Adds a progress bar, unless the display of fit is active."""
        return Progress(data, doing) if progress and len(self.hooks.callbacks) == len(self.callbacks) else data

    def validated(self, data: Iterable[Any], split: str, leave: bool = False) -> dict[str, float]:
        """Like `validate`, without a progress bar; with `leave`, a stop request raises ValidationLeft."""
        state = self.state
        loss, metrics = Loss(), {name: metric.fresh() for name, metric in self.metrics.items()}
        before, state.split, state.result = state.split, split, None
        state.running = lambda: self.values_so_far(loss, metrics)
        self.hooks.call("on_validation_start", self)
        empty = True
        with self.evaluating() as model:
            for batch in data:
                empty = False
                state.inputs = batch = self.place(batch)
                self.hooks.call("on_validation_batch_start", self)
                result = run_step(self.step_function, model, batch, need_loss=False)
                if result.loss is not None:
                    loss.update(result.loss, result.count)
                if result.output is not None:
                    for metric in metrics.values():
                        metric.update(result.output, result.target)
                state.result = result
                self.hooks.call("on_validation_batch_end", self)
                if leave and self.stop_request.reason:
                    raise ValidationLeft
        if empty:
            raise ValueError(f"[Learner] the data for {split!r} gave no batches: is it empty, or an iterator that is used up?")
        values = self.computed(loss, metrics, split)
        self.hooks.call("on_validation_end", self)
        state.split = before
        return values

    def values_so_far(self, loss: Loss, metrics: dict[str, Metric]) -> dict[str, float]:
        """Returns the mean loss, the metrics that are numbers, and the running values of the last step."""
        values = {"loss": loss.compute()} if loss.state["weight"] else {}
        values.update({name: float(metric.compute()) for name, metric in metrics.items() if metric.table() is None})
        result = self.state.result
        return {**values, **(result.running() if result is not None and result.running is not None else {})}

    def computed(self, loss: Loss, metrics: dict[str, Metric], split: str) -> dict[str, float]:
        """Returns the values of a pass over the data and stores them in the state; tables are only stored."""
        values = self.values_so_far(loss, metrics)
        tables = {f"{split}/{name}": metric.table() for name, metric in metrics.items()}
        self.state.tables.update({name: table for name, table in tables.items() if table is not None})
        self.state.values.update({f"{split}/{name}": value for name, value in values.items()})
        return values

    def evaluate(self, data: Iterable[Any], name: str = "test", *, progress: bool = True) -> dict[str, float]:
        """Computes the loss and the metrics like `validate`, and logs the result to the run under `name`.

        Args:
            data: The batches.
            name: The name in the run.
            progress: Whether to show a progress bar.

        Returns:
            The loss and the metrics by name.
        """
        values = self.validate(data, name, progress=progress)
        if self.run is not None:
            log_epoch_values(self.run, self.state, values, name)
            self.run.flush()
            if self.run.status["state"] not in ("running", "paused"):  # after fit: adds the results to the report
                self.run.write_report()
        return values

    def predict(self, data: Iterable[Any] | Tensor, *, progress: bool = True) -> Any:
        """Runs the model on every batch and concatenates the predictions.

        Args:
            data: An iterable of batches: inputs alone, or as in `fit`, where the targets are ignored. A tensor is a single batch.
            progress: Whether to draw a progress bar on a terminal.

        Returns:
            A tensor, or a list with one output per batch if the outputs are not all tensors with at least one dimension.
        """
        outputs = self.outputs([data] if isinstance(data, Tensor) else self._watched(data, "predicting", progress))
        if outputs and all(isinstance(output, Tensor) and output.dim() for output in outputs):
            return _core.cat(outputs)
        return outputs

    def outputs(self, data: Iterable[Any]) -> list[Any]:
        """Returns the predictions for each batch, without concatenating them."""
        found: list[Any] = []
        self.hooks.call("on_predict_start", self)
        with self.evaluating() as model:
            for batch in data:
                self.state.inputs = batch = self.place(batch)
                self.hooks.call("on_predict_batch_start", self)
                found.append(self.output_of(model, batch))
                self.state.result = Step(None, found[-1])
                self.hooks.call("on_predict_batch_end", self)
        self.hooks.call("on_predict_end", self)
        self.state.inputs = self.state.result = None
        return found

    def place(self, batch: Any) -> Any:
        """Moves a batch to the device; a subclass may override it."""
        return to_device(batch, self.device)

    def output_of(self, model: Any, batch: Any) -> Any:
        """Returns the prediction for a batch; a subclass may override it."""
        inputs, named, _ = split_batch(batch)
        return model(*inputs, **named)
