"""What sessions compute with: packed weights, images with channels last, constants in a mapped file. Compared with float64."""

import itertools

import numpy
import pytest

import pyburn
import pyburn.nn.functional as F
from pyburn import inference, nn


def session_and_reference(model, x, **options):
    """Results of a session, with one thread and with three, which must agree to the bit, and what float64 gives."""
    model = model.eval()
    session = inference.compile(model, x, **options)
    threads, results = pyburn.get_num_threads(), []
    try:
        for n in (1, 3):
            pyburn.set_num_threads(n)
            results.append(session(x).numpy())
            results.append(inference.compile(model, x, **options)(x).numpy())
    finally:
        pyburn.set_num_threads(threads)
    for other in results[1:]:
        numpy.testing.assert_array_equal(results[0], other)
    with pyburn.no_grad():
        expected = model.double()(x.double()).numpy()
    model.float()
    return results[0], expected


def assert_near(got, expected, depth=1):
    assert got.shape == expected.shape
    assert numpy.abs(got - expected).max() <= 3e-6 * max(1.0, depth**0.5) * max(1.0, numpy.abs(expected).max())


@pytest.mark.parametrize("rows", [1, 2, 7, 64, 67, 259])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (3, 5), (17, 65), (130, 200), (1030, 67), (2050, 3)])
def test_linear_with_packed_weights(rows, inputs, outputs):
    pyburn.manual_seed(rows + inputs)
    for bias, last in itertools.product((True, False), (nn.Identity(), nn.GELU(), nn.ReLU())):
        model = nn.Sequential(nn.Linear(inputs, outputs, bias=bias), last)
        assert_near(*session_and_reference(model, pyburn.randn(rows, inputs)), depth=inputs)


def test_linear_of_many_rows_and_axes():
    pyburn.manual_seed(1)
    model = nn.Sequential(nn.Linear(48, 144), nn.Tanh(), nn.Linear(144, 31))
    assert_near(*session_and_reference(model, pyburn.randn(3, 5, 41, 48)), depth=144)


def test_a_weight_that_two_layers_share():
    pyburn.manual_seed(2)
    first, second = nn.Linear(40, 40), nn.Linear(40, 40, bias=False)
    second.weight = first.weight
    assert_near(*session_and_reference(nn.Sequential(first, nn.ReLU(), second), pyburn.randn(9, 40)), depth=40)


class Separable(nn.Module):
    def __init__(self, channels, kernel, stride, padding, dilation, bias):
        super().__init__()
        self.widen = nn.Conv2d(5, channels, 1)
        self.depthwise = nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels, bias=bias)
        self.project = nn.Conv2d(channels, 6, 1)
        self.squeeze, self.excite = nn.Conv2d(channels, 3, 1), nn.Conv2d(3, channels, 1)

    def forward(self, x):
        x = F.hardswish(self.depthwise(F.silu(self.widen(x))))
        x = x * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        return self.project(x)


@pytest.mark.parametrize("channels", [8, 16, 23, 72, 130])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [
        (3, 1, 1, 1),
        (3, 2, 1, 1),
        (5, 1, 2, 1),
        (5, 2, 2, 1),
        (7, 1, 3, 1),
        (7, 2, 0, 1),
        (3, 1, 2, 2),
        (4, 3, 2, 1),
        ((3, 5), (2, 1), (0, 4), 1),
        (1, 1, 0, 1),
    ],
)
def test_depthwise_blocks(channels, kernel, stride, padding, dilation):
    pyburn.manual_seed(channels)
    for size, bias in (((7, 7), True), ((15, 29), False), ((8, 56), True)):
        model = Separable(channels, kernel, stride, padding, dilation, bias)
        assert_near(*session_and_reference(model, pyburn.randn(2, 5, *size)), depth=60)


