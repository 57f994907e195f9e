"""PyTorch's files: what torch.save wrote is read, what pyburn.save writes comes back, and nothing in a file is run."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import nn

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "io"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["expected"]


def describe(value: Any) -> Any:
    """As tools/make_io_goldens.py describes what torch gave."""
    if isinstance(value, pyburn.Tensor):
        text = {
            "tensor": value.dtype.name,
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "offset": value.storage_offset(),
            "values": [None if v != v else v for v in value.detach().to(_widest(value)).flatten().tolist()],
            "requires_grad": value.requires_grad,
        }
        return {**text, "parameter": True} if isinstance(value, nn.Parameter) else text
    if isinstance(value, dict):
        return {"dict": [[describe(k), describe(v)] for k, v in value.items()], "ordered": isinstance(value, OrderedDict)}
    if isinstance(value, pyburn.Size):
        return {"size": list(value)}
    if isinstance(value, list | tuple | set):
        return {type(value).__name__: [describe(v) for v in (sorted(value) if isinstance(value, set) else value)]}
    if isinstance(value, bytes | bytearray):
        return {type(value).__name__: list(value)}
    if isinstance(value, pyburn.DType):
        return {"dtype": value.name}
    if isinstance(value, pyburn.Device):
        return {"device": value.type}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return value


OTHERS = ("module.pt", "module.legacy.pt", "inside.pt", "frozen.pt", "foreign.pt")


def _widest(value: pyburn.Tensor) -> pyburn.DType:
    return pyburn.float64 if value.dtype.is_floating_point else pyburn.int64


def names() -> list[str]:
    return sorted(p.name for p in FOLDER.glob("*.pt") if p.name not in OTHERS)


def expected_of(name: str) -> Any:
    stem = name.removesuffix(".pt")
    return EXPECTED.get(stem, EXPECTED.get(stem.removesuffix(".legacy")))


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", names())
def test_files_of_torch(name: str, mmap: bool) -> None:
    assert describe(pyburn.load(FOLDER / name, mmap=mmap)) == expected_of(name)


@pytest.mark.parametrize("name", names())
def test_what_we_write_comes_back(name: str, tmp_path: Path) -> None:
    value = pyburn.load(FOLDER / name)
    pyburn.save(value, tmp_path / "file.pt")
    assert describe(pyburn.load(tmp_path / "file.pt")) == expected_of(name)
    assert [p.name for p in tmp_path.iterdir()] == ["file.pt"]
    memory = io.BytesIO()
    pyburn.save(value, memory)
    assert memory.getvalue() == (tmp_path / "file.pt").read_bytes()
    memory.seek(0)
    assert describe(pyburn.load(memory)) == expected_of(name)


def test_shared_memory_is_shared_again(tmp_path: Path) -> None:
    for path in (FOLDER / "shared.pt", FOLDER / "shared.legacy.pt"):
        loaded = pyburn.load(path)
        loaded["whole"][4] = 100.0
        assert loaded["row"][0] == 100 and loaded["matrix"][1, 0] == 100 and loaded["transposed"][0, 1] == 100
        assert loaded["again"] is loaded["whole"]
        pyburn.save(loaded, tmp_path / "file.pt")
        again = pyburn.load(tmp_path / "file.pt", mmap=True)
        again["row"][0] = 7.0
        assert again["whole"][4] == 7 and pyburn.load(tmp_path / "file.pt")["whole"][4] == 100
    with zipfile.ZipFile(tmp_path / "file.pt") as file:
        assert [n for n in file.namelist() if "/data/" in n] == ["archive/data/0"]
        assert file.testzip() is None


def test_objects_that_contain_themselves(tmp_path: Path) -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    pyburn.save(loop, tmp_path / "loop.pt")
    back = pyburn.load(tmp_path / "loop.pt")
    assert back[0] == 1 and back[1]["again"] is back


def test_frozen_sets_are_read() -> None:
    assert pyburn.load(FOLDER / "frozen.pt") == frozenset([1, "a"])


def test_state_dicts_keep_their_versions(tmp_path: Path) -> None:
    state = pyburn.load(FOLDER / "state_dict.pt")
    assert isinstance(state, OrderedDict) and state._metadata["norm"] == {"version": 2}  # type: ignore[attr-defined]
    pyburn.save(state, tmp_path / "state.pt")
    assert pyburn.load(tmp_path / "state.pt")._metadata == state._metadata  # type: ignore[attr-defined]


def model() -> nn.Module:
    layers = OrderedDict(conv=nn.Conv2d(1, 2, 2), norm=nn.BatchNorm2d(2), flat=nn.Flatten(), fc=nn.Linear(8, 3))
    return nn.Sequential(layers)


@pytest.mark.parametrize("kind", ["", ".legacy"])
def test_models_and_optimizers_go_on(kind: str, tmp_path: Path) -> None:
    net = model()
    net.load_state_dict(pyburn.load(FOLDER / f"state_dict{kind}.pt"))
    x = pyburn.tensor(EXPECTED["model"]["x"]).view(4, 1, 3, 3)
    y = pyburn.tensor(EXPECTED["model"]["y"]).view(4, 3)
    assert pyburn.allclose(net.eval()(x), y, atol=1e-5)
    optimizer = pyburn.optim.Adam(net.parameters(), amsgrad=True)
    optimizer.load_state_dict(pyburn.load(FOLDER / f"optimizer{kind}.pt"))
    assert optimizer.param_groups[0]["lr"] == 0.01
    pyburn.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}, tmp_path / "all.pt")
    checkpoint = pyburn.load(tmp_path / "all.pt")
    other = model()
    other.load_state_dict(checkpoint["model"])
    other_optimizer = pyburn.optim.Adam(other.parameters(), amsgrad=True)
    other_optimizer.load_state_dict(checkpoint["optimizer"])
    for m, o in ((net, optimizer), (other, other_optimizer)):
        m.train()(x).square().sum().backward()
        o.step()
    assert all(pyburn.equal(a, b) for a, b in zip(net.parameters(), other.parameters()))


def test_map_location() -> None:
    path = FOLDER / "shared.pt"
    assert pyburn.load(path, map_location="numpy")["row"].device == "numpy"
    assert pyburn.load(path, map_location=pyburn.device("cpu"))["row"].device == "cpu"
    assert pyburn.load(path, map_location={"cpu": "numpy"})["row"].tolist() == [4.0, 5.0, 6.0, 7.0]
    assert pyburn.load(path, map_location={"cuda:0": "numpy"})["row"].device == "cpu"
    places = []

    def place(storage: pyburn.Tensor, location: str) -> pyburn.Tensor:
        places.append((storage.shape, location))
        return storage.to("numpy")

    loaded = pyburn.load(path, map_location=place)
    assert places == [(pyburn.Size([12]), "cpu")] and loaded["transposed"].device == "numpy"
    assert loaded["transposed"].tolist() == pyburn.arange(12.0).view(3, 4).T.tolist()
    assert pyburn.load(path, map_location=lambda storage, location: storage)["row"].device == "cpu"
    with pyburn.device("fusion(cpu)"):
        fused = pyburn.load(path)
        assert fused["transposed"].device == "fusion(cpu)" and fused["transposed"].tolist() == loaded["transposed"].tolist()
    with pytest.raises(ValueError, match="map_location must give"):
        pyburn.load(path, map_location=lambda storage, location: storage[:3])
    with pytest.raises(ValueError, match="map_location must give"):
        pyburn.load(path, map_location=lambda storage, location: 3)


@pytest.mark.parametrize("device", ["numpy", "fusion(cpu)"])
def test_tensors_of_other_devices(device: str, tmp_path: Path) -> None:
    base = pyburn.arange(6.0, device=device).view(2, 3)
    pyburn.save([base.T, base.T, base * 2], tmp_path / "x.pt")
    first, second, third = pyburn.load(tmp_path / "x.pt")
    assert first.tolist() == [[0, 3], [1, 4], [2, 5]] and second.tolist() == first.tolist() and third[1, 2] == 10
    first[0, 0] = 5.0
    assert second[0, 0] == 5


class Evil:
    def __reduce__(self) -> Any:
        return print, ("this runs",)


def as_checkpoint(data: bytes) -> io.BytesIO:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("archive/data.pkl", data)
    memory.seek(0)
    return memory


def test_counters_count_on(tmp_path: Path) -> None:
    counted = pyburn.load(FOLDER / "rare.pt")["counter"]
    assert type(counted) is Counter and sorted(counted.elements()) == ["a", "a", "b", "c"]
    pyburn.save(counted, tmp_path / "counted.pt")
    assert type(pyburn.load(tmp_path / "counted.pt")) is Counter
    steps = pyburn.lr_scheduler.MultiStepLR(pyburn.optim.SGD([pyburn.ones(1)]), [2, 2, 4])
    pyburn.save(steps.state_dict(), tmp_path / "steps.pt")
    steps.load_state_dict(pyburn.load(tmp_path / "steps.pt"))
    steps.optimizer.step()
    steps.step()
    assert steps.milestones == Counter([2, 2, 4])


def test_eight_bits_are_read_as_sixteen(tmp_path: Path) -> None:
    expected = dict(EXPECTED["float8"]["dict"])
    for file in ("float8.pt", "float8.safetensors"):
        for mmap in (False, True):
            tensors = pyburn.io.open_tensors(FOLDER / file, mmap=mmap)
            for name, snapshot in tensors.items():
                loaded = snapshot.load()
                assert snapshot.dtype == loaded.dtype == pyburn.bfloat16
                assert describe(loaded)["values"] == expected[name]["values"]
    part = pyburn.load(FOLDER / "float8.pt")
    assert part["part"].untyped_storage().data_ptr() == part["e5m2"].untyped_storage().data_ptr()
    damaged = bytearray((FOLDER / "float8.safetensors").read_bytes())
    at = damaged.index(b"[16,16]")
    damaged[at : at + 7] = b"[16,15]"
    with pytest.raises(pyburn.FormatError, match="wrong size: got 256 bytes for .* of F8_"):
        pyburn.io.open_tensors(io.BytesIO(bytes(damaged)))


def test_an_index_of_pytorch_files(tmp_path: Path) -> None:
    parts = {"model-1-of-2.bin": {"a.weight": pyburn.ones(2)}, "model-2-of-2.bin": {"b.weight": pyburn.zeros(3)}}
    for name, tensors in parts.items():
        pyburn.save(tensors, tmp_path / name)
    index = tmp_path / "pytorch_model.bin.index.json"
    weight_map = {key: name for name, tensors in parts.items() for key in tensors}
    index.write_text(json.dumps({"metadata": {"total_size": 20}, "weight_map": weight_map}))
    opened = pyburn.io.open_tensors(index)
    assert opened.format == "pytorch" and {k: v.load().tolist() for k, v in opened.items()} == {"a.weight": [1, 1], "b.weight": [0, 0, 0]}
    index.write_text(json.dumps({"weight_map": {"a.weight": index.name}}))
    with pytest.raises(pyburn.FormatError, match="files beside it"):
        pyburn.io.open_tensors(index)


def test_objects_of_other_classes_are_left_alone() -> None:
    """A file may be read beside them: objects of any class are names without a meaning, and nothing is run to make them."""
    file = FOLDER / "foreign.pt"
    with pytest.raises(pyburn.FormatError, match=r"'argparse\.Namespace' is not allowed.*open_tensors"):
        pyburn.load(file)
    assert {name: t.load().tolist() for name, t in pyburn.io.open_tensors(file, key="model").items()} == {"weight": [0, 1, 2]}
    assert list(pyburn.io.open_tensors(file)) == ["model.weight"]
    with pytest.raises(pyburn.FormatError, match="Namespace"):
        pyburn.io.open_tensors(file, key="args")
    for name in ("module.pt", "module.legacy.pt"):
        with pytest.raises(pyburn.FormatError, match=r"Sequential' is not allowed.*state_dict\(\)"):
            pyburn.io.open_tensors(FOLDER / name)
    evil = as_checkpoint(pickle.dumps({"a": Evil(), "b": [1]}, 4))
    assert list(pyburn.io.open_tensors(evil)) == []


def test_numbers_of_numpy_are_numbers() -> None:
    assert describe(pyburn.load(FOLDER / "numpy.pt")) == EXPECTED["numpy"]
    with zipfile.ZipFile(FOLDER / "numpy.pt") as archive:
        pickled = archive.read("numpy/data.pkl")
    double, little = b"X\x02\x00\x00\x00f8", b"X\x01\x00\x00\x00<"
    for known, other in ((double, b"X\x03\x00\x00\x00c16"), (double, b"X\x02\x00\x00\x00f4"), (little, b"X\x01\x00\x00\x00>")):
        assert known in pickled
        with pytest.raises(pyburn.FormatError, match="numpy scalar of an unsupported type"):
            pyburn.load(as_checkpoint(pickled.replace(known, other)))


def test_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    for protocol in range(2, 6):
        with pytest.raises(pyburn.FormatError, match=r"'builtins\.print' is not allowed.*never executed"):
            pyburn.load(as_checkpoint(pickle.dumps(Evil(), protocol)))
    with pytest.raises(pyburn.FormatError, match=r"'torch\.nn\.modules\.container\.Sequential' is not allowed.*save.*state_dict\(\)"):
        pyburn.load(FOLDER / "module.pt")
    for name in (b"os\nsystem", b"builtins\neval", b"torch\nload", b"builtins\ngetattr"):
        with pytest.raises(pyburn.FormatError, match="not allowed"):
            pyburn.load(as_checkpoint(b"\x80\x02c" + name + b"\nX\x02\x00\x00\x00ls\x85R."))
    with pytest.raises(pyburn.FormatError, match="unsupported opcode: got 0x69 'i'"):
        pyburn.load(as_checkpoint(b"(ios\nsystem\n."))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "ends too early"),
        (b"\x80\x09.", "protocol"),
        (b".", "exactly one object"),
        (b"NN.", "exactly one object"),
        (b"(.", "exactly one object"),
        (b"0.", "stack is empty"),
        (b"t.", "mark is missing"),
        (b"]NNs.", "expected a dict: got list"),
        (b"}Na.", "expected a list: got dict"),
        (b"h\x05.", "the memo has no entry"),
        (b"X\xff\xff\xff\xff.", "ends too early"),
        (b"X\x01\x00\x00\x00\xff.", "not valid UTF-8"),
        (b"}]Ns.", "unsupported type of key"),
        (b"}(NNNu.", "key without a value"),
        (b"NNR.", "only allowed names"),
        (b"}}b.", "state of a dict"),
        (b"NQ.", "not a storage"),
        (b"ctorch\nFloatStorage\n.", "not a value"),
        (b"ctorch\nFloatStorage\n)R.", "not allowed to be called"),
        (b"ctorch\nSize\nK\x01\x85R.", "expected a shape"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n)R.", "invalid arguments"),
        (b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86R.", "invalid arguments"),
        (b"]" * 1000 + b"a" * 999 + b".", "nested too deeply"),
    ],
)
def test_damaged_pickles(data: bytes, reason: str) -> None:
    with pytest.raises(pyburn.FormatError, match=reason):
        pyburn.load(as_checkpoint(data))


def test_a_small_file_does_not_unfold(tmp_path: Path) -> None:
    """Tuples of tuples and copies of copies: the object is small when shared and huge when not."""
    laughs = b"\x80\x02)q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(100))
    value = pyburn.load(as_checkpoint(laughs + b"h\x64."))
    assert value[0] is value[1]
    with pytest.raises(pyburn.FormatError, match="unsupported type of key"):
        pyburn.load(as_checkpoint(laughs + b"}h\x64Ns."))
    text = (
        b"\x80\x02X\x00\x00\x01\x00"
        + b"a" * 65536
        + b"q\x00c_codecs\nencode\nq\x01"
        + b"h\x01h\x00X\x06\x00\x00\x00latin1\x86R" * 1000
        + b"."
    )
    with pytest.raises(pyburn.FormatError, match="expands beyond"):
        pyburn.load(as_checkpoint(text))


def test_tensors_stay_inside_their_storages() -> None:
    data = (FOLDER / "scalar.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        pickled = file.read("scalar/data.pkl")
    entries = {"archive/data/0": b"\0" * 4}

    def load(changed: bytes) -> Any:
        memory = as_checkpoint(changed)
        with zipfile.ZipFile(memory, "a") as file:
            for name, content in entries.items():
                file.writestr(name, content)
        return pyburn.load(io.BytesIO(memory.getvalue()))

    assert load(pickled).shape == ()
    one = pickled.index(b"cpu") + 3  # the number of elements, then the offset, follow
    start = pickled.index(b"K\x01", one)
    with pytest.raises(pyburn.FormatError, match="storage '0' has the wrong size"):
        load(pickled[:start] + b"K\x02" + pickled[start + 2 :])
    offset = pickled.index(b"QK\x00") + 1
    with pytest.raises(pyburn.FormatError, match="outside its storage"):
        load(pickled[:offset] + b"K\x01" + pickled[offset + 2 :])
    with pytest.raises(pyburn.FormatError, match="outside its storage"):
        load(pickled[:offset] + b"J\xff\xff\xff\x7f" + pickled[offset + 2 :])
    with pytest.raises(pyburn.FormatError, match="offset"):
        load(pickled[:offset] + b"J\xff\xff\xff\xff" + pickled[offset + 2 :])
    entries.clear()
    with pytest.raises(pyburn.FormatError, match="storage '0' is missing"):
        load(pickled)


def test_damaged_zip_files() -> None:
    data = (FOLDER / "shared.pt").read_bytes()
    for cut in (10, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(pyburn.FormatError, match="truncated"):
            pyburn.load(io.BytesIO(data[:cut]))
    at = data.index(b"\0\0\x80\x3f")  # an element
    with pytest.raises(pyburn.FormatError, match="'shared/data/0' is damaged"):
        pyburn.load(io.BytesIO(data[:at] + b"\1" + data[at + 1 :]))
    for bad, reason in ((b"", "not a PyTorch file"), (b"something else", "not a PyTorch file")):
        with pytest.raises(pyburn.FormatError, match=reason):
            pyburn.load(io.BytesIO(bad))
    with pytest.raises(pyburn.FormatError, match="no entry data.pkl"):
        pyburn.load(FOLDER / "arrays.npz")
    with pytest.raises(pyburn.FormatError, match="pyburn.load"):
        pyburn.io.safetensors.load_file(FOLDER / "shared.pt")


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="weights_only=False is not supported: a pickle can execute any code"):
        pyburn.load(FOLDER / "scalar.pt", weights_only=False)
    with pytest.raises(ValueError, match="pickle_module is not supported"):
        pyburn.load(FOLDER / "scalar.pt", pickle_module=pickle)
    with pytest.raises(ValueError, match="pickle_module is not supported"):
        pyburn.save(1, tmp_path / "x", pickle_module=pickle)
    with pytest.raises(ValueError, match="protocol 2"):
        pyburn.save(1, tmp_path / "x", pickle_protocol=4)
    with pytest.raises(ValueError, match="f must be a file path"):
        pyburn.load(io.BytesIO(b""), mmap=True)
    with pytest.raises(TypeError, match="encoding"):
        pyburn.load(FOLDER / "scalar.pt", encoding="latin1")
    with pytest.raises(FileNotFoundError):
        pyburn.load(tmp_path / "nothing.pt")
    for value, reason in (
        (nn.Linear(1, 1), r"cannot save a Linear.*save its state_dict\(\)"),
        (object(), "cannot save a object"),
        (frozenset([1]), "cannot save a frozenset"),
        ({"f": print}, "cannot save a builtin_function"),
    ):
        with pytest.raises(TypeError, match=reason):
            pyburn.save(value, tmp_path / "x")
    assert not list(tmp_path.iterdir())
    deep: list[Any] = []
    for _ in range(10000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        pyburn.save(deep, tmp_path / "x")
