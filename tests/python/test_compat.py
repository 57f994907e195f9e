"""pyburn.compat: programs in PyTorch's words run on pyburn."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import pyburn
import pyburn.compat

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(pyburn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}


def run(script: str, folder: Path, *args: str) -> str:
    file = folder / "script.py"
    file.write_text(script)
    command = [sys.executable, "-m", "pyburn.compat", str(file), *args]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


CLASSIFIER = """
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.nn.parameter import Parameter

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Dropout2d(0.1)
        self.head, self.scale = nn.Linear(4 * 16, 3), Parameter(torch.FloatTensor([1.0]))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return F.log_softmax(self.scale * self.head(torch.flatten(self.drop(x), 1)), dim=1)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "mps" if torch.backends.mps.is_available() else "cpu")
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    model = torch.compile(Net().to(device))
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    y = torch.LongTensor([0, 1, 2] * 8)
    x = torch.randn(24, 1, 8, 8) + y.view(-1, 1, 1, 1).float()
    losses = []
    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device.type, dtype=torch.bfloat16, enabled=False):
            loss = F.nll_loss(model(x.to(device)), y.to(device))
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        losses.append(loss.item())
    torch.save(model.state_dict(), "net.pt")
    model.load_state_dict(torch.load("net.pt", map_location=lambda storage, place: storage))
    torch.save(model, "whole.pt")
    whole = torch.load("whole.pt", weights_only=False).eval()
    model.eval()
    with torch.no_grad():
        assert torch.equal(whole(x), model(x)) and isinstance(whole, Net)
    assert losses[-1] < losses[0], losses
    print("losses", len(losses), next(model.parameters()).is_cuda)

if __name__ == "__main__":
    main()
"""


def test_a_script_runs_unmodified(tmp_path: Path) -> None:
    assert run(CLASSIFIER, tmp_path, "--epochs", "6").splitlines()[-1] == "losses 6 False"


LANGUAGE = """
import torch
from torch import nn, Tensor
from torch.autograd import Variable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.nn.modules.linear import Linear
import torch.nn.modules.rnn

assert torch.nn.modules.rnn.LSTM is nn.LSTM and Linear is nn.Linear and torch.nn.linear is not torch.nn
torch.set_default_tensor_type(torch.DoubleTensor)
torch.manual_seed(1)

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad

cells = nn.LSTM(3, 5, batch_first=True)
packed = pack_padded_sequence(torch.randn(2, 4, 3), torch.tensor([4, 2]), batch_first=True)
out, _ = pad_packed_sequence(cells(packed)[0], batch_first=True)
assert out.dtype == torch.float64 and out.type() == "torch.DoubleTensor"
w = Variable(torch.ones(3), requires_grad=True)
optimizer = torch.optim.LBFGS([w], lr=0.5)
target = torch.tensor([1.0, 2.0, 3.0])

def closure():
    optimizer.zero_grad()
    loss = ((Double.apply(w) - target) ** 2).sum()
    loss.backward()
    return loss

for _ in range(10):
    optimizer.step(closure)
assert torch.allclose(w, target / 2, atol=1e-3)
choice = torch.distributions.Categorical(probs=torch.tensor([0.25, 0.75]))
assert torch.allclose(choice.log_prob(torch.tensor(1)), torch.tensor(0.75).log()) and choice.sample((5,)).shape == (5,)
normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
assert torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum() == 0
adjacency = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2), (2, 2)).coalesce()
assert torch.equal(torch.spmm(adjacency, torch.eye(2)), adjacency.to_dense())
print("done")
"""


def test_older_words_work(tmp_path: Path) -> None:
    assert run(LANGUAGE, tmp_path).splitlines()[-1] == "done"


@pytest.mark.skipif(importlib.util.find_spec("pyburn.utils.data") is None, reason="a build without pyburn.data")
def test_data_is_loaded(tmp_path: Path) -> None:
    script = """
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
from torchvision import transforms

