"""compile, fit, evaluate, predict and their relatives: mixed into models, and into any module that is given this face."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Module

from . import optimizers
from .backend import resolve
from .batches import ArrayBatches, Batches, as_batch, batches, class_weights, on_device
from .callbacks import Callbacks, History
from .objective import Objective, default_loss
from .progress import ProgbarLogger, Progress
from .structure import leaves, mapped, single
from .symbol import mode
from .weights import WeightMethods, is_frozen


class TrainingMethods(WeightMethods):
    """A module with these can be compiled and trained."""

    if not TYPE_CHECKING:
        __slots__ = ()  # of the layout of the class that it is mixed into

    _objective: Objective | None = None
    _optimizer: optimizers.Optimizer | None = None
    _device: Any = None
    history: History | None = None
    stop_training = False
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
    ) -> None:
        """Says how to train: the optimiser, the loss, the metrics, by name or as objects.

        The last four arguments, which tell Keras how to run, are accepted and have no effect.
        """
        self._optimizer = optimizers.get(optimizer)
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

    def _train_step(self, x: Any, y: Any, weight: Any) -> None:
        output = self.call_with(x)
        if self._optimizer is None or self._objective is None:
            raise RuntimeError("the model is not compiled")
        loss, y_pred = self._objective.loss_of(y, output, weight, self.output_names)
        for penalty in getattr(self, "losses", ()):
            loss = loss + penalty
        self._optimizer.follow(self.trainable_weights)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self._objective.update(loss, y, y_pred, weight)

    def _test_step(self, x: Any, y: Any, weight: Any) -> None:
        with pyburn.no_grad():
            output = self.call_with(x)
            objective = self._compiled_for(y)
            loss, y_pred = objective.loss_of(y, output, weight, self.output_names)
            for penalty in getattr(self, "losses", ()):
                loss = loss + penalty
            objective.update(loss, y, y_pred, weight)

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False) -> Any:
        """One step; returns the loss and metrics of the batch."""
        objective = self._compiled_for(y)
        objective.reset()
        with training_mode(self):
            self._train_step(*self._prepared(x, y, sample_weight, class_weight))
        return _result(objective, return_dict)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """The loss and metrics of a batch, without a step."""
        objective = self._compiled_for(y)
        objective.reset()
        with mode(self, False):
            self._test_step(*self._prepared(x, y, sample_weight))
        return _result(objective, return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for a batch, as arrays."""
        x, _, _ = self._prepared(x, None, None)
        with mode(self, False), pyburn.no_grad():
            return mapped(_numpy, self.call_with(x))

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
        events = Callbacks([*(callbacks or ()), history], self, params)
        self.stop_training, self.history = False, history
        endless = _Endless(train) if steps_per_epoch is not None else None
        events.call("train_begin")
        try:
            for epoch in range(initial_epoch, epochs):
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
        finally:
            events.call("train_end")
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
        objective = self._objective
        if objective is not None:
            objective.reset()
        with training_mode(self):
            for step, (x, y, weight) in enumerate(source):
                x, y, weight = self._prepared(x, y, weight, class_weight)
                objective = self._compiled_for(y)
                events.call("train_batch_begin", step)
                self._train_step(x, y, weight)
                events.call("train_batch_end", step, logs=objective.logs)
                bar.step(objective.logs)
                if self.stop_training:
                    break
        if objective is None:
            raise ValueError("there is no data: the source gave no batch")
        return objective.logs()

    def _evaluated(self, data: Batches, steps: int | None, events: Callbacks, bar: Progress | None) -> dict[str, float]:
        if self._objective is not None:
            self._objective.reset()
        events.call("test_begin")
        done = 0
        with mode(self, False):
            for done, (x, y, weight) in enumerate(data, 1):
                events.call("test_batch_begin", done - 1)
                self._test_step(*self._prepared(x, y, weight))
                assert self._objective is not None
                events.call("test_batch_end", done - 1, logs=self._objective.logs)
                if bar is not None and bar.wants(done):
                    bar.draw(done, self._objective.logs())
                if steps is not None and done >= steps:
                    break
        if self._objective is None or not done:
            raise ValueError("there is no data: the source gave no batch")
        logs = self._objective.logs()
        if bar is not None:
            bar.finish(done, logs)
        events.call("test_end", logs=logs)
        return logs

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
        bar, found = Progress(verbose, steps or data.steps), []
        for inputs, _, _ in data:
            found.append(self.predict_on_batch(inputs))
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

    def save(self, filepath: Any) -> None:
        """Writes the model, how it is compiled and its weights to one file, for `p_vision.load_model`."""
        from .saving import save_model

        save_model(self, filepath)

    def save_weights(self, filepath: Any) -> None:
        """Writes the weights alone."""
        from .saving import save_weights

        save_weights(self, filepath)

    def load_weights(self, filepath: Any) -> None:
        """Takes over the weights of a file: one of `save` or `save_weights`, or any file of tensors that pyburn.io reads."""
        from .saving import load_weights

        load_weights(self, filepath)

    def summary(self, line_length: int | None = None, print_fn: Any = None, input_shape: Any = None) -> None:
        """Prints a table of the layers, their output shapes and numbers of weights."""
        from .summary import summary_text

        (print_fn or print)(summary_text(self, line_length, input_shape))


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


def _result(objective: Objective, return_dict: bool) -> Any:
    logs = objective.logs()
    return logs if return_dict else single(list(logs.values()))


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().to("cpu").numpy()
