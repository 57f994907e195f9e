"""Saving and loading models: one .pyburn bundle with the architecture, the compile configuration and the weights."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.io import Bundle

from .configured import Configured, from_plain, to_plain
from .devices import resolve
from .layer import Layer
from .symbolic.drawing import part_config
from .weights import named_weights

_VERSION = 1
_HDF5 = b"\x89HDF\r\n\x1a\n"
_BESIDE = "/"  # prefix of tensors that are not weights; layer names cannot contain it


def _check_path(filepath: Any, overwrite: bool) -> None:
    """Raises FileExistsError if the file must not be replaced, and warns if its name promises a file of Keras."""
    if not isinstance(filepath, (str, os.PathLike)):
        return
    path = os.fspath(filepath)
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"[save] there is a file {path!r} already, and overwrite is False")
    if path.endswith((".keras", ".h5", ".hdf5")):
        warnings.warn(f"[save] {path} is written in pyburn's format, which Keras does not read: name it *.pyburn", stacklevel=4)


def save_model(model: Any, filepath: Any, overwrite: bool = True) -> None:
    """Writes a model, its compile configuration and its weights to one file, in pyburn's bundle format.

    Args:
        model: The model.
        filepath: The file.
        overwrite: Whether to replace an existing file.

    Raises:
        ValueError: The model contains Python code that files cannot hold.
        FileExistsError: There is a file already, and overwrite is False.

    >>> import io
    >>> model = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(1)])
    >>> file = io.BytesIO()
    >>> p_vision.save_model(model, file)
    >>> file.getbuffer().nbytes > 100
    True
    """
    from .zoo import replaced_parts

    _check_path(filepath, overwrite)

    config: dict[str, Any] = {"p_vision": _VERSION}
    recipe = getattr(model, "_recipe", None)
    if recipe is not None:
        config["recipe"] = recipe
        config["replaced"] = to_plain(replaced_parts(model, recipe), recipe["name"])
        config["frozen"] = [name for name, tensor in model.named_parameters() if not tensor.requires_grad]
    elif isinstance(model, Configured):
        config["model"] = to_plain(model, type(model).__name__)
    elif isinstance(model, pyburn.nn.Sequential):
        config["model"] = to_plain(part_config(model), "Sequential")
    else:
        raise ValueError(f"[save] {type(model).__name__} computes its output in Python code, which files do not contain: use save_weights")
    tensors = _state(model)
    if model._objective is not None:
        config["compile"] = _compiled(model)
        if config["compile"] is not None:
            config["optimizer"], kept = _optimizer_state(model)
            tensors.update({f"{_BESIDE}{name}": tensor for name, tensor in kept.items()})
    Bundle.save(filepath, tensors, config=config, metadata={"format": "p_vision model"})


def save_weights(model: Any, filepath: Any, overwrite: bool = True) -> None:
    """Writes the weights of a model to a file."""
    _check_path(filepath, overwrite)
    order = "\n".join(name for name, _ in named_weights(model))
    Bundle.save(filepath, _state(model), metadata={"format": "p_vision weights", "order": order})


def _state(model: Any) -> dict[str, Tensor]:
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


def _compiled(model: Any) -> dict[str, Any] | None:
    objective = model._objective
    try:
        return {
            "optimizer": to_plain(model._optimizer, "the optimizer"),
            "loss": to_plain(objective.loss, "the loss"),
            "loss_weights": to_plain(objective.loss_weights, "loss_weights"),
            "metrics": to_plain(objective.metric, "metrics"),
            "weighted_metrics": to_plain(objective.weighted_metrics, "weighted_metrics"),
        }
    except ValueError:  # functions cannot be saved: the loaded model is not compiled
        return None


def _optimizer_state(model: Any) -> tuple[dict[str, Any] | None, dict[str, Tensor]]:
    """Returns the optimizer state: numbers with the names of the trained weights, and tensors."""
    trained = model._optimizer._trained()
    names = {id(tensor): name for name, tensor in model.named_parameters()}
    if not trained or any(id(tensor) not in names for tensor in trained):  # not trained yet, or other weights are trained too
        return None, {}
    notes, tensors = model._optimizer.notes()
    return {**notes, "trained": [names[id(tensor)] for tensor in trained]}, tensors


def _restore_optimizer(model: Any, notes: Any, tensors: Any, device: Any) -> None:
    named = dict(model.named_parameters())
    kept = {name.removeprefix(_BESIDE): tensors[name].load(device) for name in tensors if name.startswith(_BESIDE)}
    try:
        model._optimizer.restore([named[name] for name in notes["trained"]], kept, notes)
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
        raise pyburn.FormatError(f"[load_model] the state of the optimizer is damaged: {error}") from None


def load_model(
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
    *,
    backend: Any = None,
) -> Any:
    """Loads a model written by `model.save`, with its optimizer state, so that training can continue.

    Files are not trusted, whatever `safe_mode` is: only layers of p_vision and of `custom_objects` are created, and no other code runs. The
    model is built without memory first; memory for weights is allocated only if the file contains them.

    Args:
        filepath: The file.
        custom_objects: Custom classes and functions by name.
        compile: Whether to compile the model as it was saved.
        safe_mode: Accepted for compatibility; has no effect.
        backend: The backend or device of the weights.

    Returns:
        The model.

    Raises:
        FormatError: The file is not a p_vision model.

    >>> import io
    >>> model = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(1)])
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> x = pyburn.ones(1, 2)
    >>> bool((p_vision.load_model(io.BytesIO(file.getvalue()))(x) == model(x)).all())
    True
    """
    device = resolve(backend)
    _refuse_keras(filepath, (b"PK\x03\x04", _HDF5), "load_model")
    try:
        bundle = Bundle(filepath)
    except pyburn.FormatError as error:
        raise pyburn.FormatError(f"[load_model] {filepath!s} is not a model that save has written: {error}") from None
    config, custom = bundle.config, dict(custom_objects or {})
    if not isinstance(config, dict) or config.get("p_vision") != _VERSION:
        raise pyburn.FormatError("[load_model] the file holds no model of p_vision; model.load_weights reads files of weights")
    with pyburn.device("null"):
        model = _drawn(config, custom)
    _fill(model, {name: tensor for name, tensor in bundle.tensors.items() if not name.startswith(_BESIDE)}, device)
    model.backend = device
    if compile and config.get("compile"):
        model.compile(**from_plain(config["compile"], custom))
        if config.get("optimizer"):
            _restore_optimizer(model, config["optimizer"], bundle.tensors, device)
    return model


def _refuse_keras(filepath: Any, marks: tuple[bytes, ...], where: str) -> None:
    """Raises FormatError for a file written by Keras, which can have the same extension."""
    if not isinstance(filepath, (str, os.PathLike)):
        return
    with open(filepath, "rb") as file:
        head = file.read(8)
    if head.startswith(marks):
        raise pyburn.FormatError(
            f"[{where}] {os.fspath(filepath)} is a file of Keras, which is not read here: make the same model, and take the weights over "
            "with model.set_weights(keras_model.get_weights())"
        )


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Creates the model of a `model.to_json()` text, with new weights.

    Args:
        json_string: The text.
        custom_objects: Custom classes and functions by name.

    Returns:
        The model.

    Raises:
        FormatError: The text is not valid JSON.

    >>> model = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(1)])
    >>> p_vision.model_from_json(model.to_json()).count_params()
    3
    """
    import json

    try:
        config = json.loads(json_string)
    except ValueError as error:
        raise pyburn.FormatError(f"[model_from_json] the text is no JSON: {error}") from None
    return _drawn({"model": config}, dict(custom_objects or {}))


