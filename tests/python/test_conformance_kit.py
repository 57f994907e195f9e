"""pyburn.testing.conformance: backends of other packages test themselves."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest

import pyburn
from pyburn import backend
from pyburn.backend.numpy_backend import NumpyBackend
from pyburn.testing import conformance

unused_name = (f"kit{i}" for i in itertools.count()).__next__


def registered(**members) -> str:
    """The name of a numpy backend with some members replaced."""
    name = unused_name()
    backend.register(name, type(name, (NumpyBackend,), {"name": name, **members}))
    return name


def test_a_backend_tests_itself_in_one_line(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples" / "backend_python"))
    import pyburn_exact

    pyburn_exact.announce()
    report = conformance.run(
        "exact", ops=["add", "sub", "mul", "div", "neg", "sum", "bmm", "exp"], kinds=["value", "gradient", "out", "in_place"]
    )
    assert report.passed > 150 and not report.failures
    assert report.skipped > 20  # float16 and integers, which fractions do not stand for
    assert "exp" in report.missing
    assert capsys.readouterr().out == f"{report}\n"


def test_a_wrong_kernel_is_found_and_named():
    @backend.kernel
    def cos(self, x):
        return np.cos(x) + (x > 1) * 1e-3

    wrong = registered(cos=cos)
    with pytest.raises(conformance.ConformanceError, match=r"wrong: cos \(\d+\)") as caught:
        conformance.run(wrong, ops=["sin", "cos"], kinds=["value"])
    report = caught.value.report
    assert {case.op for case, _ in report.failures} == {"cos"} and report.passed
    assert "value: cos(" in str(report) and "Mismatched elements" in str(report)


def test_a_wrong_gradient_a_changed_input_and_a_wrong_error_are_found():
    @backend.kernel
    def sin(self, x):
        x *= 1 if x.dtype != np.float32 else 1.5  # kernels must not
        return np.sin(x / 1.5 if x.dtype == np.float32 else x)

    @backend.kernel
    def index_select(self, x, index, *, dim):
        return np.take(x, np.clip(index, 0, x.shape[dim] - 1), dim) if x.ndim else x

    with pytest.raises(conformance.ConformanceError, match="sin"):
        conformance.run(registered(sin=sin), ops="sin", kinds="value")
    with pytest.raises(conformance.ConformanceError, match="no error was raised; expected one with"):
        conformance.run(registered(index_select=index_select), ops="index_select", kinds="error")


def test_an_exception_in_a_kernel_is_a_failure():
    @backend.kernel
    def exp(self, x):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(conformance.ConformanceError, match="ZeroDivisionError: on purpose"):
        conformance.run(registered(exp=exp), ops="exp")


def test_missing_operations_are_counted_or_failures():
    kernels = {k: v for k, v in NumpyBackend._kernels.items() if k != "sin"}
    name = registered(supports=lambda self, op, dtype: op in kernels)
    report = conformance.run(name, ops=["sin", "cos"], kinds=["value"], quiet=True)
    assert set(report.missing) == {"sin"} and report.passed
    with pytest.raises(conformance.ConformanceError, match="UnsupportedOp"):
        conformance.run(name, ops="sin", kinds="value", complete=True)


def test_dtypes_that_a_device_does_not_have_are_skipped():
    name = registered(capabilities=backend.Capabilities(dtypes=[pyburn.float32, pyburn.int64, pyburn.bool]))
    report = conformance.run(name, ops=["exp", "sum", "eye"], quiet=True)
    assert report.skipped and report.passed
    with pytest.raises(pyburn.DTypeError, match="cannot store float64"):
        pyburn.ones(2, dtype=pyburn.float64, device=name)


def test_devices_of_all_kinds_are_accepted():
    for device in ("cpu", pyburn.device("fusion(numpy)"), NumpyBackend(), pyburn.BackendKind.NUMPY):
        assert conformance.run(device, ops="add", kinds="value", quiet=True).passed
    with pytest.raises(pyburn.DeviceError):
        conformance.run("nonsense")
    with pytest.raises(ValueError, match="no samples of these operations"):
        conformance.run("cpu", ops="nonsense")
    with pytest.raises(ValueError, match="unknown kind"):
        conformance.run("cpu", kinds="nonsense")


@pytest.mark.parametrize("case", conformance.cases("cpu", ops=["softmax", "max.dim"]), ids=str)
def test_cases_are_for_pytest(case):
    case.check()


def test_cases_that_do_not_apply_are_skipped():
    name = registered(supports=lambda self, op, dtype: False)
    case = next(case for case in conformance.cases(name, ops="exp", kinds="value"))
    with pytest.raises(SkipTest, match=r"^\[\w+\] has no kernel for float32"):
        case.check()
    assert str(case).startswith("value: exp(")


def test_the_basics():
    report = conformance.run("numpy", kinds="basics", quiet=True)
    assert report.passed == 5

    def upload(self, data, dtype):
        return np.frombuffer(data, dtype.name)[::-1].copy()

    with pytest.raises(conformance.ConformanceError, match="round_trip"):
        conformance.run(registered(upload=upload), kinds="basics")


def test_the_kit_is_loaded_when_it_is_asked_for():
    program = "import sys, pyburn, pyburn.testing; assert 'pyburn.testing.conformance' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
