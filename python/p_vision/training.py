"""compile, fit, evaluate, predict and related methods: a mixin for models and for modules passed to `as_model`."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyburn
from pyburn import Tensor
from pyburn._device import check_keeps_data
from pyburn._nested import leaves, mapped, single
from pyburn.nn import Module

from . import optimizers
from .batches import as_batch, batches, class_weights, on_device, with_validation
from .callbacks.callback import History
from .callbacks.progress import PassBar, ProgbarLogger
from .devices import resolve
from .file_methods import FileMethods
from .learner import ModelLearner, Passes, training_mode
from .metrics.metric import Metric
from .objective import Objective, as_number, default_loss
from .symbolic.symbol import mode
from .weights import WeightMethods, as_array


class TrainingMethods(FileMethods, WeightMethods):
    """Mixin that adds compile, fit, evaluate, predict and saving to a module."""

    if not TYPE_CHECKING:
        __slots__ = ()  # keeps the memory layout of the class it is mixed into

    _objective: Objective | None = None
    _optimizer: optimizers.Optimizer | None = None
    _device: Any = None
    history: History | None = None
    stop_training = False
    initial_epoch = 0
    output_names: list[str] = ["output"]

    # ---- device

    @property
    def backend(self) -> Any:
        """The device of the weights, present and future. Assigning a name, enum member or device moves the model."""
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

    # ---- compilation

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
        """Configures training.

        Args:
            optimizer: The name of an optimizer, an Optimizer, or an optimizer of pyburn.optim.
            loss: The name of a loss, a Loss or a function of (y_true, y_pred); a list or dict of them for several outputs.
            loss_weights: The weights of the losses of several outputs.
            metrics: Metrics or their names, for each output.
            weighted_metrics: Metrics that use the sample weights.
            run_eagerly: Accepted for compatibility; has no effect.
            steps_per_execution: Accepted for compatibility; has no effect.
            jit_compile: Accepted for compatibility; has no effect.
            auto_scale_loss: Wraps the optimizer of a model with the policy "mixed_float16" in a LossScaleOptimizer.
            backend: Moves the model, as setting `model.backend` does.
        """
        if backend is not None:
            self.backend = backend
        self._optimizer = optimizers.get(optimizer)
        if auto_scale_loss and not isinstance(self._optimizer, optimizers.LossScaleOptimizer) and _computes_in_float16(self):
            self._optimizer = optimizers.LossScaleOptimizer(self._optimizer)
        self.__dict__["_objective"] = Objective(loss, loss_weights, metrics, weighted_metrics)  # never a child module

    @property
    def optimizer(self) -> Any:
        """The optimizer passed to `compile`."""
        return self._optimizer

    @property
    def compiled(self) -> bool:
        """Whether `compile` was called."""
        return self._objective is not None

    @property
    def metrics_names(self) -> list[str]:
        """The names of the values that `evaluate` returns."""
        return list(self._objective.logs()) if self._objective is not None else []

    def _compiled_for(self, y: Any) -> Objective:
        """Returns the objective; a model that is not compiled gets Adam and a loss chosen from its targets."""
        if self._objective is None:
            self.compile("adam", default_loss(y, self.last_activation()))
        assert self._objective is not None
        return self._objective

    def last_activation(self) -> str | None:
        """Returns the name of the activation of the last layer, if known."""
        return None

    def input_dtypes(self) -> Any:
        """Returns the dtypes that inputs are cast to; None leaves them unchanged."""
        return None

    def call_with(self, x: Any) -> Any:
        """Calls the model on the inputs of a batch; a tuple or list is unpacked into arguments."""
        return self(*x) if isinstance(x, (tuple, list)) else self(x)

    # ---- single batches

    def prepared(self, x: Any, y: Any, weight: Any, class_weight: Any = None) -> tuple[Any, Any, Any]:
        """Moves a batch to the device and casts it; class weights become sample weights."""
        device = self.backend
        x, y, weight = on_device(x, device, self.input_dtypes()), on_device(y, device), on_device(weight, device)
        if class_weight is not None:
            if not isinstance(y, Tensor):
                raise ValueError("class_weight is for models with one output")
            of_class = class_weights(y, class_weight)
            weight = of_class if weight is None else weight * of_class
        return x, y, weight

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True) -> Tensor:
        """Computes the compiled loss plus the penalties of the layers.

        Args:
            x: The inputs; not used.
            y: The targets.
            y_pred: The outputs of the model.
            sample_weight: The weights of the samples.
            training: Accepted for compatibility; has no effect.

        Raises:
            ValueError: There is neither a loss nor a penalty.
        """
        objective, penalties = self._compiled_for(y), getattr(self, "losses", ())
        if objective.loss is None and not penalties:
            raise ValueError("[compile] a model is trained with a loss: give compile(loss=...), or let a layer call add_loss")
        return sum(penalties, objective.loss_of(y, y_pred, sample_weight, self.output_names))

    def train_step(self, data: Any) -> Any:
        """Runs one training step on a batch (x, y, sample_weight) and returns its logs. A subclass may override it and return a dict.

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
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)  # Keras's message
        for part in self.modules():
            if isinstance(part, WeightMethods):
                part.constrain()
        objective.update(loss, y, output, weight)
        return objective.logs

    def test_step(self, data: Any) -> Any:
        """Updates the loss and the metrics with a batch (x, y, sample_weight) and returns the logs. A subclass may override it."""
        x, y, weight = as_batch(data)
        output = self.call_with(x)
        objective = self._compiled_for(y)
        objective.update(self.compute_loss(x, y, output, weight), y, output, weight)
        return objective.logs

    def predict_step(self, data: Any) -> Any:
        """Computes the outputs for a batch. A subclass may override it."""
        return self.call_with(as_batch(data)[0])

    def get_metrics_result(self) -> dict[str, Any]:
        """Returns the loss and the metrics of the epoch so far, for overridden steps to return."""
        return self._objective.logs() if self._objective is not None else {m.name: as_number(m.result()) for m in self.metrics}

    def run_step(self, step: Any, x: Any, y: Any, weight: Any) -> Callable[[], dict[str, Any]]:
        """Runs a step and returns a function that reads its logs, so that the device is not synchronized unless the logs are used."""
        logs = step((x, y) if weight is None else (x, y, weight))
        if callable(logs):
            return logs
        if not isinstance(logs, Mapping):
            raise TypeError(f"[{step.__name__}] a step of your own returns a dict of numbers: got {type(logs).__name__}")
        return lambda: {name: as_number(value) for name, value in logs.items()}

    @property
    def metrics(self) -> list[Any]:
        """The metrics that are reset in each epoch: the loss, the compiled metrics and the metrics that are attributes of the model."""
        compiled = self._objective.all_metrics() if self._objective is not None else []
        return compiled + [value for value in vars(self).values() if isinstance(value, Metric)]

    def _named_metrics(self) -> list[tuple[str, Any]]:
        """Returns the metrics with their names in the logs."""
        compiled = self._objective.named_metrics() if self._objective is not None else []
        return compiled + [(value.name, value) for value in vars(self).values() if isinstance(value, Metric)]

    def reset_metrics(self) -> None:
        """Resets the state of all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def reset_states(self) -> None:
        """Resets the states of stateful layers."""
        for part in self.modules():
            if part is not self and hasattr(part, "reset_states") and not isinstance(part, TrainingMethods):
                part.reset_states()

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False) -> Any:
        """Runs one training step on a batch.

        Args:
            x: The inputs.
            y: The targets.
            sample_weight: The weights of the samples.
            class_weight: The weights of the classes, by label.
            return_dict: Whether to return a dict by name.

        Returns:
            The loss and the metrics: a dict, a list, or a single value.
        """
        self.reset_metrics()
        with training_mode(self):
            logs = self.run_step(self.train_step, *self.prepared(x, y, sample_weight, class_weight))()
        return logs if return_dict else single(list(logs.values()))

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        """Returns the loss and the metrics of a batch without a training step."""
        self.reset_metrics()
        with mode(self, False), pyburn.no_grad():
            logs = self.run_step(self.test_step, *self.prepared(x, y, sample_weight))()
        return logs if return_dict else single(list(logs.values()))

    def predict_on_batch(self, x: Any) -> Any:
        """Returns the outputs for a batch as NumPy arrays."""
        x, _, _ = self.prepared(x, None, None)
        with mode(self, False), pyburn.no_grad():
            return mapped(as_array, self.predict_step((x,)))

    # ---- data sets

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
        """Trains the model for a number of epochs.

        A model that is not compiled is trained with Adam and a loss chosen from its targets: a cross entropy for integer targets or a
        softmax or sigmoid output, mean squared error otherwise.

        Args:
            x: An array, a nested structure of arrays, a dataset of samples (x, y), or an iterable of batches (x, y) or (x, y, weight).
            y: The targets, if x holds arrays.
            batch_size: The batch size.
            epochs: The index of the epoch to stop before; the number of epochs if initial_epoch is 0.
            verbose: What to print: "auto", 0, 1 (progress bar) or 2 (one line per epoch).
            callbacks: A callback or a list of callbacks.
            validation_split: The fraction of the samples, from the end, that is used for validation.
            validation_data: The validation data.
            shuffle: Whether to shuffle the samples in each epoch.
            class_weight: The weights of the classes, by label.
            sample_weight: The weights of the samples.
            initial_epoch: The index of the first epoch.
            steps_per_epoch: The number of batches per epoch.
            validation_steps: The number of batches per validation.
            validation_batch_size: The batch size of the validation.
            validation_freq: Validate every this many epochs.

        Returns:
            The history of the loss and the metrics.
        """
        train = batches(x, y, sample_weight, batch_size, shuffle)
        train, validation = with_validation(train, validation_split, validation_data, validation_batch_size or batch_size)
        if self._device is not None:
            self.to(device=self._device)  # a part that was replaced may be on another device
        source = Passes(train, steps_per_epoch, goes_on=True)
        steps = steps_per_epoch or train.steps
        self.history, self.initial_epoch = History(), initial_epoch
        learner = ModelLearner(
            self, [*_listed(callbacks), self.history], {"epochs": epochs, "steps": steps, "verbose": verbose}, class_weight
        )
        learner.fit(
            source,
            None if validation is None else Passes(validation, validation_steps),
            epochs,
            validate_every=range(validation_freq, epochs + 1, validation_freq),
            display=ProgbarLogger(verbose) if verbose else None,
        )
        if learner.stop_request.signal:  # Ctrl-C has ended training between two steps
            signal.raise_signal(learner.stop_request.signal)
        return self.history

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
        """Computes the loss and the metrics over a data set.

        Args:
            x: The inputs, or data as in `fit`.
            y: The targets.
            batch_size: The batch size.
            verbose: What to print, as in `fit`.
            sample_weight: The weights of the samples.
            steps: The maximum number of batches.
            callbacks: A callback or a list of callbacks.
            return_dict: Whether to return a dict by name.

        Returns:
            The loss, a list of the loss and the metrics, or a dict.
        """
        data = Passes(batches(x, y, sample_weight, batch_size), steps)
        logs = ModelLearner(self, [*_listed(callbacks), PassBar(verbose, data)]).validate(data, "test", progress=False)
        return logs if return_dict else single(list(logs.values()))

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto", steps: int | None = None, callbacks: Any = None) -> Any:
        """Runs the model on every batch and concatenates the outputs into NumPy arrays."""
        import numpy

        data = Passes(batches(x, None, None, batch_size), steps)
        found = ModelLearner(self, [*_listed(callbacks), PassBar(verbose, data)]).outputs(data)
        if not found:
            raise ValueError("there is no data: the source gave no batch")
        columns = zip(*(list(leaves(output)) for output in found))
        joined = iter([numpy.concatenate(parts) for parts in columns])
        return mapped(lambda _: next(joined), found[0])

    def train(self, data: Any = True, y: Any = None, **options: Any) -> Any:  # type: ignore[override]
        """Trains as `fit` does if data is given; `train()`, `train(True)` and `train(False)` set the mode, as in PyTorch."""
        if isinstance(data, bool):
            if y is not None or options:
                raise TypeError("train() without data sets the mode: give the data first, train(data, epochs=...)")
            return Module.train(self, data)  # type: ignore[arg-type]
        return self.fit(data, y, **options)

    def eval(self) -> Any:
        """Sets evaluation mode, as in PyTorch."""
        return self.train(False)


def _computes_in_float16(model: Any) -> bool:
    policies = [getattr(part, "_policy", None) for part in model.modules()]
    return any(policy is not None and policy.name == "mixed_float16" for policy in policies)


def _listed(callbacks: Any) -> list[Any]:
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
