"""Matrix products, convolutions and attention on wgpu in the sizes and layouts where their kernels take different ways, against the CPU."""

import pytest

import pyburn
from pyburn.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    pyburn.manual_seed(0)


def assert_same(function, gpu, *inputs, tolerance=1e-5):
    """Values, and the gradients of a weighted sum, agree with the CPU's."""
    results = []
    for device in (None, gpu):
        placed = [x.detach().to(device) if device else x.detach() for x in inputs]
        # A layout must survive the transfer for the test to mean something: views are made on the device.
        for x in placed:
            x.requires_grad = True
        y = function(*placed)
        weight = pyburn.linspace(-1.0, 1.0, max(1, y.numel())).reshape(y.shape)
        (y * (weight.to(device) if device else weight)).sum().backward()
        results.append([y.detach(), *(x.grad for x in placed)])
    for expected, actual in zip(*results):
        size = max(1.0, float(expected.abs().amax())) if expected.numel() else 1.0
        assert pyburn.allclose(actual.to("cpu"), expected, rtol=tolerance, atol=tolerance * size)


SIZES = [(64, 64, 64), (65, 33, 17), (1, 100, 300), (3, 5, 2000), (20, 24, 4096), (128, 96, 36), (17, 2, 65), (40, 68, 20)]


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("left, right", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_every_orientation(gpu, m, n, k, left, right):
    x = pyburn.randn(k, m) if left else pyburn.randn(m, k)
    y = pyburn.randn(n, k) if right else pyburn.randn(k, n)
    assert_same(lambda a, b: (a.T if left else a) @ (b.T if right else b), gpu, x, y)


def test_products_with_offsets_and_steps(gpu):
    x, y = pyburn.randn(3, 41, 73), pyburn.randn(3, 72, 50)
    assert_same(lambda a, b: pyburn.bmm(a[:, 1:, 1:], b[:, :, 2:]), gpu, x, y)
    assert_same(lambda a, b: pyburn.bmm(a[:, ::2, :36], b[:, ::2]), gpu, x, y)


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
@pytest.mark.parametrize("left, right", [(False, False), (True, True)])
def test_products_of_halves(gpu, dtype, left, right):
    x, y = pyburn.randn(24, 68).to(dtype), pyburn.randn(68, 40).to(dtype)
    given_x, given_y = (x.T.contiguous() if left else x).to(gpu), (y.T.contiguous() if right else y).to(gpu)
    actual = (given_x.T if left else given_x) @ (given_y.T if right else given_y)
    expected = x.float() @ y.float()
    assert pyburn.allclose(actual.to("cpu").float(), expected, rtol=1e-2, atol=1e-2)


def test_an_output_may_share_memory_with_the_inputs(gpu):
    for dtype in (pyburn.float32, pyburn.float16):
        x = pyburn.randn(3, 20, 20).to(dtype)
        memory = x.to(gpu)
        pyburn.bmm(memory[0:1], memory[1:2], out=memory[2:3])
        expected = x[0].float() @ x[1].float()
        assert pyburn.allclose(memory[2].to("cpu").float(), expected, rtol=1e-2, atol=1e-2)
        assert pyburn.equal(memory[:2].to("cpu"), x[:2])


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
def test_products_of_halves_are_summed_in_float32(gpu, dtype):
    x, y = pyburn.ones(2, 4096).to(dtype), pyburn.ones(4096, 8).to(dtype)
    assert (x.to(gpu) @ y.to(gpu)).to("cpu").tolist() == [[4096.0] * 8] * 2


def test_products_of_int64_are_exact(gpu):
    x = pyburn.tensor([[2**40 + 1, -3, 5]])
    y = pyburn.tensor([[2**20 - 1], [2**45], [-(2**62)]])
    assert (x.to(gpu) @ y.to(gpu)).to("cpu").tolist() == (x @ y).tolist()


@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 5)])
def test_linear(gpu, batch):
    x, weight, bias = pyburn.randn(*batch, 72), pyburn.randn(100, 72), pyburn.randn(100)
    assert_same(F.linear, gpu, x, weight, bias)


CONVOLUTIONS = [
    # input, weight, arguments
    ((2, 3, 20, 18), (16, 3, 3, 3), {"padding": 1}),
    ((2, 8, 15, 17), (12, 8, 3, 2), {"stride": (2, 3), "padding": (1, 0), "dilation": (1, 2)}),
    ((1, 4, 9, 8), (8, 2, 3, 3), {"groups": 2, "stride": 2, "padding": 2}),
    ((2, 6, 9, 8), (6, 1, 3, 3), {"groups": 6, "padding": 1}),  # depthwise
    ((2, 40, 8, 8), (24, 40, 1, 1), {}),  # a matrix product
    ((1, 2, 40, 40), (1, 2, 7, 7), {"stride": 4, "padding": 3}),
]


@pytest.mark.parametrize("size, kernel, arguments", CONVOLUTIONS)
def test_convolutions_and_their_gradients(gpu, size, kernel, arguments):
    inputs = pyburn.randn(*size), pyburn.randn(*kernel), pyburn.randn(kernel[0])
    assert_same(lambda x, w, b: F.conv2d(x, w, b, **arguments), gpu, *inputs)


def test_convolutions_read_any_layout(gpu):
    x, weight = pyburn.randn(2, 12, 10, 6), pyburn.randn(3, 3, 6, 8)
    assert_same(lambda x, w: F.conv2d(x.permute(0, 3, 1, 2)[:, :, 1:], w.permute(3, 2, 0, 1), padding=1), gpu, x, weight)


def test_convolutions_of_volumes(gpu):
    x, weight = pyburn.randn(2, 4, 6, 5, 7), pyburn.randn(6, 2, 3, 2, 3)
    assert_same(lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=(1, 0, 2), groups=2), gpu, x, weight)


def test_transposed_convolutions(gpu):
    x, weight = pyburn.randn(2, 8, 6, 5), pyburn.randn(8, 4, 3, 3)
    assert_same(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), gpu, x, weight)
