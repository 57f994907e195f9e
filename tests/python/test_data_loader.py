"""DataLoader: batches, order and random numbers are the same for any workers; stopping and going on; PyTorch's arguments."""

from __future__ import annotations

import json
import os
import random
import threading
import time

import numpy as np
import pytest

import pyburn
from pyburn.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    numpy_random,
    python_random,
    transport,
)

WORKERS = [
    {},
    {"num_workers": 1},
    {"num_workers": 3},
    {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 1},
    {"num_workers": 2, "multiprocessing_context": "fork"},
    {"num_workers": 2, "multiprocessing_context": "fork", "persistent_workers": True},
]


class Noisy(Dataset):
    """Samples with random numbers of every kind."""

    def __init__(self, count: int = 21) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        return index, pyburn.rand(2), python_random().random(), numpy_random().random()


class NoisyStream(IterableDataset):
    def __init__(self, count: int = 21) -> None:
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.count, step):
            yield i, pyburn.rand(())


def plain(batch):
    return [part.tolist() for part in batch]


@pytest.mark.parametrize("options", WORKERS, ids=str)
def test_workers_change_nothing(options) -> None:
    def epochs(**how):
        pyburn.manual_seed(11)
        loader = DataLoader(Noisy(), batch_size=4, shuffle=True, **how)
        result = [[plain(batch) for batch in loader] for _ in range(2)]
        return result, pyburn.get_rng_state()

    expected = epochs()
    assert expected[0][0] != expected[0][1]
    assert sorted(i for batch in expected[0][0] for i in batch[0]) == list(range(21))
    assert epochs(**options) == expected


def test_spawned_processes_change_nothing() -> None:
    def epoch(**how):
        loader = DataLoader(Noisy(5), batch_size=2, generator=pyburn.Generator().manual_seed(2), **how)
        return [plain(batch) for batch in loader]

    assert epoch(num_workers=1, multiprocessing_context="spawn") == epoch()


def test_loading_does_not_disturb_the_program() -> None:
    pyburn.manual_seed(5)
    loader = iter(DataLoader(Noisy(), batch_size=4, num_workers=2))
    before = pyburn.get_rng_state()
    list(loader)
    assert pyburn.get_rng_state() == before


@pytest.mark.parametrize("options", WORKERS[:4], ids=str)
def test_workers_use_the_device_of_the_loop(options) -> None:
    with pyburn.device("inner(ndarray)"):
        assert {batch[1].device for batch in DataLoader(Noisy(4), **options)} == {pyburn.device("inner(ndarray)")}


def test_the_same_sample_twice_in_an_epoch_draws_twice() -> None:
    pyburn.manual_seed(5)
    loader = DataLoader(Noisy(), sampler=[3, 3, 3], batch_size=3)
    numbers = next(iter(loader))[2].tolist()
    assert len(set(numbers)) == 3


@pytest.mark.parametrize("options", WORKERS[1:], ids=str)
def test_streams_in_parts(options) -> None:
    loader = DataLoader(NoisyStream(), batch_size=2, **options)
    for _ in range(2):
        seen = [i for batch in loader for i in batch[0].tolist()]
        assert sorted(seen) == list(range(21))


