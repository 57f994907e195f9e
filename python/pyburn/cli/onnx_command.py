"""pyburn onnx info|check|run|convert FILE."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from .main import CommandError


def run(options: argparse.Namespace) -> int:
    import pyburn

    if not Path(options.file).is_file():
        raise CommandError(f"no such file: {options.file}")
    try:
        return {"info": _info, "check": _check, "run": _run, "convert": _convert}[options.action](options)
    except (pyburn.FormatError, pyburn.UnsupportedOp, OSError, ValueError) as error:
        raise CommandError(str(error)) from error


def _info(options: argparse.Namespace) -> int:
    from pyburn import onnx

    print(onnx.info(options.file))
    if options.svg:
        graph = _captured(onnx.load(options.file, "cpu"), _sizes(options), example=1, is_open=False)
        graph.plot(options.svg)
        print(f"{options.svg}: {len(graph.operations)} operations")
    return 0


def _check(options: argparse.Namespace) -> int:
    from pyburn import onnx

    model: Any = onnx.load(options.file)
    print(f"{options.file}: {sum(onnx.info(model).operators.values())} nodes, all supported")
    return 0


def _run(options: argparse.Namespace) -> int:
    from pyburn import onnx

    session = onnx.session(options.file, options.device)
    given = dict(_named(item, "--input") for item in options.input)
    sizes = _sizes(options)
    if unknown := set(given) - {value.name for value in session.inputs}:
        raise CommandError(f"the model has no input {sorted(unknown)[0]!r}: its inputs are {', '.join(v.name for v in session.inputs)}")
    inputs = [_read(Path(given[v.name])) if v.name in given else _random(v, sizes) for v in session.inputs]
    outputs = session.run(dict(zip((v.name for v in session.inputs), inputs, strict=True)))
    for name, value in outputs.items():
        print(f"{name:20} {_text(value)}")
        if options.output:
            _save(Path(options.output), name, value)
    if options.runs:
        seconds = []
        for _ in range(options.runs):
            start = time.perf_counter()
            session(*inputs)
            seconds.append(time.perf_counter() - start)
        print(f"{options.runs} runs, median {statistics.median(seconds) * 1e3:.3f} ms, fastest {min(seconds) * 1e3:.3f} ms")
    if options.summary:
        print(session.summary(*inputs))
    return 0


def _convert(options: argparse.Namespace) -> int:
    from pyburn import inference, io, onnx

    from . import convert_command

    if options.target is None:
        raise CommandError("convert needs OUTPUT, such as model.pbgraph")
    source, target = Path(options.file), Path(options.target)
    if target.exists() and not options.force:
        raise CommandError(f"{target} already exists: use --force to overwrite it")
    if target.suffix in convert_command.FORMATS:
        return convert_command.run(argparse.Namespace(**_WEIGHTS, input=options.file, output=options.target, force=True))
    if target.suffix not in (".onnx", ".pbgraph"):
        formats = ", ".join((".onnx", ".pbgraph", *convert_command.FORMATS))
        raise CommandError(f"unknown output format: expected a name that ends in {formats}: got {target.name}")
    if source.suffix == ".pbgraph":
        graph: Any = inference.load(source, "cpu").graph
    else:
        model: Any = onnx.load(source, "cpu")
        if options.weights:
            io.load_into(model, options.weights, strict=False)
        graph = _captured_open(model, _sizes(options))
    if target.suffix == ".onnx":
        onnx.export(graph, path=target, opset=options.opset)
    else:
        inference.Session(graph, "cpu").save(target)
    print(f"{target}: {len(graph.operations)} operations, {target.stat().st_size / 2**20:.2f} MiB")
    return 0


_WEIGHTS: dict[str, Any] = {"key": "", "rename": [], "include": [], "exclude": [], "dtype": None}  # what convert_command reads


def _sizes(options: argparse.Namespace) -> dict[str, int]:
    return {name: int(size) for name, size in (_named(item, "--size") for item in options.size)}


def _captured_open(model: Any, sizes: dict[str, int]) -> Any:
    """Captures a model with all sizes free that its file leaves open and `sizes` does not give."""
    import pyburn

    errors = []
    for example in (64, 12, 2):  # the first that the model takes: some want multiples, some are limited
        try:
            return _captured(model, sizes, example, is_open=True)
        except (pyburn.CaptureError, pyburn.ShapeError, ValueError, IndexError) as error:
            errors.append(error)
    raise CommandError(f"{errors[0]}\nPerhaps the model takes some sizes only: give them with --size NAME=N") from errors[0]


def _captured(model: Any, sizes: dict[str, int], example: int, is_open: bool) -> Any:
    """Captures a model with the names of its file. Sizes that are neither stated nor given are `example`, and vary if `is_open`."""
    from pyburn import inference

    dynamic: dict[int | str, dict[int, str]] = {
        i: {axis: size or f"{value.name}.{axis}" for axis, size in enumerate(value.shape) if isinstance(size, str) and size not in sizes}
        for i, value in enumerate(model.inputs)
        if value.shape is not None
    }
    examples = [_random(value, sizes, example) for value in model.inputs]
    names = [value.name for value in model.inputs], [value.name for value in model.outputs]
    return inference.capture(model, *examples, dynamic=dynamic if is_open else None, input_names=names[0], output_names=names[1])


def _named(item: str, option: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals or (option == "--size" and not value.isdecimal()):
        raise CommandError(f"{option} expects NAME={'N' if option == '--size' else 'FILE'}: got {item!r}")
    return name, value


def _read(path: Path) -> Any:
    import pyburn
    from pyburn import io

    if path.suffix == ".npy":
        return io.load_npy(path)
    if path.suffix == ".json":
        return pyburn.tensor(json.loads(path.read_text(encoding="utf-8")))
    raise CommandError(f"inputs are read from .npy and .json files: got {path.name}")


def _random(value: Any, sizes: dict[str, int], default: int = 1) -> Any:
    """Makes an input of the shape that the file states; open dimensions take their size from --size, or `default`."""
    import pyburn

    if value.shape is None or not hasattr(pyburn, value.dtype):
        raise CommandError(f"input {value.name!r} needs a file: its type is {value.type}; pass --input {value.name}=FILE")
    shape = [size if isinstance(size, int) else sizes.get(size, default) for size in value.shape]
    dtype = getattr(pyburn, value.dtype)
    return pyburn.randn(*shape, dtype=dtype) if dtype.is_floating_point else pyburn.zeros(*shape, dtype=dtype)


def _text(value: Any) -> str:
    import pyburn

    if not isinstance(value, pyburn.Tensor):
        return repr(value)
    numbers = value.double().flatten()[:6].tolist()
    return f"{value.dtype} {tuple(value.shape)}: {', '.join(f'{x:.4g}' for x in numbers)}{' ...' if value.numel() > 6 else ''}"


def _save(folder: Path, name: str, value: Any) -> None:
    import pyburn
    from pyburn import io

    if isinstance(value, pyburn.Tensor):
        folder.mkdir(parents=True, exist_ok=True)
        io.save_npy(folder / f"{''.join(c if c.isalnum() else '_' for c in name)}.npy", value)
