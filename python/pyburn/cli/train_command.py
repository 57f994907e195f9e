"""pyburn train CONFIG."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from .main import CommandError
from .objects import parse_value
from .train_config import Experiment, make_experiment, read_config, set_value


def run(options: argparse.Namespace) -> int:
    from pyburn.train import CheckpointError, NonFiniteLoss, Run

    if options.run is not None and options.resume is not None:
        raise CommandError("--run starts a run and --resume continues one: give only one of them")
    path = Path(options.config)
    config = read_config(path)
    for item in options.set:
        key, equals, value = item.partition("=")
        if not equals:
            raise CommandError(f"--set expects KEY=VALUE: got {item!r}")
        set_value(config, key, parse_value(value))
    if options.epochs is not None:
        set_value(config, "train.epochs", options.epochs)
    if options.device is not None:
        config["device"] = options.device
    sys.path[:0] = [str(path.resolve().parent)]
    experiment = make_experiment(config)
    learner, data = experiment.learner, experiment.data
    if options.check:
        return _check(experiment)
    if options.resume is not None:
        folder = Path(options.resume)
        if not (folder / "run.json").exists():
            raise CommandError(f"no run in {folder}")
        target: Run | Path = folder
    else:
        try:
            target = Path(options.run) if options.run else Run.create("runs", experiment.name, config=config)
        except OSError as error:
            raise CommandError(f"cannot create a run folder: {error}; choose another folder with --run") from error
        if isinstance(target, Path) and (target / "run.json").exists():
            raise CommandError(f"{target} already contains a run: continue it with --resume {target}")
    folder = target.folder if isinstance(target, Run) else target
    command = shlex.join(["pyburn", "train", options.config, "--resume", str(folder), *_changes(options)])
    try:
        history = learner.fit(
            data["train"],
            data.get("valid"),
            run=target,
            config=config,
            resume=options.resume is not None,
            display=options.display,
            resume_with=command,
            **experiment.fit,
        )
        if learner.stop_request.signal or history.stopped.startswith("Ctrl-C"):  # history.stopped: a key in the terminal dashboard
            return 128 + (learner.stop_request.signal or signal.SIGINT)
        if "test" in data:
            results = learner.evaluate(data["test"])
            print("test: " + "  ".join(f"{name} {value:.4f}" for name, value in results.items()))
    except CheckpointError as error:
        raise CommandError(f"{error}{_rescued(learner, experiment.name)}") from error
    except (NonFiniteLoss, OSError) as error:
        raise CommandError(str(error)) from error
    print(f"{folder}: report.html has the curves; pyburn dashboard {shlex.quote(str(folder.parent))} shows all runs")
    return 0


def _changes(options: argparse.Namespace) -> list[str]:
    """Returns the options that override the configuration; they are needed again to resume."""
    given = {"--epochs": options.epochs, "--device": options.device}
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return words + [word for item in options.set for word in ("--set", item)]


def _rescued(learner: Any, name: str) -> str:
    """Saves the weights elsewhere if the run folder cannot be written, since they would be lost with the process."""
    from pyburn import save

    if not learner.state.step:
        return ""
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        path = folder / f"{name}-step-{learner.state.step}.pt"
        try:
            save(dict(learner.eval_model.state_dict()), path)
        except OSError:
            continue
        return f" The weights are in {path}."
    return ""


def _check(experiment: Experiment) -> int:
    """Runs the forward and backward pass and the metrics on one batch."""
    learner, data = experiment.learner, experiment.data
    from pyburn.train.steps import run_step, to_device

    batch = next(iter(data["train"]), None)
    if batch is None:
        raise CommandError("[data.train] the data has no batches")
    result = run_step(learner.step_function, learner.model, to_device(batch, learner.device), need_loss=True)
    assert result.loss is not None
    result.loss.backward()
    if result.output is not None:
        for metric in learner.metrics.values():
            metric.fresh().update(result.output, result.target)
    count = sum(p.numel() for p in learner.model.parameters())
    print(f"OK: {type(learner.model).__name__} with {count:,} parameters, loss {result.loss.item():.4f} on a batch of {result.count}")
    return 0
