"""Models in files of any format: reports, hints, adapters, the store, shared parts, other devices."""

from __future__ import annotations

import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import nn
from pyburn.io import Bundle, Store, burn_layout, half_precision, load_into, open_tensors, save_module, write_tensors

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import EXPECTED, FOLDER, same


def model() -> nn.Sequential:
    return nn.Sequential(OrderedDict(conv=nn.Conv2d(1, 2, 2), norm=nn.BatchNorm2d(2), flat=nn.Flatten(), fc=nn.Linear(8, 3)))


def equal_models(a: nn.Module, b: nn.Module) -> bool:
    return all(same(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values()))


@pytest.mark.parametrize("ending", ["safetensors", "pt", "npz", "pyburn"])
def test_models_in_any_format(ending: str, tmp_path: Path) -> None:
    a, b = model(), model()
    save_module(a, tmp_path / f"model.{ending}")
    report = load_into(b, tmp_path / f"model.{ending}")
    assert report.complete and report and equal_models(a, b)
    assert report.applied == list(a.state_dict()) and not report.missing and not report.unused and not report.errors


@pytest.mark.parametrize("name", ["state_dict.pt", "state_dict.legacy.pt", "inside.pt"])
def test_models_of_torch(name: str) -> None:
    net = model()
    load_into(net, FOLDER / name, key="model.state_dict" if name == "inside.pt" else "")
    x = pyburn.tensor(EXPECTED["model"]["x"]).view(4, 1, 3, 3)
    assert pyburn.allclose(net.eval()(x).flatten(), pyburn.tensor(EXPECTED["model"]["y"]), atol=1e-5)
    assert net.conv.weight.requires_grad


def test_reports(tmp_path: Path) -> None:
    net = model()
    before = {name: t.clone() for name, t in net.state_dict().items()}
    state = dict(net.state_dict())
    state["fc.weight"] = pyburn.ones(2, 2)
    state["other.weight"] = pyburn.ones(1)
    del state["conv.bias"], state["norm.num_batches_tracked"]
    state["conv.weight"] = pyburn.full((2, 1, 2, 2), 5.0)
    write_tensors(state, tmp_path / "part.safetensors")
    with pytest.raises(ValueError, match=r"the file does not match Sequential") as caught:
        load_into(net, tmp_path / "part.safetensors", strict=False)
    text = str(caught.value)
    assert "0 applied, 1 missing, 1 unused, 0 skipped, 1 errors" in text and "conv.bias (Conv2d)" in text and "other.weight" in text
    assert "fc.weight: shape mismatch: got (2, 2) in the file, (3, 8) in the model" in text
    assert all(same(net.state_dict()[name], t) for name, t in before.items())  # as it was

    with pytest.raises(ValueError, match="1 missing, 1 unused"):
        load_into(net, tmp_path / "part.safetensors", exclude=r"^fc\.weight$")
    report = load_into(net, tmp_path / "part.safetensors", exclude=r"^fc\.weight$", strict=False)
    assert report.missing == ["conv.bias"] and report.unused == ["other.weight"] and report.skipped == ["fc.weight"]
    assert not report.complete and not report and net.conv.weight[0, 0, 0, 0] == 5 and "Missing in the file (1):" in str(report)
    assert same(net.fc.weight.detach(), before["fc.weight"])
    for choice in ({"include": "^conv"}, {"include": ["^conv"]}, {"include": lambda name: name.startswith("conv.")}):
        report = load_into(net, tmp_path / "part.safetensors", strict=False, **choice)
        assert report.applied == ["conv.weight"] and report.missing == ["conv.bias"]
        assert "other.weight" in report.skipped and "fc.weight" in report.skipped


