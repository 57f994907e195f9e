"""pyburn.compat: small names that public libraries need, errors of what is not implemented, and spawned processes."""

from __future__ import annotations

import gc
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyburn


def test_streams_and_events_are_types(torch: Any) -> None:
    for cls in (torch.Stream, torch.Event, torch.cuda.Stream, torch.cuda.Event):
        assert isinstance(cls, type) and not isinstance(1, cls)
        with pytest.raises(NotImplementedError, match="Stream|Event"):
            cls()


def test_workers_know_themselves(torch: Any) -> None:
    worker = importlib.import_module("torch.utils.data._utils.worker")
    assert worker.get_worker_info() is None and worker.get_worker_info is torch.utils.data.get_worker_info
    assert worker.WorkerInfo.__name__ == "WorkerInfo" and torch.utils.data._utils.collate.default_collate([1, 2]).tolist() == [1, 2]
    assert torch.utils.data.dataset.Dataset is torch.utils.data.Dataset


def test_types_of_annotations(torch: Any) -> None:
    from torch.utils.data.dataloader import _collate_fn_t, default_collate  # type: ignore[import-not-found]

    assert _collate_fn_t is not None and default_collate([1, 2]).tolist() == [1, 2]
    assert torch.futures.Future[int] is torch.futures.Future
    with pytest.raises(NotImplementedError, match=r"torch\.futures\.Future"):
        torch.futures.Future()


def test_lists_of_tensors_are_grouped(torch: Any) -> None:
    utils = importlib.import_module("torch.utils._foreach_utils")
    a, b, c = torch.ones(1), torch.ones(2, dtype=torch.float64), torch.ones(3)
    groups = utils._group_tensors_by_device_and_dtype([[a, b, c], [c, b, a]], with_indices=True)
    (singles, at), (doubles, one) = groups[a.device, a.dtype], groups[b.device, b.dtype]
    assert at == [0, 2] and one == [1] and len(groups) == 2
    assert singles[0][0] is a and singles[0][1] is c and singles[1][0] is c and doubles[1][0] is b
    assert utils._has_foreach_support([a], a.device)


def test_ranges_of_nvtx(torch: Any) -> None:
    @torch.cuda.nvtx.range("step")
    def one() -> int:
        return 1

    with torch.cuda.nvtx.range("step"):
        assert one() == 1 and torch.cuda.nvtx.range_push("inside") is None


