"""Random programs with views, writes in place, hooks and gradients mean the same in PyTorch and in pyburn.

    make fuzz-torch                                                      many programs, in the environment of the peers
    python tests/fuzz/torch_programs --seed 3 --first 4711 --programs 1 --show    one of them again

A program follows from the seed and its number. One that differs is shrunk and printed. Exits with 1 if one was found.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter

import torch
from run import HEAD, Difference, difference, execute, namespace_of
from statements import State, statement

import pyburn


def make_program(seed: int, number: int) -> list[str]:
    """5 to 30 statements. A statement that PyTorch refuses stays in one of three cases: errors are compared as well."""
    rng = random.Random(f"{seed} {number}")
    state = State(rng, namespace_of(torch))
    program: list[str] = []
    length = rng.randint(5, 30)
    while len(program) < length:
        text = statement(state)
        if execute(text, state.namespace) is None or rng.random() < 0.33:
            program.append(text)
        else:  # it may have changed something before it failed
            state.namespace = namespace_of(torch)
            for earlier in program:
                execute(earlier, state.namespace)
    return program


def kind_of(d: Difference) -> str:
    """What must stay the same while a program shrinks."""
    return d.what.partition(":")[0].rpartition(".")[2]


def shrunk(program: list[str], found: Difference) -> tuple[list[str], Difference]:
    """Drops statements while the same kind of difference stays."""
    program = program[: found.statement + 1]
    i = len(program) - 2
    while i >= 0:
        fewer = program[:i] + program[i + 1 :]
        again = difference(fewer, torch, pyburn)
        if again and kind_of(again) == kind_of(found):
            program, found = fewer[: again.statement + 1], again
        i = min(i, len(program) - 1) - 1
    return program, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=50_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=20, help="stop after this many differences")
    parser.add_argument("--show", action="store_true", help="print every program as a runnable text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    statements = 0
    for number in range(options.first, options.first + options.programs):
        program = make_program(options.seed, number)
        statements += len(program)
        if options.show:
            print(f"import torch as T  # or: import pyburn as T\n{HEAD}\n" + "\n".join(program))
        differs = difference(program, torch, pyburn)
        if differs:
            small, why = shrunk(program, differs)
            found[kind_of(why)] += 1
            print(f"--- program {number} (seed {options.seed}): {why.what}\n" + "\n".join(small), flush=True)
            if sum(found.values()) >= options.most:
                break
    print(f"{number + 1 - options.first} programs, {statements} statements, {sum(found.values())} differ", dict(found) or "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
