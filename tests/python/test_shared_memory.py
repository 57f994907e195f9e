"""Tensors in memory that several processes see."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn import Tensor, nn

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def double(*tensors: Tensor) -> None:
    for t in tensors:
        with pyburn.no_grad():
            t.mul_(2)


def double_all(model: Any) -> None:
    double(*model.parameters())


def answer(questions: Any, answers: Any) -> None:
    t = questions.get(timeout=60)
    t.add_(1)
    answers.put((t.tolist(), t.is_shared(), t))
    questions.get(timeout=60)  # the tensor is kept until the other side has it


def run(method: str, target: Any, *args: Any) -> None:
    process = multiprocessing.get_context(method).Process(target=target, args=args)
    process.start()
    process.join(120)
    assert process.exitcode == 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_writes_of_another_process_are_seen(method: str) -> None:
    x = pyburn.arange(6.0)
    part, copied = x[2:4], pyburn.ones(2)
    assert x.share_memory_() is x and x.is_shared() and part.is_shared() and not copied.is_shared()
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and part.data_ptr() == x.data_ptr() + 8
    run(method, double, x, copied)
    assert x.tolist() == [0, 2, 4, 6, 8, 10] and part.tolist() == [4, 6]
    assert copied.tolist() == [1, 1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_model_is_trained_by_several_processes(method: str) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).share_memory()
    assert all(t.is_shared() for t in model.state_dict().values())
    before = model[0].weight.detach().clone()
    run(method, double_all, model)
    assert model[0].weight.equal(before * 2) and model[0].weight.requires_grad
    model(pyburn.ones(4, 3)).sum().backward()
    assert model[0].weight.grad is not None


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_queues_pass_the_memory_and_not_a_copy(method: str) -> None:
    context = multiprocessing.get_context(method)
    questions, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(questions, answers))
    process.start()
    x = pyburn.zeros(2, 3).share_memory_()
    view = x.t()[1]
    questions.put(view)
    values, shared, same = answers.get(timeout=60)
    questions.put(None)
    process.join(60)
    assert values == [1, 1] and shared and x.tolist() == [[0, 1, 0], [0, 1, 0]]
    assert same.data_ptr() == view.data_ptr() and same.stride() == view.stride()  # what comes back is on the storage that is here
    same[0] = 7
    assert x[0, 1] == 7 and x._version == same._version


def test_a_tensor_with_a_history_stays_in_its_process() -> None:
    x = (pyburn.ones(2, requires_grad=True) * 2).share_memory_()
    with pytest.raises(RuntimeError, match="history"):
        multiprocessing.reduction.ForkingPickler.dumps(x)
    assert pickle.loads(pickle.dumps(x.detach())).tolist() == [2, 2]  # a file gets the elements
    assert not pickle.loads(pickle.dumps(x.detach())).is_shared()


def test_memory_that_is_not_the_cpus_cannot_be_shared() -> None:
    with pytest.raises(pyburn.DeviceError, match="share_memory_.*only memory of the CPU"):
        pyburn.ones(2, device="meta").share_memory_()


def test_memory_of_an_array_is_shared_as_well() -> None:
    array = pytest.importorskip("numpy").ones(3, dtype="float32")
    x = pyburn.from_numpy(array)
    old = x.numpy()
    x.share_memory_()
    run("fork", double, x)
    assert x.tolist() == [2, 2, 2] and old.tolist() == array.tolist() == [1, 1, 1]
    assert pyburn.zeros(0).share_memory_().is_shared()


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    program = "import os, pyburn; x = pyburn.ones(1000).share_memory_(); os.kill(os.getpid(), 9)"
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False).returncode == -9
    after = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    assert not {name for name in after - before if "pyburn" in name}


def test_descriptors_are_closed() -> None:
    def open_descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before = open_descriptors()
    tensors = [pyburn.ones(3).share_memory_() for _ in range(10)]
    assert open_descriptors() == before + 10
    del tensors
    assert open_descriptors() == before