def test_blocks_with_residuals_between_kept_orders():
    """A residual sum joins images of both orders; a concatenation and a flatten keep plain order."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, 2, 1)
            self.a, self.b = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1)
            self.c, self.d = nn.Conv2d(16, 24, 1), nn.Conv2d(24, 24, 5, padding=2, groups=24)
            self.e, self.head = nn.Conv2d(24, 16, 1), nn.Linear(40 * 49, 3)

        def forward(self, x):
            x = F.relu6(self.stem(x))
            y = x + self.b(F.relu6(self.a(x)))
            z = F.relu6(self.d(F.relu6(self.c(y))))
            y = y + self.e(z)
            return self.head(F.max_pool2d(pyburn.cat([y, z], 1), 2).flatten(1))

    pyburn.manual_seed(3)
    assert_near(*session_and_reference(Net(), pyburn.randn(2, 3, 28, 28)), depth=2000)


@pytest.mark.parametrize("channels", [1, 2, 16, 37, 300, 1100])
def test_numbers_per_channel_of_images_with_channels_last(channels):
    pyburn.manual_seed(4)
    x = pyburn.randn(3, channels, 9, 31).contiguous(memory_format=pyburn.channels_last)
    s = pyburn.randn(3, channels, 1, 1)
    plain = x.contiguous()
    for f in (pyburn.mul, pyburn.sub, pyburn.maximum, lambda a, b: pyburn.where(a > b, a, b)):
        numpy.testing.assert_array_equal(f(x, s).numpy(), f(plain, s).numpy())
        numpy.testing.assert_array_equal(f(s, x).numpy(), f(s, plain).numpy())


@pytest.mark.parametrize("shape", [(1, 3, 5, 7), (2, 130, 14, 14), (3, 16, 1, 9)])
def test_means_of_images_with_channels_last(shape):
    pyburn.manual_seed(5)
    x = pyburn.randn(*shape)
    got = F.adaptive_avg_pool2d(x.contiguous(memory_format=pyburn.channels_last), 1).numpy()
    assert_near(got, x.numpy().astype("float64").mean((2, 3), keepdims=True))


@pytest.fixture
def network():
    pyburn.manual_seed(6)
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.Conv2d(32, 200, 1),
        nn.Flatten(),
        nn.Linear(200 * 64, 33),
    ).eval()


def test_a_loaded_session_gives_the_bits_of_the_compiled_one(network, tmp_path):
    x = pyburn.randn(2, 3, 8, 8)
    session = inference.compile(network, x)
    session.save(tmp_path / "n.graph")
    loaded = inference.load(tmp_path / "n.graph")
    (tmp_path / "n.graph").unlink()  # the mapping stays
    numpy.testing.assert_array_equal(loaded(x).numpy(), session(x).numpy())
    loaded.save(tmp_path / "again.graph")  # reads constants whose memory was given back
    numpy.testing.assert_array_equal(inference.load(tmp_path / "again.graph")(x).numpy(), session(x).numpy())


def test_training_a_model_does_not_change_its_session(network):
    x = pyburn.randn(2, 3, 8, 8)
    session = inference.compile(network, x)
    before = session(x).numpy()
    with pyburn.no_grad():
        for p in network.parameters():
            p.add_(1.0)
    numpy.testing.assert_array_equal(session(x).numpy(), before)


def test_constants_that_are_written_count_at_once(network, tmp_path):
    x = pyburn.randn(2, 3, 8, 8)
    inference.compile(network, x).save(tmp_path / "n.graph")
    loaded = inference.load(tmp_path / "n.graph")
    before = loaded(x).numpy()
    weight = next(t for t in loaded.graph.constants.values() if t.shape == (33, 200 * 64))
    weight.mul_(2.0)
    bias = network[5].bias.detach().numpy()
    numpy.testing.assert_allclose(loaded(x).numpy() - bias, 2 * (before - bias), rtol=1e-4, atol=1e-4)


class Resampled(nn.Module):
    """Pooling and resizing between convolutions that want their channels last."""

    def __init__(self, channels, between):
        super().__init__()
        self.widen, self.depthwise = nn.Conv2d(6, channels, 1), nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.between, self.project = between, nn.Conv2d(channels, 7, 1)

    def forward(self, x):
        return self.project(self.between(F.relu(self.depthwise(self.widen(x)))))


@pytest.mark.parametrize("channels", [8, 16, 37, 130])
@pytest.mark.parametrize(
    "between",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d(3, 2, 1),
        nn.MaxPool2d(3, 1, 1, dilation=2),
        nn.MaxPool2d((2, 5), (3, 2), (1, 2), ceil_mode=True),
        nn.MaxPool2d(7, 4),
        nn.AdaptiveMaxPool2d((3, 5)),
        nn.AdaptiveMaxPool2d(1),
        nn.AvgPool2d(2),
        nn.AvgPool2d(3, 2, 1),
        nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
        nn.AvgPool2d(2, divisor_override=3),
        nn.AdaptiveAvgPool2d((3, 5)),
        nn.AdaptiveAvgPool2d(1),
        nn.Upsample(scale_factor=2),
        nn.Upsample(size=(5, 30)),
        nn.Upsample(size=(20, 7), mode="bilinear"),
        nn.Upsample(size=(20, 7), mode="bicubic", align_corners=True),
    ],
    ids=repr,
)
def test_pooling_and_resizing_with_channels_last(channels, between):
    pyburn.manual_seed(channels)
    assert_near(*session_and_reference(Resampled(channels, between), pyburn.randn(2, 6, 13, 11)), depth=channels)


def test_maxima_of_images_with_channels_last_keep_nan():
    pyburn.manual_seed(5)
    model = Resampled(24, nn.MaxPool2d(3, 2, 1)).eval()
    x = pyburn.randn(1, 6, 9, 9)
    x[0, 0, 4, 4] = float("nan")
    got = inference.compile(model, x)(x)
    assert pyburn.allclose(got, model(x), equal_nan=True, atol=1e-5)
    assert got.isnan().any() and not got.isnan().all()
