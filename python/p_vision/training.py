"""compile, fit, evaluate, predict and their relatives: mixed into models, and into any module that is given this face."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyburn
from pyburn import Tensor
from pyburn._device import check_keeps_data
from pyburn.nn import Module

from . import optimizers
from .batches import ArrayBatches, Batches, as_batch, batches, class_weights, on_device
from .callbacks import Callbacks, History
from .callbacks.progress import ProgbarLogger, Progress
from .devices import resolve
from .metrics.metric import Metric
from .objective import Objective, as_number, default_loss
from .symbolic.structure import leaves, mapped, single
from .symbolic.symbol import mode
from .weights import WeightMethods, as_array, is_frozen


class TrainingMethods(WeightMethods):
    """A module with these can be compiled and trained."""

    if not TYPE_CHECKING:
        __slots__ = ()  # of the layout of the class that it is mixed into

    _objective: Objective | None = None
    _optimizer: optimizers.Optimizer | None = None
    _device: Any = None
    history: History | None = None
    stop_training = False
    initial_epoch = 0
    output_names: list[str] = ["output"]

    # ---- where it is

    @property
    def backend(self) -> Any:
        """The device of the weights, and of those to come. Setting it moves the model: by name, enumeration member or device."""
        tensor = next(iter(self.parameters()), None)
        return tensor.device if tensor is not None else self._device or pyburn.get_default_device()

    @backend.setter
    def backend(self, backend: Any) -> None:
        device = resolve(backend)
        check_keeps_data(self, device)
        self.to(device=device)
        for module in self.modules():
            if isinstance(module, TrainingMethods):
                module._device = device
        if self._optimizer is not None:
            self._optimizer.moved()

    # ---- what it is trained for

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
        *,
        backend: Any = None,
    ) -> None:
        """Says how to train: the optimiser, the loss, the metrics, by name or as objects.

        With `auto_scale_loss`, models of the policy "mixed_float16" get a LossScaleOptimizer around theirs. The three arguments before it,
        which tell Keras how to run, are accepted and have no effect. `backend` moves the model, as setting `model.backend` does.
        """
        if backend is not None:
            self.backend = backend
        self._optimizer = optimizers.get(optimizer)
        if auto_scale_loss and not isinstance(self._optimizer, optimizers.LossScaleOptimizer) and _computes_in_float16(self):
            self._optimizer = optimizers.LossScaleOptimizer(self._optimizer)
        self.__dict__["_objective"] = Objective(loss, loss_weights, metrics, weighted_metrics)  # no module, whatever it holds

    @property
    def optimizer(self) -> Any:
        """The optimiser that the model was compiled with."""
        return self._optimizer

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self._objective is not None

    @property
    def metrics_names(self) -> list[str]:
        """The names of the numbers that `evaluate` gives."""
        return list(self._objective.logs()) if self._objective is not None else []

    def _compiled_for(self, y: Any) -> Objective:
        """The objective; a model that was not compiled gets Adam and the loss that its targets suggest."""
        if self._objective is None:
            self.compile("adam", default_loss(y, self.last_activation()))
        assert self._objective is not None
        return self._objective

    def last_activation(self) -> str | None:
        """The name of the activation that the outputs come from, where there is one."""
        return None

    def input_dtypes(self) -> Any:
        """The dtypes that inputs are converted to; None leaves them as they are."""
        return None

    def call_with(self, x: Any) -> Any:
        """Calls the model with the inputs of a batch; several are several arguments."""
        return self(*x) if isinstance(x, (tuple, list)) else self(x)

    # ---- one batch

    def _prepared(self, x: Any, y: Any, weight: Any, class_weight: Any = None) -> tuple[Any, Any, Any]:
        device = self.backend
        x, y, weight = on_device(x, device, self.input_dtypes()), on_device(y, device), on_device(weight, device)
        if class_weight is not None:
            if not isinstance(y, Tensor):
                raise ValueError("class_weight is for models with one output")
            of_class = class_weights(y, class_weight)
            weight = of_class if weight is None else weight * of_class
        return x, y, weight

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True) -> Tensor:
        """The compiled loss of outputs, with the penalties of the layers."""
        objective, penalties = self._compiled_for(y), getattr(self, "losses", ())
        if objective.loss is None and not penalties:
            raise ValueError("[compile] a model is trained with a loss: give compile(loss=...), or let a layer call add_loss")
        return sum(penalties, objective.loss_of(y, y_pred, sample_weight, self.output_names))

    def train_step(self, data: Any) -> Any:
        """One step with a batch (x, y, sample_weight). A model may define its own; what it returns is a dict of numbers to show.

        def train_step(self, data):
            x, y = data
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            self.optimizer.minimize(loss, self.trainable_weights)
            self.loss_tracker.update_state(loss)
            return {"loss": self.loss_tracker.result()}
        """
        x, y, weight = as_batch(data)
        output = self.call_with(x)
        objective = self._compiled_for(y)
        loss = self.compute_loss(x, y, output, weight)
        weights = self.trainable_weights
        if weights:
            self.optimizer.minimize(loss, weights)
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)  # as Keras says it
        for part in self.modules():
            if isinstance(part, WeightMethods):
                part.constrain()
        objective.update(loss, y, output, weight)
        return objective.logs

    def test_step(self, data: Any) -> Any:
        """The loss and metrics of a batch (x, y, sample_weight). A model may define its own."""
        x, y, weight = as_batch(data)
        output = self.call_with(x)
        objective = self._compiled_for(y)
        objective.update(self.compute_loss(x, y, output, weight), y, output, weight)
        return objective.logs

    def predict_step(self, data: Any) -> Any:
        """The outputs for a batch. A model may define its own."""
        return self.call_with(as_batch(data)[0])

    def get_metrics_result(self) -> dict[str, Any]:
        """The loss and the metrics of what was seen in this epoch, for steps of your own to return."""
        return self._objective.logs() if self._objective is not None else {m.name: as_number(m.result()) for m in self.metrics}

    def _step(self, step: Any, x: Any, y: Any, weight: Any) -> Callable[[], dict[str, Any]]:
        """Runs a step of the model and gives its logs, which are read when somebody asks for them."""
        logs = step((x, y) if weight is None else (x, y, weight))
        if callable(logs):
            return logs
        if not isinstance(logs, Mapping):
            raise TypeError(f"[{step.__name__}] a step of your own returns a dict of numbers: got {type(logs).__name__}")
        return lambda: {name: as_number(value) for name, value in logs.items()}

    @property
    def metrics(self) -> list[Any]:
        """What begins anew in each epoch: the loss, the compiled metrics, and those that are attributes of the model."""
        compiled = self._objective.all_metrics() if self._objective is not None else []
        return compiled + [value for value in vars(self).values() if isinstance(value, Metric)]

    def _named_metrics(self) -> list[tuple[str, Any]]:
        """The metrics with the names that they have in the logs."""
        compiled = self._objective.named_metrics() if self._objective is not None else []
        return compiled + [(value.name, value) for value in vars(self).values() if isinstance(value, Metric)]

    def reset_metrics(self) -> None:
        """Forgets what the metrics have gathered."""
        for metric in self.metrics:
            metric.reset_state()

    def reset_states(self) -> None:
        """Forgets the states that stateful layers go on from."""
        for part in self.modules():
            if part is not self and hasattr(part, "reset_states") and not isinstance(part, TrainingMethods):
                part.reset_states()

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False) -> Any:
        """One step; returns the loss and metrics of the batch."""
        self.reset_metrics()
        with training_mode(self):
            logs = self._step(self.train_step, *self._prepared(x, y, sample_weight, class_weight))()
        return logs if return_dict else single(list(logs.values()))

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """The loss and metrics of a batch, without a step."""
        self.reset_metrics()
        with mode(self, False), pyburn.no_grad():
            logs = self._step(self.test_step, *self._prepared(x, y, sample_weight))()
        return logs if return_dict else single(list(logs.values()))

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch, as arrays."""
        x, _, _ = self._prepared(x, None, None)
        with mode(self, False), pyburn.no_grad():
            return mapped(as_array, self.predict_step((x,)))

    # ---- all data

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int = 1,
    ) -> History:
        """Trains for a number of epochs and returns the history.

        `x` is an array (or a structure of them, with `y` for the targets), a dataset of examples (x, y), or an iterable of batches
        (x, y) or (x, y, weight). A model that was not compiled is trained with Adam, and with the loss that its targets suggest:
        cross entropy for whole numbers, mean squared error for others.
        """
        train, validation = self._both_parts(
            x, y, sample_weight, batch_size, shuffle, validation_split, validation_data, validation_batch_size
        )
        if self._device is not None:
            self.to(device=self._device)  # a part that was replaced since may be elsewhere
        steps = steps_per_epoch or train.steps
        history, bar = History(), ProgbarLogger(verbose, epochs, steps)
        params = {"epochs": epochs, "steps": steps, "verbose": verbose}
        events = Callbacks(callbacks or (), self, params, history)
        self.stop_training, self.history = False, history
        endless = _Endless(train) if steps_per_epoch is not None else None
        logs: dict[str, Any] = {}
        self.initial_epoch = initial_epoch
        events.call("train_begin")  # BackupAndRestore may say that it begins later
        for epoch in range(self.initial_epoch, epochs):
            events.call("epoch_begin", epoch)
            bar.begin(epoch)
            source = itertools.islice(endless, steps_per_epoch) if endless is not None else train
            logs = self._train_epoch(source, class_weight, events, bar)
            if validation is not None and (epoch + 1) % validation_freq == 0:
                logs.update({f"val_{k}": v for k, v in self._evaluated(validation, validation_steps, events, None).items()})
            bar.end(logs)
            events.call("epoch_end", epoch, logs=logs)
            if self.stop_training:
                break
        if self._optimizer is not None and self._optimizer.use_ema:
            self._optimizer.finalize_variable_values(self.trainable_weights)
        events.call("train_end", logs=logs)  # as in Keras, not after an error: BackupAndRestore keeps its files then
        return history

    def _both_parts(
        self, x: Any, y: Any, weight: Any, batch_size: Any, shuffle: bool, split: float, validation_data: Any, validation_batch_size: Any
    ) -> tuple[Batches, Batches | None]:
        train = batches(x, y, weight, batch_size, shuffle)
        if validation_data is not None:
            size = validation_batch_size or batch_size
            x, y, weight = as_batch(validation_data) if isinstance(validation_data, (tuple, list)) else (validation_data, None, None)
            return train, batches(x, y, weight, size)
        if not split:
            return train, None
        if not isinstance(train, ArrayBatches):
            raise ValueError("validation_split is for arrays: give validation_data")
        return train.split(split)

    def _train_epoch(self, source: Any, class_weight: Any, events: Callbacks, bar: ProgbarLogger) -> dict[str, float]:
        self.reset_metrics()
        logs: Callable[[], dict[str, Any]] | None = None
        with training_mode(self):
            for step, (x, y, weight) in enumerate(source):
                events.call("train_batch_begin", step)
                logs = self._step(self.train_step, *self._prepared(x, y, weight, class_weight))
                events.call("train_batch_end", step, logs=logs)
                bar.step(logs)
                if self.stop_training:
                    break
        if logs is None:
            raise ValueError("there is no data: the source gave no batch")
        return logs()

    def _evaluated(self, data: Batches, steps: int | None, events: Callbacks, bar: Progress | None) -> dict[str, float]:
        self.reset_metrics()
        events.call("test_begin")
        done, logs = 0, None
        with mode(self, False), pyburn.no_grad():
            for done, (x, y, weight) in enumerate(data, 1):
                events.call("test_batch_begin", done - 1)
                logs = self._step(self.test_step, *self._prepared(x, y, weight))
                events.call("test_batch_end", done - 1, logs=logs)
                if bar is not None and bar.wants(done):
                    bar.draw(done, logs())
                if steps is not None and done >= steps:
                    break
        if logs is None:
            raise ValueError("there is no data: the source gave no batch")
        found = logs()
        if bar is not None:
            bar.finish(done, found)
        events.call("test_end", logs=found)
        return found

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """The loss, or a list of the loss and the metrics, over all data."""
        data = batches(x, y, sample_weight, batch_size)
        logs = self._evaluated(data, steps, Callbacks(callbacks or (), self, {}), Progress(verbose, steps or data.steps))
        return logs if return_dict else single(list(logs.values()))

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto", steps: int | None = None, callbacks: Any = None) -> Any:
        """The outputs for all data, as arrays."""
        import numpy

        data = batches(x, None, None, batch_size)
        events = Callbacks(callbacks or (), self, {})
        events.call("predict_begin")
        bar = Progress(verbose, steps or data.steps)
        found: list[Any] = []
        for inputs, _, _ in data:
            events.call("predict_batch_begin", len(found))
            found.append(self.predict_on_batch(inputs))
            events.call("predict_batch_end", len(found) - 1, logs={"outputs": found[-1]})
            if bar.wants(len(found)):
                bar.draw(len(found), {})
            if steps is not None and len(found) >= steps:
                break
        if not found:
            raise ValueError("there is no data: the source gave no batch")
        bar.finish(len(found), {})
        events.call("predict_end")
        columns = zip(*(list(leaves(output)) for output in found))
        joined = iter([numpy.concatenate(parts) for parts in columns])
        return mapped(lambda _: next(joined), found[0])

    def train(self, data: Any = True, y: Any = None, **options: Any) -> Any:
        """`train(data, epochs=2)` trains as `fit` does; `train()`, `train(True)` and `train(False)` set the mode, as in PyTorch."""
        if isinstance(data, bool):
            if y is not None or options:
                raise TypeError("train() without data sets the mode: give the data first, train(data, epochs=...)")
            return Module.train(self, data)  # type: ignore[arg-type]
        return self.fit(data, y, **options)

    def eval(self) -> Any:
        """Evaluation mode, as in PyTorch."""
        return self.train(False)

    # ---- files and text

    def save(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes the model, how it is compiled and its weights to one file, for `p_vision.load_model`."""
        from .saving import save_model

        save_model(self, filepath, overwrite)

    def to_json(self) -> str:
        """The drawing as text, for `p_vision.models.model_from_json`."""
        import json

        from .configured import to_plain

        return json.dumps(to_plain(self, type(self).__name__))

    def save_weights(self, filepath: Any, overwrite: bool = True) -> None:
        """Writes the weights alone."""
        from .saving import save_weights

        save_weights(self, filepath, overwrite)

    def load_weights(self, filepath: Any, skip_mismatch: bool = False) -> None:
        """Takes over the weights of a file: one of `save` or `save_weights`, or any file of tensors that pyburn.io reads.

        With `skip_mismatch`, weights that have another shape in the file, or are not in it, stay as they are, with a warning.
        """
        from .saving import load_weights

        load_weights(self, filepath, skip_mismatch)

    def summary(
        self,
        line_length: int | None = None,
        print_fn: Any = None,
        input_shape: Any = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
    ) -> None:
        """Prints a table of the layers, their output shapes and numbers of weights; if told so, of models in it, and what is trained."""
        from .summary import summary_text

        (print_fn or print)(summary_text(self, line_length, input_shape, expand_nested, show_trainable))


class training_mode:  # noqa: N801  (used as a statement)
    """Training mode but for normalisations that are frozen: they keep to their averages, as Keras's do."""

    def __init__(self, model: Any) -> None:
        self.model, self.mode = model, mode(model, True)

    def __enter__(self) -> None:
        self.mode.__enter__()
        for module in self.model.modules():
            if is_frozen(module) and any(True for _ in module.buffers(recurse=False)):
                module.training = False

    def __exit__(self, *error: Any) -> None:
        self.mode.__exit__(*error)


class _Endless:
    """Batches that go on over several epochs; a source that ends begins again."""

    def __init__(self, source: Batches) -> None:
        self.source, self.iterator = source, iter(source)

    def __iter__(self) -> _Endless:
        return self

    def __next__(self) -> Any:
        try:
            return next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.source)
            return next(self.iterator)


def _computes_in_float16(model: Any) -> bool:
    policies = [getattr(part, "_policy", None) for part in model.modules()]
    return any(policy is not None and policy.name == "mixed_float16" for policy in policies)