def clone_model(model: Any) -> Any:
    """Creates a model with the same architecture and new weights.

    Args:
        model: The model.

    Returns:
        The new model.

    Raises:
        ValueError: The model is not a Layer of p_vision.

    >>> model = p_vision.Sequential([p_vision.Input((2,)), p_vision.Dense(1)])
    >>> p_vision.clone_model(model).count_params()
    3
    """
    if not isinstance(model, Layer):
        raise ValueError(f"[clone_model] {type(model).__name__} is a class of its own: make another one")
    classes = {type(part).__name__: type(part) for part in model.modules() if isinstance(part, Configured)}
    return from_plain(to_plain(model, type(model).__name__), classes)


def _drawn(config: dict[str, Any], custom: dict[str, Any]) -> Any:
    from .model import Model, as_model
    from .zoo import freeze, made, replace_parts

    try:
        if "recipe" in config:
            model = as_model(made(config["recipe"]))
            replace_parts(model, from_plain(config.get("replaced", {}), custom))
            freeze(model, config.get("frozen", []))
            return model
        model = from_plain(config.get("model"), custom)
    except RecursionError:
        raise pyburn.FormatError("[load_model] the drawing of the model is nested too deeply") from None
    if isinstance(model, pyburn.nn.Sequential):
        return as_model(model)
    if not isinstance(model, Model):
        raise pyburn.FormatError(f"[load_model] the file describes no model: got {type(model).__name__}")
    return model


