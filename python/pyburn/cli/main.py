"""The argument parser; each subcommand is a module that is imported when it is run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

DESCRIPTION = "Deep learning without the weight: train, look, convert and measure."
EPILOG = """examples:
  pyburn info                                   versions, devices and optional parts
  pyburn train mnist.toml                       train as a file says; Ctrl-C saves, --resume goes on
  pyburn dashboard runs                         runs in the browser
  pyburn summary my_models:Net --input 1,28,28  layers, shapes and parameters
  pyburn summary weights.safetensors            what a file holds
  pyburn convert model.pt model.safetensors     between .pt, .safetensors, .npz and .pyburn
  pyburn bench                                  how fast this machine is
  eval "$(pyburn completion bash)"              Tab completes
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
    parser.add_argument("--cmake", action="store_true", help="print the folder to give CMake as pyburn_DIR")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    info = commands.add_parser("info", help="versions, devices and optional parts", description="What is installed and what it runs on.")
    info.add_argument("--json", action="store_true", help="for programs")

    train = commands.add_parser(
        "train",
        help="train a model as a configuration says",
        description="Trains what CONFIG (.toml or .json) names: model, data, optimizer, loss, metrics. See docs/guides/training.md.",
        epilog="Names like my_models:Net are imported, from the folder of CONFIG too: run only configurations that you trust.",
    )
    train.add_argument("config", metavar="CONFIG", help=".toml or .json file")
    train.add_argument("--run", metavar="FOLDER", help="where to write; default: a new folder below runs/")
    train.add_argument("--resume", metavar="FOLDER", help="go on with the run in this folder")
    train.add_argument("--epochs", type=int, metavar="N", help="in place of the number in CONFIG")
    train.add_argument("--device", metavar="NAME", help="in place of the device in CONFIG")
    train.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value, such as optimizer.arguments.lr=0.01")
    train.add_argument(
        "--display", choices=("auto", "dashboard", "bar", "lines", "quiet"), default="auto", help="what to show meanwhile (default: auto)"
    )
    train.add_argument("--check", action="store_true", help="make everything, run one batch, and train nothing")

    dashboard = commands.add_parser("dashboard", help="runs in the browser", description="Shows the runs below a folder in the browser.")
    dashboard.add_argument("folder", nargs="?", default="runs", metavar="FOLDER", help="a run, or a folder of runs (default: runs)")
    dashboard.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    dashboard.add_argument("--port", type=int, default=6007, help="port to listen on (default: 6007)")
    dashboard.add_argument("--no-browser", action="store_true", help="do not open a browser")

    summary = commands.add_parser(
        "summary",
        help="what a model, a file or a run consists of",
        description="Lists the layers of a model (module:name), the tensors of a file, or the results of a run.",
    )
    summary.add_argument("target", metavar="TARGET", help="module:name of a model or a function that makes one; a file; a folder")
    summary.add_argument(
        "--input", action="append", default=[], metavar="SIZES", help="size of one item, such as 1,28,28; again for more inputs"
    )
    summary.add_argument("--argument", action="append", default=[], metavar="KEY=VALUE", help="for the class or function")
    summary.add_argument("--batch", type=int, default=1, metavar="N", help="size of the batch (default: 1)")
    dtypes = ("float32", "float64", "bfloat16", "int64", "int32", "uint8", "bool")
    summary.add_argument("--dtype", choices=dtypes, help="of the inputs, such as int64 for token ids")

    convert = commands.add_parser(
        "convert",
        help="from one format of weights to another",
        description="Reads tensors from .pt, .safetensors, .npz, .npy or .pyburn (told apart by their contents) and writes the format that "
        "the name of OUTPUT says.",
    )
    convert.add_argument("input", metavar="INPUT", help="file with tensors")
    convert.add_argument("output", metavar="OUTPUT", help="name with .pt, .safetensors, .npz or .pyburn")
    convert.add_argument("--key", default="", metavar="NAME", help="the dict inside a PyTorch file, such as state_dict")
    convert.add_argument("--dtype", choices=("float64", "float32", "float16", "bfloat16"), help="for floating tensors")
    convert.add_argument("--rename", action="append", default=[], metavar="PATTERN=NEW", help="a regular expression and what it becomes")
    convert.add_argument("--include", action="append", default=[], metavar="PATTERN", help="only names in which this occurs")
    convert.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="no names in which this occurs")
    convert.add_argument("--force", action="store_true", help="replace OUTPUT if it exists")

    bench = commands.add_parser(
        "bench", help="how fast this machine is", description="Matrix products, a convolution, a small operation and a training step."
    )
    bench.add_argument("--device", metavar="NAME", help="such as cpu or fusion(cpu)")
    bench.add_argument("--threads", type=int, metavar="N", help="how many threads compute (default: as many as there are cores)")
    bench.add_argument("--seconds", type=float, default=0.3, metavar="S", help="for each measurement (default: 0.3)")
    bench.add_argument("--json", action="store_true", help="for programs")

    completion = commands.add_parser(
        "completion",
        help="a script that makes Tab complete",
        description="Prints a script that makes Tab complete commands and options.",
        epilog='bash and zsh: eval "$(pyburn completion bash)" in ~/.bashrc or ~/.zshrc. fish: pyburn completion fish | source',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that you use")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Returns:
        The exit code: 0, 1 for an error, 2 for a wrong command line, 130 after Ctrl-C.
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
        parser.error(f"there is no command {typed!r}: did you mean {close[0]!r}?")


class CommandError(Exception):
    """An error that the user can fix; reported without a traceback."""
