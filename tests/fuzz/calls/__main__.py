"""Hostile calls in forked children: each returns or raises a proper exception, and answers Ctrl-C.

    python tests/fuzz/calls --runs 100000 --seed 3          many calls
    python tests/fuzz/calls --seed 3 --first 4711 --runs 1 --show   one of them again

Exits with 1 if a call crashed, hung, or raised what no user can understand. Under AddressSanitizer: `make fuzz-calls-asan`.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

from generate import make_tables, text_of
from hostile import HostileError, namespace, restore_defaults
from oracles import WrongAnswerError

OUTCOMES = ["returned", "refused", "type errors", "interrupted", "out of memory", "found"]
COUNTERS = struct.Struct(f"<qd{len(OUTCOMES)}q")  # the number of the current call, when it began, one count per outcome
THOROUGH = 32  # one call in so many computes --seconds before it is interrupted, the others a tenth of it: most time goes to these few
IDLE = 100  # seconds of waiting count as one of computing: a machine that does other work as well is no hang
TELLING = ("runtime error", "ERROR: AddressSanitizer", "/src/pyburn/", "terminate", "what()", "  File ")  # lines of a log worth showing


def is_proper(error: BaseException) -> bool:
    """Can a user understand it? Internal failures reach Python under these classes and words."""
    words = str(error)
    internal = (SystemError, UnicodeError, UnboundLocalError, WrongAnswerError)
    return not isinstance(error, internal) and "std::" not in words and "bad_cast" not in words


def outcome_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, MemoryError):
        return "out of memory"
    if not isinstance(error, HostileError) and not is_proper(error):
        return "found"
    return "type errors" if isinstance(error, (TypeError, OverflowError, AttributeError)) else "refused"


def run_call(text: str) -> tuple[str, str]:
    """Runs one call; its outcome and the error's text."""
    restore_defaults()
    try:
        exec(compile(text, "<call>", "exec"), namespace())
    except BaseException as error:
        try:
            words = f"{type(error).__name__}: {error}"
        except Exception as failing:
            words = f"{type(error).__name__}, whose text raises {type(failing).__name__}"
        return outcome_of(error), words
    return "returned", ""


