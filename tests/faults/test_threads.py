"""Everything that Python threads share, at once, with the results of a single thread."""

from __future__ import annotations

import gc
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.effort import effort, in_threads, python

import pyburn
from pyburn import nn
from pyburn.data import DataLoader, TensorDataset

ROUNDS = effort(6, 300)


def operations() -> Any:
    x = pyburn.arange(30_000, dtype=pyburn.float32).reshape(100, 300)
    return [
        (x * 2 + 1).sum().item(),
        (x.T @ x)[0, :4].tolist(),
        x.softmax(1).argmax(1)[:3].tolist(),
        x.sort(descending=True)[0][0, :3].tolist(),
    ]


def fused() -> Any:
    with pyburn.device("fusion(cpu)"):
        x = pyburn.arange(20_000, dtype=pyburn.float32) / 1000
        return ((x * 2 + 1).tanh() * x - 0.5).sum().item()


def gradients() -> Any:
    x = pyburn.linspace(-1, 1, 4000).requires_grad_()
    x.register_hook(lambda g: g * 2)
    ((x * x).tanh() * x).sum().backward()
    return x.grad.sum().item()


def training() -> Any:
    """With a generator of this thread, as other threads draw numbers, too."""
    generator = pyburn.Generator().manual_seed(4)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    with pyburn.no_grad():
        for p in model.parameters():
            p.copy_(pyburn.rand(p.shape, generator=generator) - 0.5)
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.01)
    x = pyburn.rand(64, 8, generator=generator)
    for _ in range(5):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


CONV = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 4)).eval()
IMAGE = pyburn.linspace(0, 1, 3 * 64).reshape(1, 3, 8, 8)
SESSION = pyburn.inference.compile(CONV, IMAGE)


def shared_module() -> Any:
    return CONV(IMAGE).tolist()


def shared_session() -> Any:
    return SESSION.run(IMAGE).tolist()


def captures() -> Any:
    return pyburn.inference.compile(CONV, IMAGE).run(IMAGE).tolist()


def devices() -> Any:
    names = ["trace(cpu)", "fusion(trace(cpu))", "router(trace(cpu), cpu)"]
    with pytest.raises(pyburn.DeviceError):
        pyburn.device("fusion(nowhere)")
    return [(pyburn.ones(3, device=name) * 2).tolist() for name in names]


def loading() -> Any:
    loader = DataLoader(TensorDataset(pyburn.arange(40).reshape(20, 2)), batch_size=3, num_workers=2)
    return [batch[0].tolist() for batch in loader]


def saving(folder: Any) -> Any:
    path = folder / f"{threading.get_ident()}.pt"
    pyburn.save({"x": IMAGE}, path)
    return pyburn.load(path)["x"].sum().item()


def test_everything_at_once_gives_what_one_thread_gives(tmp_path: Any) -> None:
    works: list[Callable[[], Any]] = [
        operations, fused, gradients, training, shared_module, shared_session, captures, devices, loading, lambda: saving(tmp_path)
    ]  # fmt: skip
    expected = [work() for work in works]
    before = pyburn.get_num_threads()
    over = threading.Event()

    def check(work: Callable[[], Any], wanted: Any) -> None:
        for _ in range(ROUNDS):
            assert work() == wanted, work

    def change_threads() -> None:
        number = 0
        while not over.is_set():
            number += 1
            pyburn.set_num_threads(1 + number % 4)
            pyburn.rand(1000)
            gc.collect()

    changing = threading.Thread(target=change_threads)
    changing.start()
    try:
        in_threads(*[lambda work=work, wanted=wanted: check(work, wanted) for work, wanted in zip(works, expected)])
    finally:
        over.set()
        changing.join()
        pyburn.set_num_threads(before)


def test_backends_are_registered_while_others_are_used() -> None:
    from pyburn.backend.numpy_backend import NumpyBackend  # registers itself

    def register(number: int) -> None:
        for turn in range(effort(3, 40)):
            name = f"stress{number}_{turn}"
            pyburn.backend.register(name, NumpyBackend)
            assert (pyburn.ones(5, device=name) + 1).sum().item() == 10

    in_threads(
        *[lambda n=n: register(n) for n in range(3)],
        lambda: [operations() for _ in range(ROUNDS)],
        lambda: [fused() for _ in range(ROUNDS)],
    )


def test_backward_passes_of_threads_add_up_in_one_leaf() -> None:
    weight = pyburn.ones(100, requires_grad=True)

    def work() -> None:
        for _ in range(ROUNDS):
            (weight * 3).sum().backward()

    in_threads(*[work] * 8)
    assert weight.grad.tolist() == [3.0 * 8 * ROUNDS] * 100


def test_a_tensor_without_values_is_shared() -> None:
    with pyburn.device("fusion(cpu)"):
        for _ in range(5 * ROUNDS):
            unwritten = pyburn.empty(64)
            in_threads(*[lambda x=unwritten: (x * 0).shape] * 4)


def test_objects_die_on_other_threads() -> None:
    """Tensors with hooks, graphs, modules and sessions are made by some threads and dropped by others."""
    things: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def make() -> None:
        for number in range(10 * ROUNDS):
            x = pyburn.ones(number % 3000 + 1, requires_grad=True)
            x.register_hook(lambda g, x=x.shape: g)
            y = (x * 2).exp()
            things.put([y, nn.Linear(4, 4), pyburn.Generator(), y.grad_fn])
            if number % 10 == 0:
                things.put(pyburn.inference.compile(nn.Linear(2, 2), pyburn.ones(1, 2)))
        things.put(None)

    def drop() -> None:
        while things.get() is not None:
            pass

    in_threads(make, make, make, drop, drop, drop)


def test_the_interpreter_ends_while_threads_work() -> None:
    for kind in ("daemon", "exit"):
        for _ in range(effort(1, 10)):
            done = python(
                f"""
                import os, sys, threading, time
                from pyburn import nn
                def operations():
                    x = pyburn.ones(100_000)
                    while True: (x + 1).sum()
                def training():
                    model = nn.Linear(64, 64)
                    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.01)
                    while True:
                        optimizer.zero_grad(); model(pyburn.rand(64, 64)).sum().backward(); optimizer.step()
                def fused():
                    with pyburn.device("fusion(cpu)"):
                        while True: (pyburn.ones(50_000) * 2 + 1).exp().sum().item()
                for work in (operations, training, fused, operations):
                    threading.Thread(target=work, daemon=True).start()
                time.sleep(0.2)
                print("end", flush=True)
                sys.exit(0 if "{kind}" == "daemon" else 3)
                """,
                check=False,
                timeout=60,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0 if kind == "daemon" else 3, "end\n", "")


def test_ctrl_c_while_threads_work() -> None:
    program = """
import pyburn, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
stop = threading.Event()
def work():
    x = pyburn.ones(200, 200, requires_grad=True)
    while not stop.is_set():
        (x @ x).sum().backward()
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
print("ready", flush=True)
try:
    y = pyburn.ones(300, 300)
    while True: y = (y @ y).tanh()
except KeyboardInterrupt:
    stop.set()
for t in threads: t.join()
print("alive", (pyburn.ones(3) * 2).tolist(), flush=True)
"""
    for _ in range(effort(1, 15)):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        assert (process.returncode, output, errors) == (0, "alive [2.0, 2.0, 2.0]\n", "")


def test_no_thread_is_left() -> None:
    loading()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pyburn-loader")]
