"""What was compiled, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Tensor

if TYPE_CHECKING:
    from .function import CompiledFunction


def report(compiled: CompiledFunction) -> str:
    """Describes the programs of a function: its arguments, the operations that were recorded, and those that run."""
    name = getattr(compiled.function, "__qualname__", type(compiled.function).__name__)
    lines = [f"{name}: {_count(compiled.programs, 'program')}, {_count(compiled.runs, 'run')}"]
    if compiled.refusal:
        lines.append(f"  runs as Python: {compiled.refusal}")
    for (args, kwargs, _), kind in compiled.kinds.items():
        lines.append(f"call({_arguments(args, kwargs)})")
        for program in kind.programs:
            rows = program.core.operations
            fused = [row for row in rows if " + " in row[0]]
            lines.append(
                f"  program: {_count(len(program.recorded), 'recorded operation')} in {_count(len(rows), 'step')}, "
                f"{len(fused)} of them fused; {program.core.memory / 2**20:.1f} MB of memory; {_count(program.runs, 'run')}"
            )
            width = max((len(row[1]) for row in rows), default=0)
            lines += [f"    {shape:{width}}  {operation}" for operation, shape in rows]
        if kind.refusal:
            lines.append(f"  runs as Python: {kind.refusal}")
        elif kind.pending:
            lines.append(f"  recorded {_count(kind.recordings, 'time')}: compiled when two calls have recorded the same program")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _arguments(args: Any, kwargs: Any) -> str:
    positional = [_argument(a) for a in args[1:]]
    return ", ".join([*positional, *(f"{name}={_argument(value)}" for name, value in (kwargs or (dict,))[1:])])


def _argument(key: Any) -> str:
    if isinstance(key, int):
        return "the same tensor again"
    if key[0] is Tensor:
        return f"{str(key[3]).rpartition('.')[2]}{list(key[1])}"
    if key[0] in (tuple, list):
        return f"{key[0].__name__}({', '.join(map(_argument, key[1:]))})"
    if key[0] == "object":
        return "an object"
    return repr(key[1]) if len(key) == 2 and not isinstance(key[1], tuple) else "..."
