"""Training leaves nothing behind: loaders, Learner, optimisers, sessions, graphs, threads."""

from __future__ import annotations

import gc
import threading

import pytest
from tests.python.leaks import check, only_what_is_new, table  # noqa: F401  (a fixture)

import pyburn
from pyburn import nn
from pyburn.data import DataLoader
from pyburn.train import Callback, Learner

SIZE = 16


def linear():
    return nn.Linear(SIZE, SIZE)


def train(layer, optimizer, closure=None):
    def step():
        optimizer.zero_grad()
        loss = layer(pyburn.ones(2, SIZE)).square().sum()
        loss.backward()
        return loss

    return optimizer.step(step) if closure else (step(), optimizer.step())


# ---- data


class Items:
    def __init__(self, fails_at=None):
        self.fails_at = fails_at

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == self.fails_at:
            raise ArithmeticError("on purpose")
        return pyburn.full((64,), float(i)), i


def loaded(workers, **options):
    def program(on):
        for _ in DataLoader(Items(), batch_size=2, shuffle=on, num_workers=workers if on else 0, **(options if on else {})):
            pass

    return program


def left_early(workers, **options):
    def program(on):
        for _ in DataLoader(Items(), batch_size=2, num_workers=workers, **options):
            if on:
                break

    return program


def failing(workers, **options):
    def program(on):
        try:
            for _ in DataLoader(Items(5 if on else None), batch_size=2, num_workers=workers, **options):
                pass
        except ArithmeticError:
            assert on

    return program


WORKERS = {"here": (0, {}, 20), "threads": (2, {}, 10), "processes": (1, {"multiprocessing_context": "fork"}, 3)}


@pytest.mark.parametrize("make", [loaded, left_early, failing], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("workers", "options", "count"), WORKERS.values(), ids=WORKERS)
def test_loaders_leave_nothing_behind(make, workers, options, count):
    check(make(workers, **options), count, more=4)


# ---- optimisers and schedules


def optimizers(on):
    for make in (pyburn.optim.Adam, pyburn.optim.AdamW) if on else (pyburn.optim.SGD,):
        layer = linear()
        train(layer, make(layer.parameters(), lr=0.1))


def closures(on):
    layer = linear()
    train(layer, pyburn.optim.LBFGS(layer.parameters()) if on else pyburn.optim.SGD(layer.parameters(), lr=0.1), closure=True)


def optimizer_hooks(on):
    layer = linear()
    optimizer = pyburn.optim.SGD(layer.parameters(), lr=0.1)
    if on:
        optimizer.register_step_pre_hook(lambda *a: layer.train() and None)
        optimizer.register_step_post_hook(lambda *a: optimizer.zero_grad())
        optimizer.register_step_post_hook(lambda *a: None).remove()
    train(layer, optimizer)


def schedulers(on):
    layer = linear()
    optimizer = pyburn.optim.SGD(layer.parameters(), lr=0.1)
    made = pyburn.optim.lr_scheduler
    steps = [made.StepLR(optimizer, 2), made.LambdaLR(optimizer, lambda e: 1 / (1 + e)), made.CosineAnnealingLR(optimizer, 5)] if on else []
    train(layer, optimizer)
    for schedule in steps:
        schedule.step()


def states(on):
    layer = linear()
    optimizer = pyburn.optim.Adam(layer.parameters())
    train(layer, optimizer)
    if on:
        optimizer.load_state_dict(optimizer.state_dict())
    train(layer, optimizer)


# ---- the Learner


class Keeps(Callback):
    def on_fit_start(self, learner):
        self.learner = learner
        self.seen = []

    def on_batch_end(self, learner):
        self.seen.append((learner, self))


def learner(*callbacks):
    layer = linear()
    return Learner(layer, pyburn.optim.SGD(layer.parameters(), lr=0.1), loss=nn.MSELoss(), callbacks=list(callbacks))


BATCHES = [(pyburn.ones(2, SIZE), pyburn.zeros(2, SIZE))] * 3


def fits(on):
    made = learner()
    for _ in range(2 if on else 1):
        made.fit(BATCHES, BATCHES, 1, display="quiet")


def callbacks_that_hold_the_learner(on):
    made = learner(*([Keeps()] if on else []))
    made.fit(BATCHES, None, 1, display="quiet")


class Fails(Callback):
    def on_epoch_end(self, learner):
        raise ArithmeticError("on purpose")


def fits_that_fail(on):
    made = learner(*([Fails()] if on else []))
    try:
        made.fit(BATCHES, None, 1, display="quiet")
    except ArithmeticError:
        assert on


# ---- deployment and threads


def sessions(on):
    layer = nn.Sequential(linear(), nn.ReLU())
    x = pyburn.ones(2, SIZE)
    if on:
        graph = pyburn.inference.capture(layer, x)
        session = pyburn.inference.compile(layer, x)
        session(x)
        assert graph is not None
    layer(x)


def capture_that_fails(on):
    def f(x):
        if on:
            x.tolist()
        return x * 2

    try:
        pyburn.inference.capture(f, pyburn.ones(2))
    except RuntimeError:
        assert on


def threads(on):
    def work():
        x = pyburn.ones(SIZE, SIZE, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        for _ in range(3):
            (x @ x).sum().backward()

    running = [threading.Thread(target=work) for _ in range(3 if on else 1)]
    for t in running:
        t.start()
    for t in running:
        t.join()


@table(
    [
        *[optimizers, closures, optimizer_hooks, schedulers, states],
        *[fits, callbacks_that_hold_the_learner, fits_that_fail, sessions, capture_that_fails, threads],
    ]
)
def test_training_leaves_nothing_behind(program):
    check(program)


def test_collections_while_other_threads_are_in_the_core():
    """The collector must not look at tensors that another thread changes: it leaves the tape alone while one is in the core."""
    stop = threading.Event()
    failed = []

    def work():
        try:
            w = nn.Parameter(pyburn.ones(128, 128))
            w.register_hook(lambda g: g + 0 * w.detach())
            while not stop.is_set():
                y = w * 1
                y.register_hook(lambda g, y=y: g)
                (y @ w).mul_(2).sum().backward()
        except Exception as error:
            failed.append(error)

    running = [threading.Thread(target=work) for _ in range(3)]
    for t in running:
        t.start()
    for _ in range(200):
        gc.collect()
    stop.set()
    for t in running:
        t.join()
    assert not failed