def test_streams_without_workers() -> None:
    assert [batch[0].tolist() for batch in DataLoader(NoisyStream(5), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [batch[0].tolist() for batch in DataLoader(NoisyStream(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert [sample[0] for sample in DataLoader(NoisyStream(3), batch_size=None)] == [0, 1, 2]
    # Two workers interleave their batches, as PyTorch's do.
    loader = DataLoader(NoisyStream(8), batch_size=2, num_workers=2)
    assert [batch[0].tolist() for batch in loader] == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_streams_that_give_more_than_they_said() -> None:
    class Wrong(NoisyStream):
        def __len__(self) -> int:
            return 2

    loader = DataLoader(Wrong(5))
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        list(loader)


def test_batches_of_several_kinds() -> None:
    data = list(range(7))
    assert [b.tolist() for b in DataLoader(data, batch_size=3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [b.tolist() for b in DataLoader(data, batch_size=3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]
    assert list(DataLoader(data, batch_size=None)) == data
    assert [b.tolist() for b in DataLoader(data, batch_sampler=[[6, 0], [3]])] == [[6, 0], [3]]
    assert list(DataLoader({"a": 1, "b": 2}, sampler=["b", "a"], batch_size=None)) == [2, 1]
    assert list(DataLoader(data, batch_size=3, collate_fn=sum)) == [3, 12, 6]
    assert [len(DataLoader(data, batch_size=3, drop_last=last)) for last in (False, True)] == [3, 2]
    assert list(DataLoader([], batch_size=2)) == []
    loader = DataLoader(data, batch_size=2)
    assert (loader.batch_size, loader.num_workers, loader.prefetch_factor, loader.timeout) == (2, 0, None, 0)
    assert isinstance(loader.batch_sampler, BatchSampler)
    assert DataLoader(data, num_workers=1).prefetch_factor == 2
    assert isinstance(DataLoader(data, shuffle=True).sampler, RandomSampler)


def test_rows_of_tensors_become_batches_at_once() -> None:
    x, y = pyburn.arange(12).reshape(6, 2), pyburn.arange(6)
    rows = TensorDataset(x, y)
    for data in (rows, Subset(rows, [5, 0, -1, 2]), Subset(Subset(rows, [1, 2, 3, 4]), [0, -1])):
        quick, slow = DataLoader(data, batch_size=4), DataLoader(data, batch_size=4, collate_fn=lambda s: default_collate(s))
        for a, b in zip(quick, slow):
            assert type(a) is type(b) is list
            assert plain(a) == plain(b)
            assert [part.dtype for part in a] == [part.dtype for part in b]

    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * part for part in super().__getitem__(index))

    assert next(iter(DataLoader(Doubled(y), batch_size=3)))[0].tolist() == [0, 2, 4]
    with pytest.raises(IndexError):
        list(DataLoader(rows, sampler=[0, 6], batch_size=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "non-negative"),
        ({"timeout": -1}, "non-negative"),
        ({"prefetch_factor": 2}, "num_workers > 0"),
        ({"num_workers": 1, "prefetch_factor": 0}, "positive"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"multiprocessing_context": "fork"}, "num_workers > 0"),
        ({"num_workers": 1, "multiprocessing_context": "thread"}, "valid start method"),
        ({"sampler": [0], "shuffle": True}, "mutually exclusive"),
        ({"batch_sampler": [[0]], "batch_size": 3}, "mutually exclusive"),
        ({"batch_sampler": [[0]], "drop_last": True}, "mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "mutually exclusive"),
        ({"batch_size": 0}, "positive integer"),
    ],
)
def test_arguments_that_do_not_fit(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader([1, 2], **options)


def test_streams_refuse_orders() -> None:
    for options in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="IterableDataset"):
            DataLoader(NoisyStream(), **options)
    DataLoader(NoisyStream(), shuffle=False)


def test_what_is_fixed_stays() -> None:
    loader = DataLoader([1, 2])
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match="should not be set"):
            setattr(loader, name, None)


class Informed(Dataset):
    mark = None

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        assert info is not None
        return info.id, info.num_workers, info.dataset.mark, os.getpid(), threading.get_ident()


def set_mark(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    assert info.id == worker
    info.dataset.mark = 100 + worker
    with pytest.raises(RuntimeError, match="Cannot assign"):
        info.id = 3  # type: ignore[misc]


@pytest.mark.parametrize("context", [None, "fork"])
def test_workers_know_who_they_are(context) -> None:
    loader = DataLoader(Informed(), num_workers=2, batch_size=None, worker_init_fn=set_mark, multiprocessing_context=context)
    samples = list(loader)
    assert [sample[:3] for sample in samples] == [[0, 2, 100], [1, 2, 101], [0, 2, 100], [1, 2, 101]]
    assert ({sample[3] for sample in samples} == {os.getpid()}) == (context is None)
    assert get_worker_info() is None
    assert loader.dataset.mark is None


def test_persistent_workers_stay() -> None:
    loader = DataLoader(Informed(), num_workers=2, batch_size=None, persistent_workers=True)
    first, second = ({sample[4] for sample in loader} for _ in range(2))
    assert first == second
    old = iter(loader)
    list(loader)
    with pytest.raises(RuntimeError, match="persistent_workers serve one"):
        list(old)


def test_whichever_is_ready_first() -> None:
    class Slow(Dataset):
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index):
            time.sleep(0.2 if index == 0 else 0)
            return index

    order = [int(b) for b in DataLoader(Slow(), num_workers=2, in_order=False)]
    assert sorted(order) == list(range(6))
    assert order[0] != 0
    assert [int(b) for b in DataLoader(Slow(), num_workers=2)] == list(range(6))


def test_processes_seed_other_random_numbers() -> None:
    class Other(Dataset):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index):
            return random.random(), float(np.random.rand())

    def drawn():
        return list(
            DataLoader(Other(), num_workers=2, batch_size=None, multiprocessing_context="fork", generator=pyburn.Generator().manual_seed(1))
        )

    first = drawn()
    assert first[0] != first[1]
    assert drawn() == first


class Large(Dataset):
    """Samples that are large enough to be sent as they lie in memory, and some that cannot be."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index):
        x = pyburn.arange(60000) + index
        return {
            "tensor": x.float(),
            "turned": x.reshape(200, 300).T,
            "half": x.to(pyburn.bfloat16),
            "wants": x.double().requires_grad_(),
            "array": np.arange(60000) * index,
            "reversed": np.arange(60000)[::-1],
            "twice": [x] * 2,
            "small": index,
        }


@pytest.mark.parametrize("shared", [True, False])
def test_large_batches_of_processes_are_unchanged(shared: bool, monkeypatch) -> None:
    monkeypatch.setattr(transport, "_SHARED", transport._SHARED and shared)
    options = {"batch_size": None, "collate_fn": lambda sample: sample}
    for made, expected in zip(
        DataLoader(Large(), num_workers=2, multiprocessing_context="fork", **options), DataLoader(Large(), **options)
    ):
        for name, value in expected.items():
            parts = zip(made[name], value) if name == "twice" else [(made[name], value)]
            for a, b in parts:
                assert type(a) is type(b)
                if isinstance(b, pyburn.Tensor):
                    assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
                    assert pyburn.equal(a, b)
                else:
                    assert np.array_equal(a, b)
        made["tensor"].add_(1)  # it may be written to


# --- stopping and going on ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [0, 1, 3, 6])
@pytest.mark.parametrize(("before", "after"), [({}, {"num_workers": 2}), ({"num_workers": 3}, {}), (WORKERS[3], WORKERS[4])], ids=str)
@pytest.mark.parametrize("own", [True, False], ids=["generator", "default"])
def test_an_epoch_is_resumed_where_it_stopped(given, before, after, own) -> None:
    def make(seed, **how):
        pyburn.manual_seed(seed)
        generator = pyburn.Generator().manual_seed(seed) if own else None
        return DataLoader(Noisy(), batch_size=4, shuffle=True, generator=generator, **how)

    loader = make(3, **before)
    list(loader)  # an epoch before the one that is cut
    batches = iter(loader)
    for _ in range(given):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    random_state = pyburn.get_rng_state()
    rest = [plain(batch) for batch in batches]
    following = [plain(batch) for batch in loader]

    resumed = make(99, **after)
    resumed.load_state_dict(state)
    pyburn.set_rng_state(random_state)
    assert resumed.state_dict() == state
    assert [plain(batch) for batch in resumed] == rest
    assert [plain(batch) for batch in resumed] == following
    assert len(rest) == 6 - given


def test_states_between_epochs() -> None:
    loader = DataLoader(Noisy(), batch_size=4, shuffle=True, generator=pyburn.Generator().manual_seed(1))
    list(loader)
    state = loader.state_dict()
    assert state["batches"] == 0
    following = [plain(batch) for batch in loader]
    other = DataLoader(Noisy(), batch_size=4, shuffle=True, generator=pyburn.Generator().manual_seed(8))
    other.load_state_dict(state)
    assert [plain(batch) for batch in other] == following
    loader.load_state_dict(state)
    assert [plain(batch) for batch in loader] == following


def test_a_second_stop_after_going_on() -> None:
    def make():
        return DataLoader(Noisy(), batch_size=4, shuffle=True, generator=pyburn.Generator().manual_seed(1))

    whole = [plain(batch) for batch in make()]
    state, seen = make().state_dict(), []
    for _ in range(6):
        loader = make()
        loader.load_state_dict(state)
        seen.append(plain(next(iter(loader))))
        state = loader.state_dict()
    assert seen == whole


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_and_other_samplers_go_on(workers) -> None:
    def streams():
        return DataLoader(NoisyStream(), batch_size=4, num_workers=workers, generator=pyburn.Generator().manual_seed(1))

    def weighted():
        sampler = WeightedRandomSampler([1.0] * 21, 30, generator=pyburn.Generator().manual_seed(4))
        return DataLoader(Noisy(), batch_size=4, sampler=sampler, num_workers=workers)

    def distributed():
        return DataLoader(Noisy(), batch_size=4, sampler=DistributedSampler(range(21), 2, 1), num_workers=workers)

    for make in (streams, weighted, distributed):
        pyburn.manual_seed(0)
        loader = make()
        if make is distributed:
            loader.sampler.set_epoch(7)
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = [plain(batch) for batch in batches]
        resumed = make()
        resumed.load_state_dict(state)
        assert [plain(batch) for batch in resumed] == rest


def test_states_of_other_loaders_are_refused() -> None:
    state = DataLoader(Noisy(), batch_size=4).state_dict()
    with pytest.raises(ValueError, match="of 6 batches: this one has 3"):
        DataLoader(Noisy(), batch_size=7).load_state_dict(state)
    with pytest.raises(ValueError, match="version"):
        DataLoader(Noisy(), batch_size=4).load_state_dict({"version": 9})
    with pytest.raises(ValueError, match="other samplers or generators"):
        DataLoader(Noisy(), batch_size=4, generator=pyburn.Generator()).load_state_dict(state)