class Children:
    """Runs calls in children; the parent watches time, memory and how they end."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.shared = mmap.mmap(-1, COUNTERS.size)
        self.total: Counter[str] = Counter()
        self.findings: list[str] = []

    def work(self, first: int, end: int) -> None:
        """What a child does."""
        if not self.options.no_memory_limit:
            resource.setrlimit(resource.RLIMIT_AS, (self.options.megabytes << 20,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.register(signal.SIGUSR1)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        os.chdir(tempfile.mkdtemp(prefix="calls-"))
        warnings.simplefilter("ignore")
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            counts = dict.fromkeys(OUTCOMES, 0)
            for number in range(first, end):
                self.shared[:] = COUNTERS.pack(number, time.monotonic(), *counts.values())
                outcome, words = run_call(text_of(self.options.seed, number))
                counts[outcome] += 1
                if outcome == "found":
                    sys.stderr.write(f"FOUND {number} {words}\n")
            self.shared[:] = COUNTERS.pack(end, time.monotonic(), *counts.values())

    def watch(self, child: int) -> tuple[str, int]:
        """Waits for a child. How it ended ('' if well), and the number of the call it was in."""
        interrupted = watched = -1
        spent_before = 0.0
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            number, began, *_ = COUNTERS.unpack(self.shared[:])
            if done:
                if os.WIFSIGNALED(status):
                    return f"killed by {signal.Signals(os.WTERMSIG(status)).name}", number
                return (f"exit code {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else ""), number
            spent, memory = self._usage(child)
            if number != watched:
                watched, spent_before = number, spent
            waited = (time.monotonic() - began) / IDLE if began else 0
            late = max(spent - spent_before, waited) - self.options.seconds * (1 if number % THOROUGH == 0 else 0.1)
            if late > 0 and interrupted != number:
                os.kill(child, signal.SIGINT)
                interrupted = number
            if late > self.options.patience or memory > 2 * self.options.megabytes << 20:
                os.kill(child, signal.SIGUSR1)  # the log says where it is
                time.sleep(0.5)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return ("does not answer Ctrl-C" if late > self.options.patience else "takes too much memory"), number
            time.sleep(0.01)

    @staticmethod
    def _usage(child: int) -> tuple[float, int]:
        """Seconds of processor time and bytes of memory that a child has taken."""
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(fields[21]) * resource.getpagesize()
        return 0.0, 0

    def run(self, first: int, end: int) -> int:
        """Runs calls from first on, until all have run or one ends the child. Where to go on."""
        self.shared[:] = COUNTERS.pack(first, 0.0, *[0] * len(OUTCOMES))
        with tempfile.TemporaryFile() as log:
            child = os.fork()
            if child == 0:
                os.dup2(log.fileno(), 2)
                code = 1
                try:
                    self.work(first, end)
                    code = 0
                except KeyboardInterrupt:  # came between two calls
                    code = 0
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            ended, number = self.watch(child)
            log.seek(0)
            lines = log.read().decode(errors="replace").splitlines()
        counts = COUNTERS.unpack(self.shared[:])[2:]
        self.total.update(dict(zip(OUTCOMES, counts, strict=True)))
        for line in lines:
            if line.startswith("FOUND "):
                _, at, words = line.split(" ", 2)
                self.report(int(at), words, [])
        if not ended and number < end:  # interrupted between calls
            return number + 1
        if ended:
            self.total["found"] += 1
            self.report(number, ended, [x for x in lines if not x.startswith("FOUND ")])
            return number + 1
        return end

    def report(self, number: int, what: str, log: list[str]) -> None:
        telling = [x for x in log if any(word in x for word in TELLING)]
        text = text_of(self.options.seed, number)
        self.findings.append("\n".join([f"--- call {number} (seed {self.options.seed}): {what}", text, *telling[:6]]))
        print(self.findings[-1], flush=True)


def summary(total: Counter[str]) -> str:
    past = sum(total[k] for k in ("returned", "refused", "interrupted", "out of memory"))
    return ", ".join(f"{total[k]} {k}" for k in OUTCOMES) + f" ({100 * past / max(total.total(), 1):.0f} % past the argument checks)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="calls in all")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1000, help="calls per child")
    parser.add_argument(
        "--seconds", type=float, default=3, help=f"one call in {THOROUGH} that computes longer is interrupted; the others after a tenth"
    )
    parser.add_argument("--patience", type=float, default=3, help="seconds that an interrupted call may take to come back")
    parser.add_argument("--megabytes", type=int, default=4096, help="memory of a child")
    parser.add_argument("--no-memory-limit", action="store_true", help="watch memory only: sanitizers reserve terabytes of addresses")
    parser.add_argument("--show", action="store_true", help="print each call and what became of it, in this process")
    options = parser.parse_args()
    end = options.first + options.runs
    if options.show:
        for number in range(options.first, end):
            text = text_of(options.seed, number)
            print(f"--- {number}\n{text}", flush=True)
            print("   ", *run_call(text))
        return 0
    children = Children(options)
    make_tables(options.seed)
    for at, stop in pairwise(options.first + options.runs * quarter // 4 for quarter in range(5)):
        before, first = children.total.copy(), at
        while at < stop:
            at = children.run(at, min(at + options.batch, stop))
        print(f"calls {first} to {stop}: {summary(children.total - before)}", flush=True)
    spent = os.times()
    spent_per_call = (spent.user + spent.system + spent.children_user + spent.children_system) / max(options.runs, 1)
    print(f"{summary(children.total)}, {1000 * spent_per_call:.2f} ms of processor time per call")
    return 1 if children.findings else 0


if __name__ == "__main__":
    sys.exit(main())
