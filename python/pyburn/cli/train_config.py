"""Configurations of `pyburn train`: reads and checks them, and creates a Learner."""

from __future__ import annotations

import difflib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .main import CommandError
from .objects import build

_TOP = ("name", "seed", "device", "model", "data", "optimizer", "schedule", "loss", "step", "metrics", "train", "notes")
_DATA = ("train", "valid", "test")
_TRAIN: dict[str, Any] = {
    "epochs": 1,
    "max_steps": None,
    "accumulate": 1,
    "clip_norm": None,
    "clip_value": None,
    "precision": None,
    "ema": None,
    "on_nan": "raise",
    "log_every": 10,
    "validate_every": 1,
    "monitor": None,
    "early_stopping": None,
    "checkpoints": None,
}
_WHOLE = ("epochs", "max_steps", "accumulate", "log_every", "validate_every")
_NUMBERS = (*_WHOLE, "clip_norm", "clip_value", "ema")
_CHECKPOINTS = ("last", "best", "every_epochs", "every_steps", "every_minutes")


def read_config(path: Path) -> dict[str, Any]:
    """Reads a .toml or .json file.

    Raises:
        CommandError: The file cannot be read or parsed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is no text in UTF-8: {error}") from error
    try:
        if path.suffix == ".json":
            found = json.loads(text)
        elif path.suffix == ".toml":
            found = _toml(text)
        else:
            raise CommandError(f"a configuration is a .toml or .json file: got {path.name}")
    except ValueError as error:
        raise CommandError(f"{path} is no valid {path.suffix[1:].upper()}: {error}") from error
    if not isinstance(found, dict):
        raise CommandError(f"{path} must hold a table: got {type(found).__name__}")
    return found


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info < (3, 11):
        try:
            import tomli as reader  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            raise CommandError("TOML needs Python 3.11, or the package tomli; JSON works everywhere") from error
    else:
        import tomllib as reader
    return reader.loads(text)


def set_value(config: dict[str, Any], key: str, value: Any) -> None:
    """Sets a value by dotted key, such as `optimizer.arguments.lr`."""
    *path, last = key.split(".")
    table = config
    for part in path:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise CommandError(f"--set {key}: {part!r} is no table in the configuration")
    table[last] = value


def check_keys(table: Any, known: Any, where: str) -> dict[str, Any]:
    """Raises CommandError for unknown keys, with a suggestion for misspelled ones."""
    if not isinstance(table, dict):
        raise CommandError(f"{where} must be a table: got {table!r}")
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise CommandError(
                f"{where} has no key {key!r}" + (f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(known)}")
            )
    return table


@dataclass
class Experiment:
    """The objects created from a configuration."""

    learner: Any
    data: dict[str, Any]
    fit: dict[str, Any]
    name: str


def make_experiment(config: dict[str, Any]) -> Experiment:
    """Creates the objects of a configuration. Seeds first, so that the initial weights are reproducible.

    Raises:
        CommandError: The configuration is invalid.
    """
    import pyburn
    from pyburn.train import EarlyStopping, Learner

    check_keys(config, _TOP, "the configuration")
    for key in ("model", "data", "optimizer"):
        if key not in config:
            raise CommandError(f"the configuration needs [{key}]")
    options = {**_TRAIN, **check_keys(config.get("train", {}), _TRAIN, "[train]")}
    _check_numbers(options)
    _seed(config.get("seed", 0))
    if config.get("device") is not None:
        try:
            pyburn.set_default_device(config["device"])
        except (ValueError, RuntimeError) as error:
            raise CommandError(f"device {config['device']!r}: {error}") from error
    data = {split: build(spec, ("pyburn.data",), f"[data.{split}]") for split, spec in check_keys(config["data"], _DATA, "[data]").items()}
    if "train" not in data:
        raise CommandError("[data] needs a key 'train'")
    model = build(config["model"], ("pyburn.nn", "p_vision"), "[model]")
    if not isinstance(model, pyburn.nn.Module):
        raise CommandError(f"[model] must be a pyburn.nn.Module: got {type(model).__name__}")
    optimizer = build(config["optimizer"], ("pyburn.optim",), "[optimizer]", model.parameters())
    every, schedule = None, None
    if config.get("schedule") is not None:
        spec = dict(config["schedule"]) if isinstance(config["schedule"], dict) else {"object": config["schedule"]}
        every = spec.pop("every", None)
        schedule = build(spec, ("pyburn.optim.lr_scheduler",), "[schedule]", optimizer)
    loss = build(config["loss"], ("pyburn.nn",), "[loss]") if config.get("loss") is not None else None
    step = None
    if config.get("step") is not None:
        from .objects import find_object

        step = find_object(str(config["step"]))
        if not callable(step):
            raise CommandError(f"step must be a function step(model, batch): got {type(step).__name__}")
    if loss is None and step is None:
        raise CommandError('the configuration needs a loss, such as loss = "CrossEntropyLoss", or a step of your own')
    stopping = options["early_stopping"]
    callbacks = []
    if stopping is not None:
        known = ("metric", "patience", "min_delta", "warmup", "mode", "restore_best")
        callbacks = [_made(EarlyStopping, check_keys(stopping, known, "[train.early_stopping]"), "[train.early_stopping]")]
    try:
        learner = Learner(
            model,
            optimizer,
            schedule,
            loss,
            _metrics(config.get("metrics", [])),
            callbacks=callbacks,
            step=step,
            schedule=every,
            **{key: options[key] for key in ("monitor", "accumulate", "clip_norm", "clip_value", "precision", "ema", "on_nan")},
        )
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
    fit = {key: options[key] for key in ("epochs", "max_steps", "log_every", "validate_every")}
    if options["checkpoints"] is not None:
        fit["checkpoints"] = _rules(options["checkpoints"])
    return Experiment(learner, data, fit, str(config.get("name", "run")))


def _check_numbers(options: dict[str, Any]) -> None:
    for key in _NUMBERS:
        value, kinds = options[key], (int,) if key in _WHOLE else (int, float)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or value <= 0):
            raise CommandError(f"[train] {key} must be a positive {'integer' if key in _WHOLE else 'number'}: got {value!r}")


def _made(kind: Any, arguments: dict[str, Any], where: str) -> Any:
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(f"{where}: {error}") from error


def _seed(seed: Any) -> None:
    import random

    import numpy as np

    import pyburn

    if not isinstance(seed, int):
        raise CommandError(f"seed must be an integer: got {seed!r}")
    pyburn.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def _metrics(given: Any) -> list[Any]:
    from pyburn.train.metrics import metric_by_name

    if not isinstance(given, list):
        raise CommandError(f'metrics must be a list, such as ["accuracy"]: got {given!r}')
    found = []
    for item in given:
        try:
            if isinstance(item, dict):
                options = dict(item)
                found.append(metric_by_name(options.pop("type"), **options))
            else:
                found.append(metric_by_name(item))
        except (ValueError, TypeError, KeyError) as error:
            raise CommandError(f"metrics: {item!r}: {error}") from error
    return found


def _rules(table: Any) -> list[Any]:
    from pyburn.train import Best, Every, Last

    rules: list[Any] = []
    for key, value in check_keys(table, _CHECKPOINTS, "[train.checkpoints]").items():
        where = f"[train.checkpoints] {key}"
        if key == "best":
            rules += [_made(Best, {"metric": name}, where) for name in (value if isinstance(value, list) else [value])]
        elif key == "last":
            rules.append(_made(Last, {"count": value}, where))
        else:
            rules.append(_made(Every, {key.removeprefix("every_"): value}, where))
    return rules