def test_hints(tmp_path: Path) -> None:
    net = model()
    save_module(net, tmp_path / "wrapped.safetensors", rename={"^": "module."})
    with pytest.raises(ValueError, match=r"Hint: names in the file begin with 'module\.'"):
        load_into(net, tmp_path / "wrapped.safetensors")
    assert load_into(net, tmp_path / "wrapped.safetensors", rename=[(r"^module\.", "")]).complete
    assert load_into(net, tmp_path / "wrapped.safetensors", rename=lambda name: name.removeprefix("module.")).complete
    with pytest.raises(ValueError, match=r"Hint: names in the file lack '0\.'"):
        load_into(nn.Sequential(model()), FOLDER / "state_dict.pt")
    with pytest.raises(ValueError, match="two tensors of the file map to this name"):
        load_into(net, tmp_path / "wrapped.safetensors", rename={".*": "same"})
    with pytest.raises(ValueError, match="Hint: names in the file begin with 'model.state_dict.'"):
        load_into(net, FOLDER / "inside.pt")
    with pytest.raises(ValueError, match="no such key: got 'absent'"):
        load_into(net, FOLDER / "inside.pt", key="absent")


def test_burn_layout(tmp_path: Path) -> None:
    a, b = model(), model()
    with pyburn.no_grad():
        a.norm.weight.copy_(pyburn.tensor([2.0, 3.0]))
    path = tmp_path / "burn.safetensors"
    save_module(a, path, adapter=burn_layout())
    file = open_tensors(path)
    assert file["fc.weight"].shape == (8, 3) and file["norm.gamma"].load().tolist() == [2, 3] and "norm.beta" in file
    assert pyburn.equal(file["fc.weight"].load(), a.fc.weight.detach().T)
    with pytest.raises(ValueError, match="seems to come from Burn"):
        load_into(b, path)
    assert load_into(b, path, adapter=burn_layout()).complete and equal_models(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_on_disk(dtype: str, tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "half.safetensors"
    half = getattr(pyburn, dtype)
    save_module(a, path, adapter=half_precision(half))
    file = open_tensors(path)
    assert file["fc.weight"].dtype is half and file["norm.weight"].dtype is pyburn.float32
    load_into(b, path)
    assert b.fc.weight.dtype is pyburn.float32 and pyburn.equal(b.fc.weight, a.fc.weight.to(half).float())
    load_into(b, path, dtype="file")
    assert b.fc.weight.dtype is half and isinstance(b.fc.weight, nn.Parameter) and b.fc.weight.requires_grad
    save_module(a, path, adapter=half_precision(half, except_modules=()))
    assert open_tensors(path)["norm.weight"].dtype is half
    save_module(a, path, adapter=[burn_layout(), half_precision(half)])
    assert open_tensors(path)["fc.weight"].shape == (8, 3) and open_tensors(path)["fc.weight"].dtype is half
    with pytest.raises(ValueError, match="'model' or 'file'"):
        load_into(b, path, dtype="half")
    with pytest.raises(TypeError, match="floating"):
        half_precision(pyburn.int8)


class Doubling(pyburn.io.Adapter):
    def file_name(self, place: pyburn.io.Place) -> str:
        return "kernel" if place.module_type == "Conv2d" and place.name == "weight" else place.name

    def to_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> pyburn.Tensor:
        return tensor * 2 if place.path == "fc.bias" else tensor

    def from_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> pyburn.Tensor:
        return tensor / 2 if place.path == "fc.bias" else tensor


class Failing(pyburn.io.Adapter):
    def from_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> Any:
        return None if place.module == "fc" else 1 / 0


def test_adapters_of_ones_own(tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "x.safetensors"
    for adapter in (Doubling(), [Doubling()], [burn_layout(), Doubling()], [Doubling(), burn_layout()]):
        save_module(a, path, adapter=adapter)
        assert "conv.kernel" in open_tensors(path)
        assert pyburn.equal(open_tensors(path)["fc.bias"].load(), a.fc.bias.detach() * 2)
        assert load_into(b, path, adapter=adapter).complete and equal_models(a, b)
    with pytest.raises(ZeroDivisionError):
        load_into(b, path, adapter=Failing())
    with pytest.raises(ZeroDivisionError):
        load_into(b, path, rename=lambda name: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="expected a str: got 3"):
        load_into(b, path, rename=lambda name: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError):
        load_into(3, path)  # type: ignore[arg-type]


def test_store(tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "model.safetensors"
    store = Store(path).rename("^", "net.").rename(r"fc\.", "head.").exclude("num_batches").half_precision().metadata(epoch="3")
    store.save(a)
    assert sorted(store.keys())[:2] == ["net.conv.bias", "net.conv.weight"] and store["net.head.weight"].dtype is pyburn.float16
    assert store.open().metadata == {"epoch": "3"}
    back = Store(path, mmap=True).rename(r"^net\.", "").rename("^head", "fc")
    assert back.load_into(b).complete and pyburn.allclose(b.fc.weight, a.fc.weight, atol=1e-3)
    assert Store(path).allow_partial().load_into(b).applied == []
    assert Store(path).rename(r"^net\.", "").include("^conv", "^norm").load_into(b).skipped
    nested = Store(FOLDER / "inside.pt", key="model.state_dict")
    assert nested.load_into(b).complete


def test_gaps_in_lists_are_closed(tmp_path: Path) -> None:
    a = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    b = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 1))
    save_module(a, tmp_path / "gaps.safetensors", rename={"^": "net."})
    with pytest.raises(ValueError, match="net"):
        Store(tmp_path / "gaps.safetensors").contiguous_indices().load_into(b)
    assert Store(tmp_path / "gaps.safetensors").contiguous_indices().rename(r"^net\.", "").load_into(b).complete
    assert pyburn.equal(a[4].weight, b[2].weight)
    names = ["a.3.w", "a.10.w", "a.3.b.7", "b.1", "2", "x", "a.99999999999.w"]
    assert pyburn._core._io.contiguous_indices(names) == ["a.0.w", "a.1.w", "a.0.b.0", "b.0", "0", "x", "a.99999999999.w"]


def test_parameters_keep_their_identity(tmp_path: Path) -> None:
    net = model()
    save_module(net, tmp_path / "x.pt")
    weight, version = net.fc.weight, net.fc.weight._version
    load_into(net, tmp_path / "x.pt")
    assert net.fc.weight is weight and weight._version > version and weight.is_leaf and weight.grad is None


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = self.first
        self.register_buffer("steps", pyburn.zeros(1, dtype=pyburn.int64))
        self.register_buffer("scratch", pyburn.zeros(1), persistent=False)


def test_shared_modules_and_buffers(tmp_path: Path) -> None:
    a, b = Tied(), Tied()
    a.steps += 3
    save_module(a, tmp_path / "x.pyburn", metadata={"a": "b"}, config={"made": 1})
    assert sorted(open_tensors(tmp_path / "x.pyburn")) == ["first.weight", "second.weight", "steps"]
    assert load_into(b, tmp_path / "x.pyburn").complete and b.steps.item() == 3 and pyburn.equal(a.first.weight, b.second.weight)
    assert Bundle(tmp_path / "x.pyburn").config == {"made": 1}
    with pytest.raises(ValueError, match=r"only \.pyburn files hold a config"):
        save_module(a, tmp_path / "x.pt", config={})


def test_on_other_devices(tmp_path: Path) -> None:
    a, b = model(), model().to("numpy")
    save_module(b, tmp_path / "x.safetensors")
    assert load_into(a, tmp_path / "x.safetensors", mmap=True).complete and equal_models(a, b.to("cpu"))
    b.to("fusion(cpu)")
    assert load_into(b, tmp_path / "x.safetensors").complete and b.fc.weight.device == "fusion(cpu)" and equal_models(a, b.to("cpu"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_large_files_pass_one_tensor_at_a_time(tmp_path: Path) -> None:
    """Sixty-four megabytes go from file to file with little more memory than one tensor of four."""
    import subprocess

    program = """
import resource, sys
import pyburn
from pyburn.io import open_tensors, write_tensors
source, target = sys.argv[1:]
file = open_tensors(source)
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
before = anonymous()
write_tensors(file, target)
print(anonymous() - before)
"""
    tensors = {f"t{i}": pyburn.full((1 << 20,), float(i)) for i in range(16)}
    write_tensors(tensors, tmp_path / "a.safetensors")
    for ending in ("safetensors", "pt", "pyburn", "npz"):
        command = [sys.executable, "-c", program, tmp_path / "a.safetensors", tmp_path / f"b.{ending}"]
        grown = int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        assert grown < 24_000, (ending, grown)  # kilobytes
