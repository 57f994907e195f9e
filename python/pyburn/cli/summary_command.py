"""pyburn summary TARGET."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from .main import CommandError
from .objects import find_object, is_about_the_call, key_values

_SUFFIXES = (".pt", ".pth", ".safetensors", ".npz", ".npy", ".pyburn", ".onnx")  # file extensions, as opposed to module names


def run(options: argparse.Namespace) -> int:
    path = Path(options.target)
    if path.is_dir():
        return _run(path)
    if path.is_file():
        return _file(path)
    if ":" not in options.target and ("." not in options.target or os.sep in options.target or path.suffix in _SUFFIXES):
        raise CommandError(f"no such file or folder: {options.target!r}; expected a file, a folder, or module:name of a model")
    return _model(options)


def _model(options: argparse.Namespace) -> int:
    import pyburn
    from pyburn.nn.summary import summary

    sys.path[:0] = [os.getcwd()]
    found: Any = find_object(options.target)
    if callable(found) and not isinstance(found, pyburn.nn.Module):
        try:
            found = found(**key_values(options.argument, "--argument"))
        except (TypeError, ValueError) as error:
            if not is_about_the_call(error):
                raise
            raise CommandError(f"{options.target} does not take these arguments: {error}") from error
    if not isinstance(found, pyburn.nn.Module):
        raise CommandError(f"{options.target} is not a model: got {type(found).__name__}")
    if not options.input:
        print(found)
        total = sum(p.numel() for p in found.parameters())
        print(f"\n{total:,} parameters. For shapes and multiply-adds, add the shape of a sample: --input 3,224,224")
        return 0
    if options.batch < 1:
        raise CommandError(f"--batch must be positive: got {options.batch}")
    sizes = [(options.batch, *_size(text)) for text in options.input]
    try:
        print(summary(found, sizes if len(sizes) > 1 else sizes[0], dtype=getattr(pyburn, options.dtype) if options.dtype else None))
    except (RuntimeError, ValueError, TypeError) as error:
        raise CommandError(f"the model does not accept this input (see --input and --dtype): {error}") from error
    return 0


def _size(text: str) -> tuple[int, ...]:
    try:
        size = tuple(int(part) for part in text.replace("x", ",").split(",") if part.strip())
    except ValueError:
        size = ()
    if not size or min(size) < 1:
        raise CommandError(f"--input expects a shape such as 3,224,224: got {text!r}")
    return size


def _file(path: Path) -> int:
    import pyburn

    try:
        file = pyburn.io.open_tensors(path)
    except (pyburn.FormatError, OSError) as error:
        raise CommandError(f"{path}: {error}") from error
    rows = [(name, str(s.dtype).removeprefix("pyburn."), str(tuple(s.shape))) for name, s in file.items()]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    for row in rows:
        print(f"{row[0].ljust(widths[0])}  {row[1].ljust(widths[1])}  {row[2]}")
    count = sum(_numel(s.shape) for s in file.values())
    print(f"\n{path.name}: {file.format}, {len(file)} tensors, {count:,} elements, {path.stat().st_size / 2**20:.2f} MiB")
    for key, value in file.metadata.items():
        print(f"{key}: {value}")
    return 0


def _numel(shape: Any) -> int:
    count = 1
    for extent in shape:
        count *= int(extent)
    return count


def _run(folder: Path) -> int:
    from pyburn.train import list_runs

    records = list_runs(folder)
    if not records:
        raise CommandError(f"no runs in {folder}")
    for record in records:
        status = record.status
        epochs = f"{status.get('epoch')}" + (f"/{status['epochs']}" if status.get("epochs") else "")
        best = status.get("best") if isinstance(status.get("best"), dict) else {}
        values = "  ".join(f"{key} {float(value['value']):.4g}" for key, value in (best or {}).items() if key.startswith("valid/"))
        print(f"{record.folder}  {record.state}  epoch {epochs}  step {status.get('step')}  {values}")
    return 0
