"""pyburn.compat: the names that public scripts reach by the files PyTorch has them in, and what they do."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
import pyburn.compat


@pytest.fixture
def torchvision(torch: Any) -> Any:
    return importlib.import_module("torchvision")


def test_a_distribution_is_found_in_its_file(torch: Any) -> None:
    assert torch.distributions.normal.Normal is torch.distributions.Normal
    assert torch.distributions.categorical.Categorical(torch.ones(3)).entropy().item() == pytest.approx(np.log(3))
    with pytest.raises(RuntimeError, match="torch.distributions.VonMises is not implemented"):
        torch.distributions.von_mises.VonMises(0.0, 1.0)


def test_files_of_torchvision(torchvision: Any) -> None:
    from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader  # type: ignore[import-not-found]
    from torchvision.datasets.mnist import MNIST  # type: ignore[import-not-found]
    from torchvision.transforms import transforms  # type: ignore[import-not-found]

    assert transforms.Compose is torchvision.transforms.Compose
    assert MNIST is torchvision.datasets.MNIST is torchvision.datasets.mnist.MNIST
    assert ".png" in IMG_EXTENSIONS and callable(default_loader)
    assert torchvision.models._utils.IntermediateLayerGetter is importlib.import_module("torchvision.models._utils").IntermediateLayerGetter


@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="needs Pillow")
def test_pictures_are_read_and_written(torchvision: Any, tmp_path: Path) -> None:
    io = torchvision.io
    picture = pyburn.arange(3 * 4 * 5).reshape(3, 4, 5).to(pyburn.uint8)
    io.write_png(picture, tmp_path / "a.png")
    assert pyburn.equal(io.read_image(tmp_path / "a.png"), picture)
    assert pyburn.equal(io.decode_image(io.read_file(tmp_path / "a.png")), picture)
    assert io.read_image(str(tmp_path / "a.png"), mode=io.ImageReadMode.GRAY).shape == (1, 4, 5)
    assert io.read_image(str(tmp_path / "a.png"), mode="RGB_ALPHA").shape == (4, 4, 5)
    io.write_jpeg(pyburn.full((1, 8, 8), 100, dtype=pyburn.uint8), tmp_path / "b.jpg")
    assert (io.read_image(tmp_path / "b.jpg").float() - 100).abs().max() < 3
    with pytest.raises(RuntimeError, match="write_png"):
        io.write_png(picture.float(), tmp_path / "c.png")
    with pytest.raises(ValueError, match="mode is one of"):
        io.read_image(tmp_path / "a.png", mode="CMYK")
    with pytest.raises(RuntimeError, match="torchvision.io.read_video is not implemented"):
        io.read_video("a.mp4")


def test_files_of_data_sets(torchvision: Any, tmp_path: Path) -> None:
    utils = torchvision.datasets.utils
    (tmp_path / "a.txt").write_text("hello")
    assert utils.check_integrity(tmp_path / "a.txt", "5d41402abc4b2a76b9719d911017c592")
    assert not utils.check_integrity(tmp_path / "a.txt", "0" * 32) and not utils.check_integrity(tmp_path / "b.txt")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(tmp_path / "a.txt", "folder/a.txt")
    utils.extract_archive(str(tmp_path / "a.zip"), str(tmp_path / "out"), remove_finished=True)
    assert (tmp_path / "out/folder/a.txt").read_text() == "hello" and not (tmp_path / "a.zip").exists()
    assert utils.list_dir(tmp_path) == ["out"] and utils.list_files(tmp_path, ".txt", prefix=True) == [str(tmp_path / "a.txt")]
    with pytest.raises(RuntimeError, match="expected a zip"):
        utils.extract_archive(tmp_path / "a.txt")


def test_a_statement_is_timed(torch: Any) -> None:
    from torch.utils.benchmark import Compare, Timer  # type: ignore[import-not-found]

    threads = pyburn.get_num_threads()
    timer = Timer("torch.mm(x, x)", globals={"x": torch.ones(4, 4)}, label="product", sub_label="4x4", description="mm", num_threads=1)
    once, often = timer.timeit(10), timer.blocked_autorange(min_run_time=0.01)
    assert once.number_per_run == 10 and len(once.times) == 1 and once.mean == once.median > 0
    assert sum(often.raw_times) >= 0.01 and often.iqr >= 0
    assert "product: 4x4" in repr(often) and "1 thread" in repr(often) and pyburn.get_num_threads() == threads
    assert "mm" in str(Compare([once, often])) and "4x4 (1 threads)" in str(Compare([often]))
    with pytest.raises(ValueError, match="statements are Python"):
        Timer("x", language="cpp")


def test_biases_of_attention(torch: Any) -> None:
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left  # type: ignore[import-not-found]

    assert causal_upper_left(2, 3).tolist() == [[True, False, False], [True, True, False]]
    assert causal_lower_right(2, 3).tolist() == [[True, True, False], [True, True, True]]
    q, k = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    causal = torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True)
    assert torch.allclose(torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=causal_upper_left(3, 3)), causal)


def test_what_several_devices_need_can_be_imported(torch: Any) -> None:
    from torch.nn.parallel._functions import Broadcast, ReduceAddCoalesced  # type: ignore[import-not-found]
    from torch.nn.parallel.data_parallel import DataParallel  # type: ignore[import-not-found]
    from torch.nn.parallel.replicate import replicate  # type: ignore[import-not-found]
    from torch.nn.parallel.scatter_gather import gather, scatter  # type: ignore[import-not-found]

    assert DataParallel is torch.nn.DataParallel
    assert torch.nn.parallel.data_parallel(torch.nn.ReLU(), -torch.ones(1)).item() == 0  # not the module of this name
    for name in (Broadcast, ReduceAddCoalesced, replicate, gather, scatter):
        with pytest.raises(RuntimeError, match=r"torch\.nn\.parallel.* is not implemented"):
            name(torch.ones(1), [0])


def test_small_names(torch: Any) -> None:
    assert torch.nn.functional._Reduction.get_enum("sum") == 2
    with torch.cpu.amp.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="accelerator.set_device_index needs a device"):
        torch.accelerator.set_device_index(0)
    assert torch.jit._wait(torch.jit._fork(lambda x: x + 1, 2)) == 3
    pyburn.compat.uninstall()
    assert not hasattr(pyburn.nn.functional, "_Reduction") and "torch" not in sys.modules


def test_a_backend_is_an_attribute_as_any_other(torch: Any) -> None:
    model = torch.nn.Linear(2, 2)
    assert not hasattr(model, "backend")
    model.backend = "torch"  # a device of pyburn has this name
    assert model.backend == "torch" and model.weight.device == torch.device("cpu")
    assert torch.autograd.profiler.record_function is not None
    pyburn.compat.uninstall()
    assert pyburn.nn.Linear(2, 2).backend == pyburn.get_default_device()


def test_dtypes_print_as_pytorchs(torch: Any) -> None:
    assert str(torch.float32) == repr(torch.float32) == "torch.float32" and f"{torch.ones(1).long().dtype}" == "torch.int64"
    pyburn.compat.uninstall()
    assert str(pyburn.float32) == "pyburn.float32"


def test_dtypes_sizes_and_tensors_are_printed_as_pytorchs(torch: Any) -> None:
    assert repr(torch.tensor([1, 2], dtype=torch.int32)) == "tensor([1, 2], dtype=torch.int32)"
    assert str(torch.ones(2, 3).shape) == "torch.Size([2, 3])" and f"{torch.float16}, {[torch.bool]}" == "torch.float16, [torch.bool]"
    for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.bool):
        assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
        assert getattr(torch, str(dtype).split(".")[1]) is dtype
    assert repr(torch.empty(2, 3, device="meta", dtype=torch.int64)) == "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"
    assert str(torch.empty(2, device="meta").device) == "meta" and torch.device("meta").type == "meta"
    pyburn.compat.uninstall()
    assert repr(pyburn.tensor([1], dtype=pyburn.int32)) == "tensor([1], dtype=pyburn.int32)" and str(pyburn.Size([1])) == "pyburn.Size([1])"


def test_the_meta_device_is_printed_as_meta() -> None:
    device = pyburn.device("meta")
    assert (str(device), repr(device), device.type, device.index) == ("meta", "device('meta')", "meta", None)
    x = pyburn.empty(2, 3, device="meta", requires_grad=True)
    assert repr(x.detach()) == "tensor(..., device='meta', size=(2, 3))" and x.is_meta and x.device == device
    assert repr(x) == "tensor(..., device='meta', size=(2, 3), requires_grad=True)"
    assert pickle.loads(pickle.dumps(device)) == device
