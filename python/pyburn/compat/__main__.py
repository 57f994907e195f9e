"""python -m pyburn.compat script.py args...: runs a script for PyTorch on pyburn."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import types

from . import install

_INSTALLED = "--installed-torchvision"
_USAGE = f"""usage: python -m pyburn.compat [{_INSTALLED}] [-m module | script.py] [args...]

Runs a program written for PyTorch on pyburn, with pyburn's own torchvision or with the one that is installed."""


def main() -> None:
    arguments = sys.argv[1:]
    installed = arguments[:1] == [_INSTALLED]
    arguments = arguments[1:] if installed else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if arguments else 2)
    as_module = arguments[0] == "-m"
    if as_module and len(arguments) < 2:
        sys.exit(_USAGE)
    target, rest = (arguments[1], arguments[2:]) if as_module else (arguments[0], arguments[1:])
    if not as_module and not os.path.exists(target):
        sys.exit(f"pyburn.compat: there is no file {target!r}")
    install(own_torchvision=not installed)
    sys.argv = [target, *rest]
    if as_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
        with open(target, "rb") as file:
            code = compile(file.read(), target, "exec")
        # The script is the main module, as when Python runs it: objects of its classes can be pickled.
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        module.__dict__.update(__file__=target, __builtins__=builtins)
        exec(code, module.__dict__)


if __name__ == "__main__":
    main()
