"""Records small files as other programs write them, with what they contain, in tests/golden/io.

python tools/make_io_goldens.py --torch PYTHON      # one with torch, numpy and safetensors

With a folder of data in PYBURN_DATA the logits of a trained model for some test images of MNIST are recorded as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "io"

# Runs in the other Python. Each case is (name of the file, object); tensors are described by dtype, shape, strides and values.
RECORDER = """
import argparse, collections, datetime, json, sys
from pathlib import Path
import numpy as np
import torch

folder = Path(sys.argv[1])
torch.manual_seed(0)

def describe(value):
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        text = {"tensor": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "stride": list(value.stride()),
                "offset": value.storage_offset(), "values": [None if v != v else v for v in (plain.double() if plain.dtype.is_floating_point
                else plain.long()).flatten().tolist()], "requires_grad": value.requires_grad}
        if isinstance(value, torch.nn.Parameter):
            text["parameter"] = True
        return text
    if isinstance(value, dict):
        return {"dict": [[describe(k), describe(v)] for k, v in value.items()], "ordered": isinstance(value, collections.OrderedDict)}
    if isinstance(value, torch.Size):
        return {"size": list(value)}
    if isinstance(value, (list, tuple, set)):
        return {type(value).__name__: [describe(v) for v in (sorted(value) if isinstance(value, set) else value)]}
    if isinstance(value, (bytes, bytearray)):
        return {type(value).__name__: list(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return value

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
          torch.uint16, torch.uint32, torch.uint64, torch.bool]
base = torch.arange(12.0)
shared = {"whole": base, "row": base[4:8], "matrix": base.view(3, 4), "transposed": base.view(3, 4).T, "again": base}
model = torch.nn.Sequential(collections.OrderedDict(conv=torch.nn.Conv2d(1, 2, 2), norm=torch.nn.BatchNorm2d(2), flat=torch.nn.Flatten(),
                                                    fc=torch.nn.Linear(8, 3)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
x = torch.randn(4, 1, 3, 3)
for _ in range(2):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()
nested = {"text": "naïve", 7: [1, -1, 255, 65535, 2**31, -(2**40), 2**63, -(2**70)], "floats": (1.5, float("inf"), -0.0), "none": None,
          "bools": [True, False], "bytes": bytes(range(256)), "array": bytearray(b"ab"), "set": {1, 2}, "size": torch.Size([2, 3]),
          "dtype": torch.bfloat16, "device": torch.device("cpu"), "complex": 1 + 2j, "empty": [(), {}, [], ""],
          "deep": [[[{"a": (torch.ones(2), [torch.zeros(0, 3)])}]]], (1, "key"): "tuple"}
labelled = torch.arange(3.0)
labelled.label = "attributes make another kind of pickle"
cases = {
    "rare": {"labelled": labelled, "counter": collections.Counter("abca"), "nothing": b"", "pairs": collections.OrderedDict(a=1)},
    "dtypes": {str(t): torch.tensor([0, 1, 1, 0, 1, 1]).to(t).view(2, 3) for t in DTYPES},
    "shared": shared,
    "state_dict": model.state_dict(),
    "optimizer": optimizer.state_dict(),
    "nested": nested,
    "parameters": [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1), requires_grad=False),
                   torch.ones(2, requires_grad=True)],
    "scalar": torch.tensor(2.5),
    "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 3),
}
expected = {}
for name, value in cases.items():
    expected[name] = describe(value)
    torch.save(value, folder / f"{name}.pt")
    if name not in ("dtypes", "nested"):  # the old format has no uint16 to uint64
        torch.save(value, folder / f"{name}.legacy.pt", _use_new_zipfile_serialization=False)
old = {k: v for k, v in cases["dtypes"].items() if v.dtype not in (torch.uint16, torch.uint32, torch.uint64)}
torch.save(old, folder / "dtypes.legacy.pt", _use_new_zipfile_serialization=False)
expected["dtypes.legacy"] = describe(old)
torch.save({"a": torch.ones(2)}, folder / "protocol4.pt", pickle_protocol=4)
expected["protocol4"] = describe({"a": torch.ones(2)})
for protocol in (3, 4, 5):
    torch.save({"a": torch.ones(2)}, folder / f"protocol{protocol}.legacy.pt", pickle_protocol=protocol,
               _use_new_zipfile_serialization=False)
    expected[f"protocol{protocol}.legacy"] = describe({"a": torch.ones(2)})
torch.save(frozenset([1, "a"]), folder / "frozen.pt")  # torch itself opens it with weights_only=False only
torch.save(model, folder / "module.pt")  # refused: it names classes
torch.save(model[:1], folder / "module.legacy.pt", _use_new_zipfile_serialization=False)
numbers = {"f8": np.float64(0.25), "f4": np.float32(1.5), "i8": np.int64(-3), "i4": np.int32(7), "b1": np.bool_(True)}
torch.save(numbers, folder / "numpy.pt")
expected["numpy"] = describe({name: number.item() for name, number in numbers.items()})
torch.save({"model": {"weight": torch.arange(3.0)}, "args": argparse.Namespace(lr=0.5), "when": datetime.date(2020, 1, 2),
            "counts": collections.defaultdict(int, a=1), "waves": torch.tensor([1j]), "turns": torch.nn.Parameter(torch.tensor([1j]))},
           folder / "foreign.pt")
torch.save({"model": {"state_dict": model.state_dict()}, "epoch": 3}, folder / "inside.pt")

rng = np.random.default_rng(0)
arrays = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in {
    "f8": "<f8", "f4": "<f4", "f2": "<f2", "i1": "|i1", "i2": "<i2", "i4": "<i4", "i8": "<i8", "u1": "|u1", "u2": "<u2", "u4": "<u4",
    "u8": "<u8", "b1": "|b1", "big_f8": ">f8", "big_i2": ">i2"}.items()}
