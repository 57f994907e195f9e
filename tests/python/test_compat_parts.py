"""pyburn.compat: the parts of PyTorch and torchvision that model files import besides tensors and layers."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

import pyburn
import pyburn.compat


@pytest.mark.parametrize("name", ["torch.fx", "torch.nn.quantized", "torch.distributed.fsdp", "torch.fft", "torch.ao.quantization"])
def test_absent_parts_are_imported_and_raise_when_used(torch: Any, name: str) -> None:
    module = importlib.import_module(name)
    thing = module.SomeThing
    assert not isinstance(3, thing) and not thing and thing | None  # in isinstance and in annotations

    class Derived(thing):  # type: ignore[misc, valid-type]
        pass

    for call in (thing, Derived):
        with pytest.raises(RuntimeError, match=f"{name}.SomeThing is not implemented"):
            call()


def test_decorators_and_questions_of_compilers_change_nothing(torch: Any) -> None:
    assert torch.fx.wrap(len) is len and torch.compiler.disable(len) is len and not torch.compiler.is_compiling()
    assert torch.jit.script_method(len) is len and not torch.onnx.is_in_onnx_export()

    @torch.library.custom_op("place::twice", mutates_args=())
    def twice(x: Any) -> Any:
        return 2 * x

    twice.register_fake(lambda x: x)
    assert twice(torch.ones(1)) == 2 and torch.ops.place.twice(torch.ones(1)) == 2
    with torch.backends.cuda.sdp_kernel(enable_flash=True), torch.random.fork_rng():
        torch.rand(1)


def test_tensor_split_knows_the_names_of_its_forms(torch: Any) -> None:
    x = torch.arange(6)
    assert [part.tolist() for part in torch.tensor_split(x, indices=(1,), dim=0)] == [[0], [1, 2, 3, 4, 5]]
    assert len(torch.tensor_split(x, sections=3)) == len(torch.tensor_split(x, 3)) == 3
    with pytest.raises(TypeError, match="no form takes these arguments"):
        torch.tensor_split(x, parts=3)


def test_devices_and_dtypes_that_are_not_there_can_be_named(torch: Any) -> None:
    cuda = torch.device("cuda", 1)
    assert cuda.type == "cuda" and cuda.index == 1 and isinstance(cuda, torch.device) and isinstance(torch.device("cpu"), torch.device)
    with pytest.raises(RuntimeError, match="cuda"):
        torch.ones(1).to(cuda)
    assert torch.device("cpu") != None and torch.device("meta") == torch.ones(1, device="meta").device  # noqa: E711
    assert torch.complex64.is_complex and torch.ones(1).dtype != torch.complex64 and torch.finfo(torch.float8_e4m3fn).max == 448
    assert torch.finfo(torch.float32).eps == pyburn.finfo(pyburn.float32).eps


def test_a_module_may_have_bases_with_a_metaclass(torch: Any) -> None:
    class Named(ABC):
        def __init__(self, name: str = "mean") -> None:
            super().__init__()
            self.name = name

        @property
        @abstractmethod
        def better(self) -> str: ...

        @classmethod
        def kind(cls) -> str:
            return cls.__name__

    class Metric(torch.nn.Module, ABC):
        pass

    class Mean(Named, Metric):
        better = "lower"

        def __init__(self) -> None:
            super().__init__("average")
            self.register_buffer("total", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            return x.mean() + self.total

    mean = Mean()
    assert mean(torch.ones(3)) == 1 and mean.name == "average" and mean.kind() == "Mean" and list(mean.state_dict()) == ["total"]
    assert isinstance(mean, Named) and isinstance(mean, Metric) and isinstance(mean, ABC) and isinstance(mean, torch.nn.Module)


def test_trees_are_taken_apart_and_put_together(torch: Any) -> None:
    pytree = importlib.import_module("torch.utils._pytree")
    tree = {"b": [1, (2, None)], "a": 3}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3] and pytree.tree_unflatten(leaves, spec) == tree and spec.num_leaves == 4
    assert pytree.tree_map(lambda x, y: (x, y), [1, 2], [3, 4]) == [(1, 3), (2, 4)]
    assert pytree.tree_map_only(int, lambda x: -x, tree) == {"b": [-1, (-2, None)], "a": -3}
    with pytest.raises(ValueError, match="4 leaves"):
        pytree.tree_unflatten([1], spec)


def test_weights_behind_an_address(torch: Any, tmp_path: Path) -> None:
    torch.save({"weight": torch.arange(3.0)}, tmp_path / "net.pt")
    address, folder = (tmp_path / "net.pt").as_uri(), tmp_path / "kept"
    for _ in range(2):  # downloaded, then found
        found = torch.hub.load_state_dict_from_url(address, str(folder))
        assert torch.equal(found["weight"], torch.arange(3.0))
    with pytest.raises(RuntimeError, match="invalid hash"):
        torch.hub.download_url_to_file(address, str(tmp_path / "other.pt"), "0000")
    assert sorted(path.name for path in folder.iterdir()) == ["net.pt"] and not (tmp_path / "other.pt").exists()


def test_attention_by_functions_of_the_indices(torch: Any) -> None:
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 5, 5)
    causal = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=mask), causal, atol=1e-5)
    slopes = torch.tensor([0.5, 0.25, 0.125])
    output, aux = flex.flex_attention(q, k, v, return_aux=flex.AuxRequest(lse=True, max_scores=True))
    scores = q @ k.mT / 2
    assert torch.allclose(aux.lse, scores.logsumexp(-1), atol=1e-5) and torch.allclose(aux.max_scores, scores.amax(-1), atol=1e-5)
    assert torch.allclose(output, scores.softmax(-1) @ v, atol=1e-5)
    biased = flex.flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + slopes[h] * (j - i))
    places = torch.arange(5.0)
    bias = slopes[:, None, None] * (places[None, :] - places[:, None])
    assert torch.allclose(biased, torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(2, 3, 5, 5)), atol=1e-5)


def test_boxes(torch: Any) -> None:
    ops = importlib.import_module("torchvision.ops")
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 40]])
    assert torch.allclose(ops.box_area(boxes), torch.tensor([100.0, 100, 200]))
    assert torch.allclose(ops.box_iou(boxes[:1], boxes), torch.tensor([[1.0, 81 / 119, 0.0]]))
    assert ops.nms(boxes, torch.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert ops.batched_nms(boxes, torch.tensor([0.5, 0.9, 0.1]), torch.tensor([0, 1, 0]), 0.5).tolist() == [1, 0, 2]
    assert torch.equal(ops.box_convert(ops.box_convert(boxes, "xyxy", "cxcywh"), "cxcywh", "xyxy"), boxes)
    assert ops.clip_boxes_to_image(boxes, (15, 25))[2].tolist() == [20, 15, 25, 15]
    from torchvision.ops.boxes import remove_small_boxes  # type: ignore[import-not-found]

    assert remove_small_boxes(boxes, 15).tolist() == []


def test_regions_of_interest_of_a_plane_are_exact(torch: Any) -> None:
    ops = importlib.import_module("torchvision.ops")
    y, x = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    image = (2 * x + 3 * y)[None, None].requires_grad_()
    pooled = ops.roi_align(image, [torch.tensor([[1.0, 1.0, 5.0, 5.0]])], 2, sampling_ratio=2, aligned=True)
    centres = torch.tensor([1.5, 3.5])  # a plane is linear: means of samples are its values at the centres of the bins
    assert torch.allclose(pooled[0, 0], 2 * centres[None, :] + 3 * centres[:, None])
    pooled.sum().backward()
    assert torch.allclose(image.grad.sum(), torch.tensor(4.0))


def test_pyramids_and_blocks(torch: Any) -> None:
    ops = importlib.import_module("torchvision.ops")
    levels = {"fine": torch.rand(1, 3, 8, 8), "coarse": torch.rand(1, 5, 4, 4)}
    pyramid = ops.FeaturePyramidNetwork([3, 5], 6, ops.LastLevelMaxPool())
    assert {name: tuple(x.shape) for name, x in pyramid(levels).items()} == {
        "fine": (1, 6, 8, 8),
        "coarse": (1, 6, 4, 4),
        "pool": (1, 6, 2, 2),
    }
    assert "inner_blocks.0.0.weight" in pyramid.state_dict() and "layer_blocks.1.0.bias" in pyramid.state_dict()
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(torch.nn.BatchNorm2d(3).state_dict())
    assert not list(frozen.parameters()) and frozen(levels["fine"]).shape == (1, 3, 8, 8)
    assert len(ops.Conv2dNormActivation(3, 4, activation_layer=None, bias=True)) == 2 and ops.MLP(3, [4, 2])(torch.rand(1, 3)).shape == (
        1,
        2,
    )
    with pytest.raises(RuntimeError, match="torchvision.ops.no_such_operation is not implemented"):
        ops.no_such_operation()


def test_transforms_stand_in_a_sequential(torch: Any) -> None:
    transforms = importlib.import_module("torchvision.transforms")
    steps = torch.nn.Sequential(transforms.Resize(4), transforms.RandomHorizontalFlip(p=0.0), transforms.Normalize((0.5,) * 3, (0.5,) * 3))
    assert steps(torch.ones(3, 8, 8)).shape == (3, 4, 4) and steps[1].p == 0.0 and isinstance(steps[0], torch.nn.Module)
    chain = transforms.Compose([transforms.CenterCrop(2), transforms.RandomApply([transforms.Grayscale()], p=1.0)])
    assert chain(torch.ones(3, 8, 8)).shape == (1, 2, 2)
    models = importlib.import_module("torchvision.models")
    assert callable(models.__dict__["resnet18"]) and isinstance(models.VGG16_Weights, type)
    with pytest.raises(RuntimeError, match="torchvision.models.no_net is not implemented"):
        models.no_net()


def test_families_of_distributions(torch: Any) -> None:
    d = importlib.import_module("torch.distributions")
    from torch.distributions.categorical import Categorical  # type: ignore[import-not-found]

    assert Categorical is d.Categorical
    torch.manual_seed(0)
    mean, factor = torch.tensor([1.0, -1.0]), torch.tensor([[2.0, 0.0], [0.5, 1.0]])
    wide = d.MultivariateNormal(mean, scale_tril=factor)
    assert torch.allclose(wide.sample((20000,)).T.cov(), factor @ factor.T, atol=0.15)
    plain = d.Independent(d.Normal(mean, torch.ones(2)), 1)
    round_one = d.MultivariateNormal(mean, torch.eye(2))
    assert torch.allclose(plain.log_prob(torch.zeros(2)), round_one.log_prob(torch.zeros(2)))
    assert torch.allclose(plain.entropy(), round_one.entropy())
    squashed = d.TransformedDistribution(d.Normal(torch.zeros(1), torch.ones(1)), [d.TanhTransform()])
    grid = torch.linspace(-0.999, 0.999, 20001)
    assert abs(float(torch.trapezoid(squashed.log_prob(grid).exp(), grid)) - 1) < 1e-2
    for one in (d.Laplace(0.5, 2.0), d.Gumbel(0.5, 2.0), d.Exponential(0.5)):
        assert abs(float(one.sample((40000,)).mean() - one.mean)) < 0.1
    assert d.OneHotCategorical(probs=torch.tensor([0.0, 1.0])).sample((3,)).tolist() == [[0, 1]] * 3


def test_comparisons_for_tests(torch: Any) -> None:
    torch.testing.assert_close({"a": [torch.ones(2)]}, {"a": [torch.ones(2) + 1e-7]})
    with pytest.raises(AssertionError, match="1 / 2"):
        torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 2.0]))
    with pytest.raises(AssertionError, match="shape"):
        torch.testing.assert_close(torch.ones(2), torch.ones(3))