def test_small_questions(torch: Any) -> None:
    assert not torch._C._are_functorch_transforms_active()
    assert torch.Generator().device.type == "cpu" and torch.ones(1).is_cpu and not torch.ones(1, device="meta").is_cpu
    assert torch.overrides.is_tensor_like(torch.ones(1)) and not torch.overrides.is_tensor_like(1)
    assert torch.ones(2).type("torch.LongTensor").dtype == torch.int64 and torch.ones(2).type(torch.ByteTensor).type() == "torch.ByteTensor"
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.LongTensor([1, 2]).dtype is torch.int64 and torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor" and torch.is_storage(torch.ones(1).storage())
    x, grid = torch.rand(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1
    expected = torch.nn.functional.grid_sample(x, grid, "nearest", "border", True)
    assert torch.equal(torch.grid_sampler(x, grid, 1, 1, True), expected)


def test_weak_dictionaries_of_tensors(torch: Any) -> None:
    weak = importlib.import_module("torch.utils.weak")
    a, b = torch.ones(2), torch.ones(2)
    known = weak.WeakTensorKeyDictionary({a: "a", b: "b"})
    assert (known[a], known[b], len(known)) == ("a", "b", 2) and a in known and torch.ones(2) not in known
    reference = weak.TensorWeakRef(a)
    assert reference() is a and {id(key) for key in known} == {id(a), id(b)}
    del a
    gc.collect()
    assert reference() is None and list(known.values()) == ["b"]
    del known[b]
    assert len(known) == 0


@pytest.mark.parametrize("name", ["current_device", "get_device_capability", "get_device_name", "set_device", "init", "current_stream"])
def test_questions_about_a_device_that_does_not_exist(torch: Any, name: str) -> None:
    for error in (AssertionError, RuntimeError, NotImplementedError):  # PyTorch's builds for the CPU raise one of the first two
        with pytest.raises(error, match=rf"torch\.cuda\.{name} needs a device"):
            getattr(torch.cuda, name)()


def test_states_of_no_devices(torch: Any) -> None:
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    with pytest.raises(RuntimeError, match="0 generators"):
        torch.cuda.set_rng_state_all([1])


@pytest.mark.parametrize("place", ["torch.overrides.TorchFunctionMode", "torch.utils._python_dispatch.TorchDispatchMode"])
def test_modes_raise(torch: Any, place: str) -> None:
    module, _, name = place.rpartition(".")
    base = getattr(importlib.import_module(module), name)

    class Mode(base):  # type: ignore[misc, valid-type]
        def __torch_function__(self, *args: Any) -> Any:
            raise AssertionError

    for cls in (base, Mode):
        with pytest.raises(NotImplementedError, match=f"{place} is not implemented"):
            cls()


@pytest.mark.parametrize("name", ["__torch_function__", "__torch_dispatch__"])
def test_subclasses_that_would_not_be_asked_raise(torch: Any, name: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"Logged\.{name} would never be called"):
        type("Logged", (torch.Tensor,), {name: classmethod(lambda cls, *args: None)})


def test_only_pillow_reads_images(torch: Any) -> None:
    torchvision = importlib.import_module("torchvision")
    torchvision.set_image_backend("PIL")
    with pytest.raises(ValueError, match="accimage"):
        torchvision.set_image_backend("accimage")


SPAWNING = """
import multiprocessing
import sys
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        import torch.nn.functional as F
        return F.relu(torch.tensor([float(i)])) ** 2

def put(rank, queue):
    queue.put((rank, "pyburn" in torch.__version__, torch.arange(3).sum()))

if __name__ == "__main__":
    queue = multiprocessing.get_context("spawn").Manager().Queue()
    torch.multiprocessing.spawn(put, (queue,), nprocs=2)
    print(sorted((rank, ours, int(total)) for rank, ours, total in (queue.get(timeout=60) for _ in range(2))))
    for context in sys.argv[1:]:
        loader = DataLoader(Squares(), batch_size=3, num_workers=2, multiprocessing_context=context)
        print(context, [batch.flatten().tolist() for batch in loader])
"""


def test_spawned_processes_know_torch(tmp_path: Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(SPAWNING)
    command = [sys.executable, "-m", "pyburn.compat", str(script), "spawn", "forkserver"]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout.splitlines()
    batches = "[[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]"
    assert found == ["[(0, True, 3), (1, True, 3)]", f"spawn {batches}", f"forkserver {batches}"]


def test_families_of_torchvision_have_their_modules(torch: Any) -> None:
    torchvision = importlib.import_module("torchvision")
    families = {
        "alexnet": "AlexNet",
        "vgg": "VGG",
        "densenet": "DenseNet",
        "squeezenet": "SqueezeNet",
        "inception": "Inception3",
        "googlenet": "GoogLeNet",
        "mobilenetv2": "MobileNetV2",
        "mobilenet": "MobileNetV3",
        "shufflenetv2": "ShuffleNetV2",
        "regnet": "RegNet",
        "convnext": "ConvNeXt",
        "swin_transformer": "SwinTransformer",
    }
    for module, name in families.items():
        cls = getattr(importlib.import_module(f"torchvision.models.{module}"), name)
        assert cls is getattr(torchvision.models, name) and issubclass(cls, torch.nn.Module)
    assert torchvision.models.alexnet.__name__ == "alexnet"  # the function, not the module
    assert torchvision.models.squeezenet1_1(num_classes=3)(pyburn.ones(1, 3, 40, 40)).shape == (1, 3)
    with pytest.raises(NotImplementedError, match="torchvision.models.detection.fasterrcnn_resnet50_fpn"):
        importlib.import_module("torchvision.models.detection").fasterrcnn_resnet50_fpn()


def test_functions_are_compiled(torch: Any) -> None:
    model = torch.nn.Linear(3, 1)
    assert torch.compile(model) is model
    optimizer = torch.optim.Adam(model.parameters())

    @torch.compile(mode="reduce-overhead")
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(torch.ones(4, 3), torch.zeros(4, 1)).item() for _ in range(8)]
    assert losses == sorted(losses, reverse=True) and step.runs >= 4
    assert torch.compile(len, disable=True) is len
