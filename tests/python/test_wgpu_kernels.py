"""Kernels that users write in WGSL. Skipped where there is no adapter."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn.backend import WgslKernel

try:
    pyburn.device("wgpu")
    WHY = ""
except pyburn.DeviceError as error:
    WHY = str(error)

pytestmark = pytest.mark.skipif(bool(WHY), reason=f"THE GPU BACKEND IS NOT TESTED: {WHY}")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "wgpu-kernel"
axpy = WgslKernel("y_set(i, p.factor * a_get(i) + b_get(i));", inputs=["a", "b"], name="axpy")


def numbers(*shape: int) -> pyburn.Tensor:
    return pyburn.randn(*shape).to("wgpu")


@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float16, pyburn.bfloat16])
def test_layouts_and_dtypes_are_taken_care_of(dtype: pyburn.dtype) -> None:
    a, b = numbers(5, 7).to(dtype).T, numbers(7, 10).to(dtype)[:, ::2]
    y = axpy(a, b, shape=(7, 5), factor=2.0)
    assert y.dtype == dtype and y.is_contiguous() and not y.requires_grad
    expected = (2 * a.float() + b.float()).to(dtype)
    np.testing.assert_allclose(y.float().cpu().numpy(), expected.float().cpu().numpy(), rtol=1e-6)


def test_integers_and_several_results() -> None:
    divide = WgslKernel(
        "q_set(i, x_get(i) / i32(p.by)); r_set(i, x_get(i) % i32(p.by) == 0);", inputs=["x"], outputs=["q", "r"], name="divide"
    )
    x = pyburn.arange(20, dtype=pyburn.int32).to("wgpu")
    q, r = divide(x, shape=[20, 20], dtype=[pyburn.int16, pyburn.bool], by=3)
    assert q.dtype == pyburn.int16 and q.tolist() == [k // 3 for k in range(20)]
    assert r.dtype == pyburn.bool and r.tolist() == [k % 3 == 0 for k in range(20)]


def test_workgroups_share_variables() -> None:
    largest = WgslKernel(
        """
        best[lane] = x_get(group * 64u + lane);
        for (var half = 32u; half > 0u; half /= 2u) {
          workgroupBarrier();
          if (lane < half) { best[lane] = max(best[lane], best[lane + half]); }
        }
        if (lane == 0u) { y_set(group, best[0]); }
        """,
        inputs=["x"],
        declarations="var<workgroup> best: array<f32, 64>;",
        workgroup_size=64,
    )
    x = numbers(9, 64)
    assert (largest(x, shape=9, count=9) == x.amax(1)).all()
    with pytest.raises(ValueError, match="count is missing"):
        largest(x, shape=9)


@pytest.mark.parametrize("device", ["wgpu", "fusion(wgpu)", "cpu"])
def test_an_operation_with_a_kernel_has_a_gradient(device: str) -> None:
    ran = []

    def cube_on_gpu(x: pyburn.Tensor) -> pyburn.Tensor:
        ran.append(x.device)
        return WgslKernel("let v = x_get(i); y_set(i, v * v * v);", inputs=["x"])(x, shape=x.shape)

    cube = pyburn.register_op(
        "wgpu_test_cube(Tensor x) -> Tensor",
        kernel={"wgpu": cube_on_gpu},
        decompose=lambda x: x * x * x,
        grad=lambda ctx, dy: 3 * ctx.x * ctx.x * dy,
    )
    x = pyburn.tensor([1.0, -2.0, 3.0]).to(device).requires_grad_()
    y = cube(x * 2)
    assert y.tolist() == [8.0, -64.0, 216.0]
    assert len(ran) == (device != "cpu")
    (first,) = pyburn.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [24.0, 96.0, 216.0]
    assert pyburn.autograd.grad(first.sum(), x)[0].tolist() == [48.0, -96.0, 144.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: WgslKernel("y_set(i, x_gt(i));", inputs=["x"], name="typo")(x, shape=4), pyburn.DeviceError, r"\[typo\].*x_gt"),
        (lambda x: WgslKernel("}} @compute", inputs=["x"])(x, shape=4), pyburn.DeviceError, "compilation"),
        (lambda x: axpy(x, pyburn.ones(4), shape=4, factor=1.0), pyburn.DeviceError, "expected tensors on wgpu"),
        (lambda x: axpy(x, x.to("fusion(wgpu)"), shape=4, factor=1.0), pyburn.DeviceError, "expected tensors on wgpu"),
        (lambda x: axpy(x, shape=4, factor=1.0), ValueError, "has 2 inputs: got 1"),
        (lambda x: axpy(x, x, shape=4, a=1.0), ValueError, "used twice"),
        (lambda x: axpy(x, x, shape=4, factor="2"), TypeError, "factor must be an int or a float: got str"),
        (lambda x: axpy(x, x, shape=4, factor=-1), ValueError, "32 bits without a sign"),
        (lambda x: axpy(x, 3, shape=4, factor=1.0), TypeError, "expected tensors: got int"),
        (lambda x: axpy(x, x, shape=(2, -2), factor=1.0), pyburn.ShapeError, "must not be negative"),
        (lambda x: axpy(x, x, shape=2**40, factor=1.0), pyburn.OutOfMemoryError, "at most"),
        (lambda x: axpy(x, x, shape=4, factor=1.0, count=2**62), pyburn.ShapeError, "32 bits"),
        (lambda x: axpy(x, x, shape=4, dtype=pyburn.float64, factor=1.0), pyburn.DTypeError, "float64"),
        (lambda x: WgslKernel("", inputs=["a b"])(x, shape=4), ValueError, "letters, digits and underscores"),
        (lambda x: WgslKernel("", inputs=["x"], workgroup_size=10**6)(x, shape=4, count=1), ValueError, "workgroup_size"),
        (lambda x: WgslKernel("", inputs="x"), TypeError, "sequences of names"),
    ],
)
def test_mistakes_are_errors(call, error, message) -> None:
    x = numbers(4)
    with pytest.raises(error, match="(?s)" + message):
        call(x)
    assert axpy(x, x, shape=4, factor=1.0).tolist() == (x * 2).tolist()


def test_reading_and_writing_outside_does_no_harm() -> None:
    x = numbers(4)
    kept = x.tolist()
    WgslKernel("y_set(i * 1000000u, x_get(4000000000u - i));", inputs=["x"])(x, shape=4, count=4000)
    assert x.tolist() == kept


def check_output(output: str) -> None:
    values, gradients = (float(found) for found in re.findall(r"largest .*: (\S+)$", output, re.MULTILINE))
    assert values < 1e-4 and gradients < 1e-5


@pytest.mark.parametrize("device", ["wgpu", "fusion(wgpu)"])
def test_the_example_in_python(device: str) -> None:
    command = [sys.executable, str(EXAMPLE / "linear_relu.py"), "--device", device, "--steps", "40"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    check_output(output)
    first, last = (float(found) for found in re.findall(r"loss ([\d.]+)", output))
    assert last < 0.5 * first


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="needs cmake and ninja")
def test_the_example_in_cpp(tmp_path: Path) -> None:
    configure = ["cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", tmp_path, f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Debug"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", tmp_path], check=True, stdout=subprocess.DEVNULL)
    for device in ("wgpu", "fusion(wgpu)"):
        check_output(subprocess.run([tmp_path / "linear_relu", device], check=True, capture_output=True, text=True).stdout)
