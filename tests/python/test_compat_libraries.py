"""pyburn.compat: what libraries built on PyTorch (transformers, Lightning, MONAI) ask of it besides tensors and layers."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import pyburn
import pyburn.compat


def test_metadata_tells_of_torch_while_it_is_installed(torch: Any) -> None:
    assert importlib.metadata.version("torch") == torch.version.__version__
    assert torch.__version__.startswith(importlib.metadata.version("torch"))
    assert importlib.import_module("torchvision").__version__.startswith(importlib.metadata.version("torchvision"))
    assert "torch" in {found.metadata["Name"] for found in importlib.metadata.distributions()}


def test_decorators_of_absent_parts_raise_when_what_they_decorate_is_called(torch: Any) -> None:
    @torch.distributed.rpc.api._require_initialized  # type: ignore[untyped-decorator]
    def send() -> int:
        """Sends."""
        return 1

    assert send.__name__ == "send" and send.__doc__ == "Sends."
    with pytest.raises(RuntimeError, match="torch.distributed.rpc.api._require_initialized is not implemented"):
        send()


@pytest.mark.parametrize(
    "name", ["torch.utils.model_dump", "torch.jit.frontend", "torch._VF", "torch.cuda.nccl", "torch.utils.data.datapipes"]
)
def test_more_absent_parts_can_be_imported(torch: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name}.Something is not implemented"):
        importlib.import_module(name).Something()


def test_modules_that_pytorch_no_longer_has_are_not_found(torch: Any) -> None:
    with pytest.raises(ImportError, match="torch._six"):  # libraries ask for it and have another way
        importlib.import_module("torch._six")


def test_files_of_pytorch_give_their_classes(torch: Any) -> None:
    assert importlib.import_module("torch.optim.adamw").AdamW is pyburn.optim.AdamW
    assert importlib.import_module("torch._tensor").Tensor is pyburn.Tensor
    assert importlib.import_module("torch.autograd.grad_mode").no_grad is pyburn.no_grad
    assert importlib.import_module("torch.functional").einsum is pyburn.einsum
    assert torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX == "_extra_state"
    reductions = importlib.import_module("torch.nn._reduction")
    assert [reductions.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="median"):
        reductions.get_enum("median")
    assert importlib.import_module("torch.nn.common_types")._size_2_t


def test_checks_raise_the_error_they_are_given(torch: Any) -> None:
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(ValueError, match="negative"):
        torch._check_tensor_all_with(ValueError, torch.tensor([True, False]), lambda: "negative")
    with pytest.raises(IndexError):
        torch._check_index(False)
    with pytest.raises(RuntimeError):
        torch._check_is_size(-1)


def test_signatures_of_layers(torch: Any) -> None:
    assert list(inspect.signature(torch.nn.Linear(1, 1).forward).parameters) == ["input"]
    assert list(inspect.signature(torch.nn.EmbeddingBag.forward).parameters) == ["self", "input", "offsets", "per_sample_weights"]
    assert inspect.signature(torch.nn.EmbeddingBag(2, 2).forward).parameters["offsets"].default is None
    assert str(inspect.signature(lambda x, y=1: x)) == "(x, y=1)"


def test_only_scripted_modules_are_scripted(torch: Any) -> None:
    class Scripted(torch.jit.ScriptModule):  # type: ignore[misc, name-defined]
        pass

    assert torch.ScriptModule is torch.jit.ScriptModule and issubclass(Scripted, torch.jit.ScriptModule)
    assert isinstance(Scripted(), torch.jit.ScriptModule) and not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)


def test_torchaudio_can_be_imported(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="torchaudio.functional.lfilter is not implemented"):
        importlib.import_module("torchaudio.functional").lfilter(torch.ones(2))


def test_the_arguments_of_to(torch: Any) -> None:
    parse = importlib.import_module("torch._C")._nn._parse_to
    assert parse("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    assert parse(torch.ones(1, dtype=torch.int64), non_blocking=True) == (torch.ones(1).device, torch.int64, True, None)


def test_small_functions(torch: Any) -> None:
    assert torch.arange(end=3).tolist() == [0, 1, 2] == torch.arange(3).tolist()
    assert not importlib.import_module("torch.utils._python_dispatch").is_traceable_wrapper_subclass(torch.ones(1))
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    assert torch.meshgrid.__kwdefaults__ == {"indexing": None}
    scores = torch.randn(3, 4, requires_grad=True)
    given = torch.randn(3, 4)
    weights = torch.softmax(scores, -1)
    weights.backward(given)
    torch.testing.assert_close(torch._softmax_backward_data(given, weights, -1, torch.float32), scores.grad)


def test_pytrees(torch: Any) -> None:
    pytree = importlib.import_module("torch.utils._pytree")
    Point = namedtuple("Point", "x y")
    tree = {"a": [1, (2, 3)], "b": Point(4, OrderedDict(c=5))}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, 5] and pytree.tree_unflatten(leaves, spec) == tree
    assert spec == pytree.tree_structure(tree) and spec != pytree.tree_structure([1]) and spec.num_leaves == 5
    paths = [(pytree.keystr(path), pytree.key_get(tree, path)) for path, _ in pytree.tree_flatten_with_path(tree)[0]]
    assert paths == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['a'][1][1]", 3), ("['b'].x", 4), ("['b'].y['c']", 5)]
    assert pytree.tree_map_with_path(lambda path, leaf: len(path) * leaf, tree)["b"] == Point(8, OrderedDict(c=15))
    assert pytree.tree_map_only(lambda leaf: leaf > 2, lambda leaf: -leaf, [1, 2, 3]) == [1, 2, -3]
    kind = pytree._get_node_type(tree["b"])
    assert pytree.SUPPORTED_NODES[kind].flatten_fn(tree["b"])[0] == [4, OrderedDict(c=5)]
    assert pytree.tree_unflatten([7], pytree.TreeSpec(list, None, [pytree.LeafSpec()])) == [7]

    class Output(OrderedDict):  # type: ignore[type-arg]  # as transformers registers its outputs
        pass

    pytree.register_pytree_node(
        Output,
        pytree._dict_flatten,
        lambda values, keys: Output(pytree._dict_unflatten(values, keys)),
        flatten_with_keys_fn=pytree._dict_flatten_with_keys,
    )
    doubled = pytree.tree_map(lambda leaf: 2 * leaf, Output(a=1, b=[2]))
    assert type(doubled) is Output and doubled == {"a": 2, "b": [4]}
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(doubled)] == ["['a']", "['b'][0]"]
    pytree._deregister_pytree_node(Output)
    with pytest.raises(ValueError, match="expected 1 leaves"):
        pytree.tree_unflatten([1, 2], pytree.tree_structure(3))


def test_attributes_may_be_set_past_the_module(torch: Any) -> None:
    class Metric(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, value) if name == "plain" else super().__setattr__(name, value)

    metric = Metric()
    metric.plain, metric.weight = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    assert list(metric.state_dict()) == ["weight"] and metric.plain.item() == 1
    del metric.weight, metric.plain
    assert not metric.state_dict() and not hasattr(metric, "plain")
    pyburn.compat.uninstall()
    assert pyburn.nn.Module.__setattr__ is not None and not hasattr(pyburn.nn.Module.__setattr__, "__code__")


def test_a_wrapper_of_an_optimiser_need_not_be_initialised(torch: Any) -> None:
    class Wrapped(torch.optim.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, optimizer: Any) -> None:
            self.optimizer = optimizer

        def step(self, closure: Any = None) -> None:
            self.optimizer.step(closure)

    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    Wrapped(torch.optim.SGD([weight], lr=0.5)).step()
    assert weight.tolist() == [0.5, 0.5]


def test_storages_from_files(torch: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(4) + b"\x00\x00\x80\x3f")
    storage = torch.UntypedStorage.from_file(str(path), False, 8)
    numbers = torch.asarray(storage.untyped()[4:8], dtype=torch.uint8).view(dtype=torch.float32).reshape([1])
    assert numbers.tolist() == [1.0] and storage.nbytes() == 8
    with pytest.raises(pyburn.FormatError, match="9 bytes"):
        torch.UntypedStorage.from_file(str(path), False, 9)
    with pytest.raises(NotImplementedError, match="shared"):
        torch.UntypedStorage.from_file(str(path), True, 8)


def test_embeddings_take_a_table_and_may_be_frozen() -> None:
    table = pyburn.ones(3, 2)
    layer = pyburn.nn.Embedding(3, 2, _weight=table, _freeze=True)
    assert not layer.weight.requires_grad and layer(pyburn.tensor([1])).tolist() == [[1.0, 1.0]]
    assert pyburn.nn.Embedding(3, 2, _weight=table).weight.requires_grad
    assert not pyburn.nn.Embedding(3, 2, _freeze=True).weight.requires_grad
    with pytest.raises(RuntimeError, match="does not match num_embeddings"):
        pyburn.nn.Embedding(4, 2, _weight=table)


def test_identity_passes_anything() -> None:
    layer, pair = pyburn.nn.Identity(), (1, 2)
    assert layer(None) is None and layer(pair) is pair


def test_a_sequence_may_be_initialised_again() -> None:
    class Block(pyburn.nn.Sequential):
        def __init__(self) -> None:
            super().__init__()
            layer = pyburn.nn.Linear(2, 1)
            super().__init__(layer, pyburn.nn.ReLU())

    assert list(Block().state_dict()) == ["0.weight", "0.bias"]
    assert [len(Block()), Block()(pyburn.ones(1, 2)).shape[1]] == [2, 1]


def test_registries_can_be_gone_through_backwards() -> None:
    net = pyburn.nn.Sequential(pyburn.nn.ReLU(), pyburn.nn.Tanh())
    assert [name for name, _ in reversed(net._modules.items())] == ["1", "0"] == list(reversed(net._modules))
    copy = net._modules.copy()
    for name in list(net._modules):
        net._modules[name + "_"] = net._modules.pop(name)
    assert list(net._modules) == ["0_", "1_"] and list(copy) == ["0", "1"]


def test_the_result_of_a_gru_cell_may_be_written() -> None:
    pyburn.manual_seed(0)
    cell, x, h = pyburn.nn.GRUCell(3, 2), pyburn.randn(4, 3), pyburn.randn(4, 2)
    cell(x, h).relu().sum().backward()
    expected, cell.weight_ih.grad = cell.weight_ih.grad, None
    cell(x, h).relu_().sum().backward()
    assert cell.weight_ih.grad.tolist() == expected.tolist()


def test_copies_of_repeat_lie_in_plain_order() -> None:
    turned = pyburn.arange(6).reshape(2, 3).permute(1, 0)
    assert turned.unsqueeze(0).repeat(2, 1, 1).view(6, 2).tolist() == turned.tolist() * 2
    assert turned.repeat(1, 1).is_contiguous() and turned.repeat_interleave(2, 0).is_contiguous()


@pytest.mark.parametrize(("probability", "wanted"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)])
def test_saturated_probabilities_have_finite_gradients(probability: float, wanted: float) -> None:
    x = pyburn.tensor([probability], requires_grad=True)
    loss = pyburn.nn.functional.binary_cross_entropy(x, pyburn.tensor([wanted]))
    loss.backward()
    assert x.grad is not None and x.grad.isfinite().all()
    assert probability == wanted and loss.item() == 0.0 or (loss.item() == 100.0 and x.grad.item() == 0.0)


def test_extents_may_be_tensors() -> None:
    three = pyburn.tensor(3)
    assert pyburn.ones(1).new_zeros(size=(2, 3)).shape == pyburn.ones(1).new_zeros(2, 3).shape == (2, 3)
    assert pyburn.ones(12).view(4, three).shape == pyburn.ones(12).view(three + 1, three).shape == (4, 3)


def test_division_of_two_numbers_gives_a_tensor() -> None:
    assert pyburn.div(7, -2, rounding_mode="trunc").item() == -3
    assert pyburn.div(7, 2, rounding_mode="floor").item() == 3