first, second = random_split(TensorDataset(torch.arange(10.0)), [6, 4])
loader = DataLoader(first, batch_size=4, shuffle=True, num_workers=0, pin_memory=True)
print(sum(len(x) for (x,) in loader), transforms.Normalize((0.5,), (0.5,))(torch.ones(1, 2, 2)).sum().item())
"""
    assert run(script, tmp_path).split() == ["6", "4.0"]


def test_modules_are_pyburns_own(torch: Any) -> None:
    functional = importlib.import_module("torch.nn.functional")
    assert torch.nn is pyburn.nn and functional is pyburn.nn.functional and torch.Tensor is pyburn.Tensor
    assert pyburn.nn.__spec__ is not None and pyburn.nn.__spec__.name == "pyburn.nn"
    assert importlib.import_module("torch.optim.lr_scheduler") is pyburn.optim.lr_scheduler
    assert isinstance(torch.ones(1), torch.FloatTensor) and not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.LongTensor([1, 2]).dtype is torch.int64 and torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.jit.script(torch.nn.ReLU())(torch.ones(1)) == 1 and torch.compile()(len) is len


def test_other_devices_answer_no(torch: Any) -> None:
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.accelerator.is_available()
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    with pytest.raises(RuntimeError, match="(?i)cuda"):
        torch.ones(1).cuda()
    with pytest.raises(RuntimeError, match="(?i)cuda"):
        torch.nn.Linear(1, 1).cuda()
    with pytest.raises(RuntimeError, match="(?i)get_device_name|cuda"):
        torch.cuda.get_device_name(0)
    assert not torch.distributed.is_available()


@pytest.mark.parametrize("name", ["torch.no_such_part", "torch.utils.no_such_part", "torchvision.no_such_part"])
def test_what_is_missing_is_named(torch: Any, name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(name)
    with pytest.raises(AttributeError, match="torch.no_such_thing"):
        torch.no_such_thing  # noqa: B018
    with pytest.raises(AttributeError, match="torch.cuda.no_such_thing"):
        torch.cuda.no_such_thing  # noqa: B018


def test_files_run_no_code(torch: Any, tmp_path: Path) -> None:
    import pickle

    class Harm:
        def __reduce__(self) -> Any:
            return os.system, ("echo harm",)

    from pyburn.compat.serialization import _MAGIC

    (tmp_path / "harm.pt").write_bytes(_MAGIC + pickle.dumps(Harm()))
    with pytest.raises(pyburn.FormatError, match="not allowed"):
        torch.load(tmp_path / "harm.pt", weights_only=False)
    import numpy as np

    torch.save({"array": np.arange(3), "net": torch.nn.Linear(1, 2)}, tmp_path / "mixed.pt")
    found = torch.load(tmp_path / "mixed.pt")
    assert found["array"].tolist() == [0, 1, 2] and found["net"].weight.shape == (2, 1)


def test_uninstalling_leaves_nothing() -> None:
    before = {owner: set(vars(owner)) for owner in (pyburn.Tensor, pyburn.nn.Module, pyburn.nn, pyburn.nn.parallel, pyburn.autograd)}
    kind = pyburn.Tensor.type
    pyburn.compat.install()
    pyburn.compat.install()  # once is enough
    importlib.import_module("torch.nn.modules.linear")
    assert hasattr(pyburn.Tensor, "is_cuda") and pyburn.compat.installed()
    pyburn.compat.uninstall()
    assert {owner: set(vars(owner)) for owner in before} == before and pyburn.Tensor.type is kind
    assert not any(name.partition(".")[0] in ("torch", "torchvision") for name in sys.modules) and not pyburn.compat.installed()


def test_pytorch_itself_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with pytest.raises(RuntimeError, match="imported already"):
        pyburn.compat.install()


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "pyburn.compat", "none.py"], env=ENVIRONMENT, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "no file 'none.py'" in done.stderr
    (tmp_path / "fails.py").write_text("import sys; sys.exit(int(sys.argv[1]))")
    done = subprocess.run([sys.executable, "-m", "pyburn.compat", "fails.py", "7"], env=ENVIRONMENT, cwd=tmp_path)
    assert done.returncode == 7