arrays["fortran"] = np.asfortranarray(np.arange(6.0).reshape(2, 3))
arrays["scalar"] = np.array(2.5)
arrays["empty"] = np.zeros((0, 3))
np.savez(folder / "arrays.npz", **arrays)
np.savez_compressed(folder / "compressed.npz", zeros=np.zeros((50, 40), "f4"), text=np.frombuffer(b"abcabcabd" * 30, "u1"),
                    noise=rng.integers(0, 256, 300).astype("u1"), steps=np.arange(500, dtype="i4"))
expected["arrays"] = {
    name: [str(a.dtype.newbyteorder("=")), list(a.shape), a.astype("f8").flatten().tolist()] for name, a in arrays.items()}
for version in ((1, 0), (2, 0), (3, 0)):
    with open(folder / f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(4, dtype="f4"), version=version)
np.save(folder / "fortran.npy", arrays["fortran"])
np.save(folder / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save(folder / "complex.npy", np.array([1j]))
from safetensors.torch import save_file
save_file({"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([True, False]), "h": torch.ones(3, dtype=torch.bfloat16)},
          folder / "other.safetensors", metadata={"format": "pt"})

# What eight bits mean in each of the formats that have so few.
bits = torch.arange(256, dtype=torch.uint8).view(16, 16)
kinds = {name: bits.clone().view(getattr(torch, "float8_" + name)) for name in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")}
torch.save({**kinds, "part": kinds["e5m2"].T[1:3, ::2]}, folder / "float8.pt")
save_file(kinds, folder / "float8.safetensors")
expected["float8"] = describe({**{name: t.to(torch.bfloat16) for name, t in kinds.items()},
                               "part": kinds["e5m2"].to(torch.bfloat16).T[1:3, ::2]})

model.eval()
expected["model"] = {"x": x.flatten().tolist(), "y": model(x).detach().flatten().tolist()}
print(json.dumps({"torch": torch.__version__, "expected": expected}))
"""

LOGITS = """
import gzip, json, sys
import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3), nn.Conv2d(16, 24, 3)
        self.norm1, self.norm2 = nn.BatchNorm2d(24), nn.BatchNorm1d(10)
        self.fc1, self.fc2 = nn.Linear(24 * 22 * 22, 32), nn.Linear(32, 10)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = conv(x).relu()
        return self.norm2(self.fc2(self.fc1(self.norm1(x).flatten(1)).relu())).log_softmax(1)

data, count = sys.argv[1], 16
pixels = np.frombuffer(gzip.open(data + "/mnist/t10k-images-idx3-ubyte.gz").read()[16:], np.uint8)[: count * 784]
labels = np.frombuffer(gzip.open(data + "/mnist/t10k-labels-idx1-ubyte.gz").read()[8:], np.uint8)[:count]
x = torch.tensor((pixels.reshape(-1, 1, 28, 28).astype(np.float32) / 255 - 0.1307) / 0.3081, dtype=torch.float32)
result = {"labels": labels.tolist()}
states = {"mnist.pt": torch.load(data + "/models/mnist.pt", map_location="cpu"),
          "mnist.safetensors": load_file(data + "/models/mnist.safetensors")}
for name, state in states.items():  # two trainings of one model
    model = Net()
    model.load_state_dict(state)
    with torch.no_grad():
        result[name] = model.eval()(x).tolist()
print(json.dumps(result))
"""


def recorded(python: str, program: str, argument: str) -> str:
    """What a program prints as JSON, without spaces."""
    done = subprocess.run([python, "-W", "ignore", "-c", program, argument], check=True, stdout=subprocess.PIPE, text=True)
    return json.dumps(json.loads(done.stdout), separators=(",", ":")) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable, help="a Python with torch, numpy and safetensors")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "expected.json").write_text(recorded(arguments.torch, RECORDER, str(FOLDER)))
    (FOLDER / "other.safetensors").chmod(0o644)
    if data := os.environ.get("PYBURN_DATA"):
        (FOLDER / "mnist_logits.json").write_text(recorded(arguments.torch, LOGITS, data))


if __name__ == "__main__":
    main()