def _fill(model: Any, tensors: Any, device: Any) -> None:
    """Replaces the tensors without memory by those of the file."""
    wanted = model.state_dict()
    missing = [name for name in wanted if name not in tensors]
    unexpected = [name for name in tensors if name not in wanted]
    if missing or unexpected:
        name = (missing or unexpected)[0]
        raise pyburn.FormatError(f"[load_model] the weights of the file are not those of the model: {name!r} is on one side only")
    for name, tensor in wanted.items():
        if tuple(tensors[name].shape) != tuple(tensor.shape):
            raise pyburn.FormatError(
                f"[load_model] {name} has the shape {tuple(tensor.shape)} in the model and {tuple(tensors[name].shape)} in the file"
            )
    frozen = {name for name, tensor in model.named_parameters() if not tensor.requires_grad}
    kinds = {name: type(tensor) for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
    state = {name: tensors[name].load(device).to(wanted[name].dtype) for name in wanted}
    model.load_state_dict(state, assign=True)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        tensor.__class__ = kinds[name]  # keep the class that the layer chose
    for name, tensor in model.named_parameters():
        tensor.requires_grad_(name not in frozen)


def load_weights(model: Any, filepath: Any, skip_mismatch: bool = False) -> None:
    """Loads weights by name, or in the saved order if the names differ."""
    _refuse_keras(filepath, (_HDF5,), "load_weights")
    tensors = pyburn.io.open_tensors(filepath)
    of_model = [name for name in tensors if not name.startswith(_BESIDE)]
    mine = named_weights(model)
    if not mine:
        raise ValueError("[load_weights] the model has no weights yet: build it first, with an Input or by calling it")
    if skip_mismatch:
        fitting = {name: tensors[name] for name, t in mine if name in tensors and tuple(tensors[name].shape) == tuple(t.shape)}
        left = [name for name, _ in mine if name not in fitting]
        if left:
            warnings.warn(f"[load_weights] left as they were: {', '.join(left)}", stacklevel=3)
        model.set_weights([fitting[name].load() if name in fitting else tensor for name, tensor in mine])
        return
    names = [name for name, _ in mine]
    floats = [name for name in of_model if tensors[name].dtype.is_floating_point]
    if set(names) != set(floats):
        names = [name for name in tensors.metadata.get("order", "").split("\n") if name in tensors]
        if len(names) != len(mine):
            odd = next(name for name in [*(name for name, _ in mine), *floats] if name not in tensors or name not in dict(mine))
            raise pyburn.FormatError(f"[load_weights] the weights of the file are not those of the model: {odd!r} is on one side only")
    model.set_weights([tensors[name].load() for name in names])


def __getattr__(name: str) -> Any:
    """Keras's `saving` also has the functions for custom classes."""
    from . import serialization

    if name in serialization.__all__:
        return getattr(serialization, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
