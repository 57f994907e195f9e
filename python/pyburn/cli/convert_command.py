"""pyburn convert INPUT OUTPUT."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from .main import CommandError

FORMATS = (".pt", ".pth", ".safetensors", ".npz", ".pyburn")


def run(options: argparse.Namespace) -> int:
    import pyburn
    from pyburn import io
    from pyburn._progress import Progress

    source, target = Path(options.input), Path(options.output)
    if target.suffix not in FORMATS:
        raise CommandError(f"unknown output format: expected a name that ends in {', '.join(FORMATS)}: got {target.name}")
    if target.exists() and not options.force:
        raise CommandError(f"{target} already exists: use --force to overwrite it")
    rules = [_rule(item) for item in options.rename]
    wanted = [_pattern(item, "--include") for item in options.include]
    unwanted = [_pattern(item, "--exclude") for item in options.exclude]
    try:
        file = OnnxWeights(source) if source.suffix == ".onnx" else io.open_tensors(source, key=options.key)
        chosen: dict[str, Any] = {}
        for name, snapshot in Progress(file.items(), "reading", len(file)):
            if (wanted and not any(p.search(name) for p in wanted)) or any(p.search(name) for p in unwanted):
                continue
            for pattern, new in rules:
                name = _renamed(name, pattern, new)
            if name in chosen:
                raise CommandError(f"two tensors would have the name {name!r}")
            tensor = snapshot.load("cpu")
            chosen[name] = tensor.to(getattr(pyburn, options.dtype)) if options.dtype and tensor.is_floating_point() else tensor
        if not chosen:
            raise CommandError(f"--include and --exclude select none of the {len(file)} tensors in {source}")
        metadata = {str(key): str(value) for key, value in file.metadata.items()}
        if target.suffix in (".pt", ".pth"):
            pyburn.save(chosen, target)
        elif target.suffix == ".pyburn":
            config = io.Bundle(source).config if file.format == "pyburn" else None
            io.Bundle.save(target, chosen, config=config, metadata=metadata)
        else:
            io.write_tensors(chosen, target, metadata=metadata if target.suffix == ".safetensors" else None)
    except (pyburn.FormatError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    print(f"{target}: {len(chosen)} tensors, {target.stat().st_size / 2**20:.2f} MiB")
    return 0


class OnnxWeights:
    """The parameters and buffers of an ONNX model, read like the tensors of a file."""

    format = "onnx"

    def __init__(self, path: Path) -> None:
        from pyburn import onnx

        model: Any = onnx.load(path, "cpu")
        self.tensors = model.state_dict()
        self.metadata = onnx.info(model).metadata

    def __len__(self) -> int:
        return len(self.tensors)

    def items(self) -> list[tuple[str, Any]]:
        return [(name, _Loaded(tensor)) for name, tensor in self.tensors.items()]


class _Loaded:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def load(self, device: str) -> Any:
        return self.tensor.detach().to(device)


def _rule(item: str) -> tuple[re.Pattern[str], str]:
    pattern, equals, new = item.partition("=")
    if not equals:
        raise CommandError(f"--rename expects PATTERN=NEW: got {item!r}")
    return _pattern(pattern, "--rename"), new


def _renamed(name: str, pattern: re.Pattern[str], new: str) -> str:
    try:
        return pattern.sub(new, name)
    except (re.error, IndexError) as error:  # such as \2 with only one group, or an unknown group name
        raise CommandError(f"--rename: {new!r} is not a valid replacement for {pattern.pattern!r}: {error}") from error


def _pattern(text: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise CommandError(f"{option}: {text!r} is not a regular expression: {error}") from error
