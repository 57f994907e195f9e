"""Conformance tests of backends, based on samples of every operation.

    from pyburn.testing import conformance
    conformance.run("mine")

runs them on the device and raises ConformanceError with the failing operations. With pytest::

    @pytest.mark.parametrize("case", conformance.cases("mine"), ids=str)
    def test_conformance(case):
        case.check()

Values are compared with the numpy backend, gradients with the CPU and with finite differences. Views, in-place and out= variants, random
numbers, a short training and the errors for invalid arguments are checked too. Samples with a dtype that the device does not support
(Backend.capabilities) are skipped. Operations without kernel and decomposition are counted, and only fail if complete=True.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from unittest import SkipTest

import pyburn
from pyburn import _core

from .basics import BASICS
from .calls import all_samples, fits, name_of
from .checks import OF_SAMPLES, lacks_dtype
from .samples import Sample

__all__ = ["Case", "ConformanceError", "Report", "cases", "run"]


class ConformanceError(AssertionError):
    """A device gives wrong results; they are listed in `report`.

    Args:
        report: The report of run().
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True)
class Case:
    """A check on a device.

    Attributes:
        kind: value, gradient, derivative, out, in_place, error, or the name of a check of the device itself.
        device: The device.
        sample: The call to check; None for a check of the device itself.
        complete: Whether a missing operation is a failure.

    >>> case = cases("cpu", ops="exp", kinds="value")[0]
    >>> print(case)
    value: exp(t(2, 3))
    >>> case.check()
    """

    kind: str  # value, gradient, derivative, out, in_place, error, or a key of BASICS
    device: Any
    sample: Sample | None = None
    complete: bool = False

    def __str__(self) -> str:
        return self.kind if self.sample is None else f"{self.kind}: {name_of(self.sample)}"

    @property
    def op(self) -> str:
        return self.kind if self.sample is None else self.sample.op

    def check(self) -> None:
        """Runs the check.

        Raises:
            AssertionError: The result of the device is wrong.
            SkipTest: The check does not apply; pytest treats it as skipped.
        """
        try:
            self._check()
        except pyburn.UnsupportedOp as error:
            if self.complete:
                raise
            raise SkipTest(str(error)) from error
        except pyburn.DTypeError as error:
            if not lacks_dtype(error):
                raise
            raise SkipTest(str(error)) from error

    def _check(self) -> None:
        if self.sample is None:
            return BASICS[self.kind](self.device)
        if not fits(self.sample, self.device):
            raise SkipTest("the device does not have the dtype")
        return OF_SAMPLES[self.kind][0](self.sample, self.device)


@dataclass
class Report:
    """The result of run().

    Attributes:
        device: The name of the device.
        passed: The number of checks that passed.
        skipped: The number of checks that do not apply to the device.
        missing: For each missing operation, the number of checks that need it.
        failures: The failed checks, with their errors.

    >>> print(Report("cpu", passed=12))
    [conformance] cpu: 12 checks passed, 0 failed, 0 skipped
    """

    device: str
    passed: int = 0
    skipped: int = 0
    missing: Counter[str] = field(default_factory=Counter)  # the number of checks by missing operation
    failures: list[tuple[Case, str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"[conformance] {self.device}: {self.passed} checks passed, {len(self.failures)} failed, {self.skipped} skipped"]
        if self.missing:
            names = ", ".join(name for name, _ in self.missing.most_common())
            lines.append(f"  {self.missing.total()} checks need operations without kernel and decomposition: {names}")
        if self.failures:
            wrong = Counter(case.op for case, _ in self.failures)
            lines.append("  wrong: " + ", ".join(f"{op} ({count})" for op, count in wrong.most_common()))
        shown = self.failures[:20]
        lines += [f"  {case}\n      {text}" for case, text in shown]
        if len(self.failures) > len(shown):
            lines.append(f"  ... and {len(self.failures) - len(shown)} more")
        return "\n".join(lines)


def _device_of(device: Any) -> Any:
    if isinstance(device, pyburn.backend.Backend):
        return device.device
    _core.Device(device)  # raises DeviceError for unknown devices
    return device


def cases(device: Any, *, ops: Iterable[str] | None = None, kinds: Iterable[str] | None = None, complete: bool = False) -> list[Case]:
    """Returns the checks for a device.

    Args:
        device: The name, a Device or a Backend object.
        ops: Only these operations, by function or row: ``max``, ``max.dim``.
        kinds: Only these checks: ``value``, ``gradient``, ``derivative``, ``out``, ``in_place``, ``error``, and ``basics`` for those of
            the device itself.
        complete: Whether missing operations are failures.

    Raises:
        ValueError: A kind or an operation is unknown.

    >>> [case.kind for case in cases("cpu", kinds="basics")]
    ['round_trip', 'views', 'random', 'training', 'synchronize']
    """
    place = _device_of(device)
    wanted_ops = None if ops is None else {ops} if isinstance(ops, str) else set(ops)
    known = {*OF_SAMPLES, "basics"}
    wanted = known if kinds is None else {kinds} if isinstance(kinds, str) else set(kinds)
    if unknown := wanted - known:
        raise ValueError(f"[conformance] unknown kind of check: got {', '.join(sorted(unknown))}")
    found = [Case(kind, place, None, complete) for kind in BASICS if "basics" in wanted and wanted_ops is None]
    for sample in all_samples():
        if wanted_ops is None or sample.op in wanted_ops or sample.function in wanted_ops:
            kinds_of_sample = [kind for kind, (_, applies) in OF_SAMPLES.items() if kind in wanted and applies(sample)]
            found += [Case(kind, place, sample, complete) for kind in kinds_of_sample]
    if wanted_ops is not None and not found:
        raise ValueError(f"[conformance] no samples of these operations: got {', '.join(sorted(wanted_ops))}")
    return found


def run(
    device: Any, *, ops: Iterable[str] | None = None, kinds: Iterable[str] | None = None, complete: bool = False, quiet: bool = False
) -> Report:
    """Runs the checks for a device and returns the report.

    Args:
        device: As in cases().
        ops: As in cases().
        kinds: As in cases().
        complete: Whether missing operations are failures.
        quiet: Whether not to print the report.

    Raises:
        ConformanceError: A result is wrong, or an operation is missing and complete is True.

    >>> run("cpu", ops="sigmoid", kinds="value", quiet=True).failures
    []
    """
    report = Report(str(_core.Device(_device_of(device))))
    for case in cases(device, ops=ops, kinds=kinds, complete=complete):
        try:
            case.check()
            report.passed += 1
        except SkipTest as skip:
            if isinstance(skip.__cause__, pyburn.UnsupportedOp):
                named = re.match(r"\[(\w+)\]", str(skip))
                report.missing[named[1] if named else case.op] += 1
            else:
                report.skipped += 1
        except Exception as error:  # any error of a backend
            lines = [line for line in str(error).splitlines() if line.strip()]
            report.failures.append((case, f"{type(error).__name__}: {'; '.join(line.strip() for line in lines[:4])}"))
    if report.failures:
        raise ConformanceError(report)
    if not quiet:
        print(report)
    return report
