"""The argument parser; each subcommand is a module that is imported when it is run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

DESCRIPTION = "Trains models, shows runs, summarizes and converts files of weights, and measures this machine."
EPILOG = """examples:
  pyburn info                                   versions, devices and optional packages
  pyburn train mnist.toml                       train from a configuration file; Ctrl-C saves, --resume continues
  pyburn dashboard runs                         show runs in the browser
  pyburn summary my_models:Net --input 1,28,28  layers, shapes and parameters of a model
  pyburn summary weights.safetensors            the tensors of a file
  pyburn convert model.pt model.safetensors     convert between .pt, .safetensors, .npz and .pyburn
  pyburn onnx run model.onnx --runs 20          run an ONNX model and measure it
  pyburn onnx convert model.onnx model.pbgraph  prepare an ONNX model for programs without Python
  pyburn bench                                  measure the speed of this machine
  eval "$(pyburn completion bash)"              enable Tab completion
"""


class _Wide(argparse.RawDescriptionHelpFormatter):
    """Keeps each command and its help on one line: argparse does not count the indentation of subcommands."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 14


def make_parser() -> argparse.ArgumentParser:
    """Builds the argument parser; completion and documentation are generated from it."""
    parser = argparse.ArgumentParser(prog="pyburn", description=DESCRIPTION, epilog=EPILOG, formatter_class=_Wide)
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--cmake", action="store_true", help="print the value of pyburn_DIR for CMake")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    info = commands.add_parser(
        "info", help="show versions, devices and optional packages", description="Shows versions, devices and optional packages."
    )
    info.add_argument("--json", action="store_true", help="print JSON")

    train = commands.add_parser(
        "train",
        help="train a model from a configuration file",
        description="Trains a model from a file that names model, data, optimizer, loss and metrics. See docs/guides/training.md.",
        epilog="Names such as my_models:Net are imported, also from the folder of CONFIG: run only configurations that you trust.",
    )
    train.add_argument("config", metavar="CONFIG", help="a .toml or .json file")
    train.add_argument("--run", metavar="FOLDER", help="the run folder (default: a new folder below runs/)")
    train.add_argument("--resume", metavar="FOLDER", help="resume the run in this folder")
    train.add_argument("--epochs", type=int, metavar="N", help="override the number of epochs")
    train.add_argument("--device", metavar="NAME", help="override the device")
    train.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a value, such as optimizer.arguments.lr=0.01"
    )
    train.add_argument(
        "--display", choices=("auto", "dashboard", "bar", "lines", "quiet"), default="auto", help="the progress display (default: auto)"
    )
    train.add_argument("--check", action="store_true", help="create all objects and run one batch, without training")

    dashboard = commands.add_parser(
        "dashboard", help="show runs in the browser", description="Shows the runs below a folder in the browser."
    )
    dashboard.add_argument("folder", nargs="?", default="runs", metavar="FOLDER", help="a run, or a folder of runs (default: runs)")
    dashboard.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)")
    dashboard.add_argument("--port", type=int, default=6007, help="the port to listen on (default: 6007)")
    dashboard.add_argument("--no-browser", action="store_true", help="do not open a browser")

    summary = commands.add_parser(
        "summary",
        help="summarize a model, a file of weights or a run",
        description="Lists the layers of a model (module:name), the tensors of a file, or the results of a run.",
    )
    summary.add_argument(
        "target", metavar="TARGET", help="module:name of a model or of a function that returns one; a file of tensors; a run folder"
    )
    summary.add_argument(
        "--input", action="append", default=[], metavar="SIZES", help="the shape of one sample, such as 1,28,28; repeat for several inputs"
    )
    summary.add_argument("--argument", action="append", default=[], metavar="KEY=VALUE", help="an argument of the class or function")
    summary.add_argument("--batch", type=int, default=1, metavar="N", help="the batch size (default: 1)")
    dtypes = ("float32", "float64", "bfloat16", "int64", "int32", "uint8", "bool")
    summary.add_argument("--dtype", choices=dtypes, help="the dtype of the inputs, such as int64 for token ids")

    convert = commands.add_parser(
        "convert",
        help="convert weights to another file format",
        description="Reads tensors from a .pt, .safetensors, .npz, .npy or .pyburn file (detected by its contents), or the weights of an "
        ".onnx file, and writes the format given by the extension of OUTPUT.",
    )
    convert.add_argument("input", metavar="INPUT", help="the file to read")
    convert.add_argument("output", metavar="OUTPUT", help="the file to write: .pt, .safetensors, .npz or .pyburn")
    convert.add_argument("--key", default="", metavar="NAME", help="the dict inside a PyTorch file, such as state_dict")
    convert.add_argument(
        "--dtype", choices=("float64", "float32", "float16", "bfloat16"), help="convert floating-point tensors to this dtype"
    )
    convert.add_argument(
        "--rename", action="append", default=[], metavar="PATTERN=NEW", help="rename: a regular expression and its replacement"
    )
    convert.add_argument(
        "--include", action="append", default=[], metavar="PATTERN", help="only tensors whose name matches the regular expression"
    )
    convert.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN", help="no tensors whose name matches the regular expression"
    )
    convert.add_argument("--force", action="store_true", help="overwrite OUTPUT if it exists")

    onnx = commands.add_parser(
        "onnx",
        help="describe, check, run or convert an ONNX model",
        description="Describes a model (info), checks that every operator is supported (check), runs it and prints its outputs (run), or "
        "writes it as another file (convert): .onnx with another opset or other weights, a .pbgraph for programs without Python, or its "
        "weights as .pt, .safetensors, .npz or .pyburn.",
    )
    onnx.add_argument("action", choices=("info", "check", "run", "convert"), help="what to do")
    onnx.add_argument("file", metavar="FILE", help="the .onnx file; convert also takes a .pbgraph")
    onnx.add_argument("target", nargs="?", metavar="OUTPUT", help="convert: the file to write; its extension says the format")
    onnx.add_argument(
        "--input", action="append", default=[], metavar="NAME=FILE", help="run: a .npy or .json file for an input (default: random numbers)"
    )
    onnx.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size of an open dimension (default: 1; convert: it stays open)",
    )
    onnx.add_argument("--output", metavar="FOLDER", help="run: write the outputs there as .npy files")
    onnx.add_argument("--runs", type=int, default=0, metavar="N", help="run: measure this many runs")
    onnx.add_argument("--summary", action="store_true", help="run: print what is executed")
    onnx.add_argument("--device", metavar="NAME", help="run: the device")
    onnx.add_argument("--svg", metavar="OUTPUT", help="info: draw the operations into this SVG file")
    onnx.add_argument("--opset", type=int, default=20, metavar="N", help="convert: the operator set of the .onnx file (default: 20)")
    onnx.add_argument("--weights", metavar="FILE", help="convert: a file of tensors that replace those of the same names")
    onnx.add_argument("--force", action="store_true", help="convert: overwrite OUTPUT if it exists")

    bench = commands.add_parser(
        "bench",
        help="measure the speed of this machine",
        description="Measures matrix products, a convolution, the overhead of small operations, and a training step.",
    )
    bench.add_argument("--device", metavar="NAME", help="the device, such as cpu or fusion(cpu)")
    bench.add_argument("--threads", type=int, metavar="N", help="the number of threads (default: the number of cores)")
    bench.add_argument("--seconds", type=float, default=0.3, metavar="S", help="the duration of each measurement (default: 0.3)")
    bench.add_argument("--json", action="store_true", help="print JSON")

    completion = commands.add_parser(
        "completion",
        help="print a script for Tab completion",
        description="Prints a shell script that enables Tab completion of commands and options.",
        epilog='bash and zsh: eval "$(pyburn completion bash)" in ~/.bashrc or ~/.zshrc. fish: pyburn completion fish | source',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: The command-line arguments; by default those of the process.

    Returns:
        The exit code: 0, 1 for an error, 2 for a wrong command line, 130 after Ctrl-C.

    >>> main(["--version"])
    pyburn 0.2.0
    0
    """
    parser = make_parser()
    _hint(parser, list(sys.argv[1:] if arguments is None else arguments))
    options = parser.parse_args(arguments)
    if options.cmake:
        from .._cmake import cmake_dir

        print(cmake_dir())
        return 0
    if options.version:
        from .. import __version__

        print(f"pyburn {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    import importlib

    module = importlib.import_module(f".{options.command}_command", __package__)
    try:
        return module.run(options)
    except BrokenPipeError:  # the reader of the pipe, such as head, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("pyburn: stopped", file=sys.stderr)
        return 130
    except CommandError as error:
        print(f"pyburn {options.command}: {error}", file=sys.stderr)
        return 1


def _hint(parser: argparse.ArgumentParser, words: list[str]) -> None:
    """Exits with a suggestion if the command is unknown but similar to an existing one."""
    import difflib

    commands = next(action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    typed = next((word for word in words if not word.startswith("-")), None)
    close = difflib.get_close_matches(typed or "", commands, 1)
    if typed is not None and typed not in commands and close:
        parser.error(f"unknown command {typed!r}: did you mean {close[0]!r}?")


class CommandError(Exception):
    """An error that the user can fix; reported without a traceback."""
