"""Attention, pooling, norms, losses and resampling on wgpu in sizes at which their kernels take different ways, against the CPU."""

import pytest

import pyburn
from pyburn.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    pyburn.manual_seed(0)


def assert_same(function, gpu, *inputs, tolerance=2e-5):
    """Values, and the gradients of a weighted sum, agree with the CPU's, and nothing runs on the CPU."""
    results = []
    before = pyburn.backend.gpu.counters(gpu).host_calls
    for device in ("cpu", gpu):
        placed = [x.detach().to(device) for x in inputs]
        for x in placed:
            x.requires_grad = x.is_floating_point()
        y = function(*placed)
        weight = pyburn.linspace(-1.0, 1.0, y.numel()).reshape(y.shape).to(device)
        (y * weight).sum().backward()
        results.append([y.detach(), *(x.grad for x in placed if x.requires_grad)])
    assert pyburn.backend.gpu.counters(gpu).host_calls == before
    for expected, actual in zip(*results, strict=True):
        size = max(1.0, float(expected.abs().amax()))
        assert pyburn.allclose(actual.to("cpu"), expected, rtol=tolerance, atol=tolerance * size)


ATTENTION = [
    # batch, heads, key heads, queries, keys, features, values
    (2, 2, 2, 33, 33, 64, 64),
    (1, 4, 2, 17, 40, 80, 48),
    (1, 1, 1, 9, 21, 128, 128),
    (1, 2, 1, 5, 7, 300, 20),
]


@pytest.mark.parametrize("sizes", ATTENTION)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(gpu, sizes, causal):
    batch, heads, shared, queries, keys, width, values = sizes
    q, k, v = (
        pyburn.randn(batch, heads, queries, width),
        pyburn.randn(batch, shared, keys, width),
        pyburn.randn(batch, shared, keys, values),
    )
    grouped = heads != shared
    assert_same(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped), gpu, q, k, v)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_attention_with_masks_of_which_a_row_hides_all_keys(gpu, kind):
    q, k, v = (pyburn.randn(1, 2, 20, 16) for _ in range(3))
    mask = pyburn.rand(20, 20) > 0.4
    mask[3] = False
    if kind == "float":
        mask = pyburn.where(mask, pyburn.randn(20, 20), -float("inf"))
    assert_same(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.device)), gpu, q, k, v)


def test_attention_of_batches_whose_heads_come_last(gpu):
    q, k, v = (pyburn.randn(2, 19, 3, 24) for _ in range(3))
    assert_same(lambda *qkv: F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in qkv)).transpose(1, 2), gpu, q, k, v)


@pytest.mark.parametrize("shape, features", [((3, 5, 700), 700), ((70, 20), 20), ((2, 6), 6)])
def test_layer_norm(gpu, shape, features):
    x, weight, bias = pyburn.randn(*shape), pyburn.randn(features), pyburn.randn(features)
    assert_same(lambda x, w, b: F.layer_norm(x, (features,), w, b), gpu, x, weight, bias)
    assert_same(lambda x, w: F.rms_norm(x, (features,), w), gpu, x + 3, weight)


@pytest.mark.parametrize("shape", [(40, 21), (3, 5, 300), (2, 33, 4, 6)])
def test_batch_and_group_norm(gpu, shape):
    channels = shape[1]
    x, weight, bias = pyburn.randn(*shape) * 3 + 1, pyburn.randn(channels), pyburn.randn(channels)
    assert_same(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), gpu, x, weight, bias, tolerance=1e-4)
    groups = 3 if channels % 3 == 0 else 5
    assert_same(lambda x, w, b: F.group_norm(x, groups, w, b), gpu, x, weight, bias, tolerance=1e-4)


POOLS = {
    "max": lambda x: F.max_pool2d(x, 3, 2, padding=1),
    "max dilated": lambda x: F.max_pool2d(x, (2, 3), (2, 1), dilation=2, ceil_mode=True),
    "max overlapping": lambda x: F.max_pool2d(x, 4, 1),
    "max adaptive": lambda x: F.adaptive_max_pool2d(x, (5, 3)),
    "average": lambda x: F.avg_pool2d(x, 3, 2, padding=1),
    "average inside": lambda x: F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False),
    "average adaptive": lambda x: F.adaptive_avg_pool2d(x, (5, 3)),
    "average of all": lambda x: F.adaptive_avg_pool2d(x, 1),
    "of lines": lambda x: F.max_pool1d(x.flatten(1, 2), 5, 3, padding=2),
    "of volumes": lambda x: F.avg_pool3d(x, 2),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(gpu, name):
    assert_same(POOLS[name], gpu, pyburn.randn(2, 3, 17, 14))
    assert_same(lambda x: POOLS[name](x.permute(0, 3, 1, 2)), gpu, pyburn.randn(2, 17, 14, 3))


def test_pooling_passes_nan_on_and_names_the_first_of_equal_elements(gpu):
    x = pyburn.tensor([[[1.0, 1.0, float("nan"), 2.0, 5.0, 5.0]]])
    values, indices = F.max_pool1d(x.to(gpu), 2, return_indices=True)
    assert indices.tolist() == [[[0, 2, 4]]]
    assert values.isnan().tolist() == [[[False, True, False]]]


def test_indices_outside_a_plane_are_an_error_at_the_read(gpu):
    result = F.max_unpool1d(pyburn.ones(1, 1, 1, device=gpu), pyburn.tensor([[[9]]], device=gpu), 2)
    with pytest.raises(IndexError, match="out of range"):
        result.tolist()
    assert pyburn.ones(2, device=gpu).tolist() == [1, 1]


@pytest.mark.parametrize("classes", [3, 40, 1500])
def test_cross_entropy(gpu, classes):
    x, target = pyburn.randn(9, classes) * 4, pyburn.randint(0, classes, (9,))
    target[2] = -100
    assert_same(lambda x, t: F.cross_entropy(x, t, reduction="none"), gpu, x, target)
    assert_same(lambda x, t: F.cross_entropy(x.T.unsqueeze(0), t.unsqueeze(0), reduction="none"), gpu, x.T.contiguous().T, target)


def test_cross_entropy_names_classes_that_do_not_exist(gpu):
    loss = F.cross_entropy(pyburn.randn(2, 3, device=gpu), pyburn.tensor([1, 3], device=gpu))
    with pytest.raises(IndexError, match="class index out of range: got 3"):
        loss.item()


@pytest.mark.parametrize("arguments", [{"size": (31, 9)}, {"scale_factor": 0.6, "mode": "bilinear"}, {"size": (25, 30), "mode": "bicubic"}])
def test_interpolation(gpu, arguments):
    assert_same(lambda x: F.interpolate(x, **arguments), gpu, pyburn.randn(2, 3, 17, 14), tolerance=1e-4)


def test_patches(gpu):
    options = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (2, 1), "stride": (2, 1)}
    assert_same(lambda x: F.unfold(x, **options), gpu, pyburn.randn(2, 3, 17, 14))
    columns = F.unfold(pyburn.randn(2, 3, 17, 14), **options)
    assert_same(lambda x: F.fold(x, (17, 14), **options), gpu, columns)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(gpu, mode):
    grid = pyburn.rand(2, 9, 8, 2) * 2.2 - 1.1
    assert_same(lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False), gpu, pyburn.randn(2, 3, 17, 14), grid, tolerance=1e-3)


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
def test_layers_of_halves(gpu, dtype):
    x, weight = (pyburn.randn(2, 6, 9, 8) * 0.5).to(dtype), (pyburn.randn(4, 6, 3, 3) * 0.2).to(dtype)
    for run in (
        lambda d: F.conv2d(x.to(d), weight.to(d), padding=1),
        lambda d: F.max_pool2d(x.to(d), 2),
        lambda d: F.layer_norm(x.to(d), (8,)),
        lambda d: F.scaled_dot_product_attention(x.to(d), x.to(d), x.to(d)),
    ):
        expected, actual = run("cpu"), run(gpu).to("cpu")
        assert actual.dtype == dtype
        assert pyburn.allclose(actual.float(), expected.float(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "prod"])
def test_segments(gpu, reduce):
    lengths = pyburn.randint(0, 5, (700,))
    x = pyburn.randn(int(lengths.sum()), 3)
    expected = pyburn.segment_reduce(x, reduce, lengths=lengths, initial=1.5)
    actual = pyburn.segment_reduce(x.to(gpu), reduce, lengths=lengths.to(gpu), initial=1.5)
    assert pyburn.allclose(actual.to("cpu"), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("lengths", [[6, -1], [2**40, 3]])
def test_segments_that_do_not_fit_are_an_error_at_the_read(gpu, lengths):
    result = pyburn.segment_reduce(pyburn.ones(5, device=gpu), "sum", lengths=pyburn.tensor(lengths, device=gpu), unsafe=True)
    with pytest.raises(ValueError, match="lengths must"):
        result.tolist()


def test_bags_of_embeddings(gpu):
    tokens, offsets, table = pyburn.randint(0, 30, (50,)), pyburn.tensor([0, 7, 7, 31]), pyburn.randn(30, 6)
    expected = F.embedding_bag(tokens, table, offsets, mode="mean")
    before = pyburn.backend.gpu.counters(gpu).host_calls
    actual = F.embedding_bag(tokens.to(gpu), table.to(gpu), offsets.to(gpu), mode="mean")
    assert pyburn.allclose(actual.to("cpu"), expected, rtol=1e-5, atol=1e-5)
    assert pyburn.backend.gpu.counters(gpu).host_calls == before
