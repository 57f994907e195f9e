"""Data sets, samplers and batches, as torch.utils.data has them, and Burn's data sets."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections import Counter, OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
import pyburn.compat
from pyburn.data import (
    BatchSampler,
    ChainDataset,
    ClassBalancedSampler,
    ComposedDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    InMemDataset,
    IterableDataset,
    MapperDataset,
    PartialDataset,
    RandomSampler,
    SamplerDataset,
    SelectionDataset,
    SequentialSampler,
    ShuffledDataset,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    WindowsDataset,
    default_collate,
    default_convert,
    random_split,
)


class Stream(IterableDataset):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


def test_tensors_side_by_side() -> None:
    x, y = pyburn.arange(6).reshape(3, 2), pyburn.tensor([0, 1, 2])
    data = TensorDataset(x, y)
    assert len(data) == 3
    assert [part.tolist() for part in data[1]] == [[2, 3], 1]
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(x, pyburn.ones(2))


def test_stacked() -> None:
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    named = StackDataset(x=[1, 2], y="ab")
    assert named[0] == {"x": 1, "y": "a"}
    assert named.__getitems__([1, 0]) == [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}]
    with pytest.raises(ValueError, match="Size mismatch"):
        StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one"):
        StackDataset()


def test_concatenated() -> None:
    data = ConcatDataset([[1, 2], [], [3]])
    assert [data[i] for i in (0, 1, 2, -1, -3)] == [1, 2, 3, 3, 1]
    assert data.cumulative_sizes == [2, 2, 3]
    assert list(InMemDataset([1]) + InMemDataset([2])) == [1, 2]
    with pytest.raises(IndexError):
        data[3]
    with pytest.raises(ValueError, match="absolute value"):
        data[-4]
    with pytest.raises(AssertionError):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ChainDataset"):
        ConcatDataset([Stream(1)])
    chained = Stream(2) + Stream(1)
    assert isinstance(chained, ChainDataset)
    assert list(chained) == [0, 1, 0]
    assert len(chained) == 3


def test_split_at_random() -> None:
    parts = random_split(range(10), [3, 7], generator=pyburn.Generator().manual_seed(42))
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(x for part in parts for x in part) == list(range(10))
    again = random_split(range(10), [3, 7], generator=pyburn.Generator().manual_seed(42))
    assert [list(part) for part in parts] == [list(part) for part in again]
    # As PyTorch shares what is left over: to the first parts, one each.
    assert [len(part) for part in random_split(range(106), [0.1, 0.2, 0.3, 0.4])] == [11, 22, 31, 42]
    assert [len(part) for part in random_split(range(3), [0.5, 0.5])] == [2, 1]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(3), [1, 1])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        random_split(range(3), [1.5, -0.5])
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


def test_subsets_hand_lists_on() -> None:
    class Together(Dataset):
        def __getitems__(self, indices):
            return [("together", i) for i in indices]

    assert Subset(Together(), [5, 6, 7]).__getitems__([2, 0]) == [("together", 7), ("together", 5)]
    assert Subset(np.arange(10), [5, 6, 7])[[2, 0]].tolist() == [7, 5]
    assert list(DataLoader(Subset(Together(), [5, 6, 7]), batch_size=2, collate_fn=list))[0] == [("together", 5), ("together", 6)]


def test_data_sets_of_burn() -> None:
    letters = InMemDataset("abcdef")
    assert list(MapperDataset(letters, str.upper)) == list("ABCDEF")
    assert list(ComposedDataset([letters, "xy"])) == list("abcdefxy")
    assert [list(part) for part in PartialDataset.split(letters, 4)] == [["a"], ["b", "c"], ["d"], ["e", "f"]]
    assert [list(part) for part in PartialDataset.split_chunks(letters, 4)] == [list("abcd"), list("ef")]
    assert list(WindowsDataset(letters, 3, step=2)) == [list("abc"), list("cde")]
    assert len(WindowsDataset(letters, 7)) == 0
    shuffled = ShuffledDataset(letters, seed=3)
    assert sorted(shuffled) == list("abcdef")
    assert list(shuffled) == list(shuffled) == list(ShuffledDataset(letters, seed=3))
    assert [list(part) for part in SelectionDataset(letters, [5, 3, 1, 0]).split(2)] == [["f", "d"], ["b", "a"]]
    with pytest.raises(IndexError):
        SelectionDataset(letters, [6])
    with pytest.raises(IndexError):
        PartialDataset(letters, 2, 4)[2]


def test_samples_drawn_by_a_data_set() -> None:
    once = list(SamplerDataset(range(5), 12, replacement=False, seed=1))
    assert sorted(once[:5]) == sorted(once[5:10]) == list(range(5))
    assert list(SamplerDataset(range(5), 12, seed=1)) == list(SamplerDataset(range(5), 12, seed=1))
    assert len(SamplerDataset(range(10), 0.3)) == 3
    assert set(SamplerDataset(range(3), 100)) == {0, 1, 2}
    with pytest.raises(IndexError):
        SamplerDataset(range(5), 2)[2]


def test_samplers() -> None:
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler(range(20))) == list(range(20))
    assert len(list(RandomSampler(range(3), num_samples=8))) == 8
    assert Counter(list(RandomSampler(range(4), num_samples=8))) == dict.fromkeys(range(4), 2)
    assert len(list(RandomSampler(range(3), replacement=True, num_samples=2000))) == 2000
    assert sorted(SubsetRandomSampler([7, 9, 11])) == [7, 9, 11]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(BatchSampler(range(5), 2, last)) for last in (True, False)] == [2, 3]
    for wrong in (
        lambda: RandomSampler([1], num_samples=-1),
        lambda: RandomSampler([]),
        lambda: BatchSampler([1], 0, False),
        lambda: BatchSampler([1], 2, 1),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError, match="replacement"):
        RandomSampler([1], replacement=1)
    with pytest.raises(ValueError, match="1d sequence"):
        WeightedRandomSampler(pyburn.ones(2, 2), 1)


def test_weights_are_followed() -> None:
    pyburn.manual_seed(0)
    drawn = Counter(WeightedRandomSampler([1.0, 3.0, 0.0], 4000))
    assert drawn[2] == 0
    assert 2.6 < drawn[1] / drawn[0] < 3.4
    labels = ["cat"] * 90 + ["dog"] * 10
    balanced = Counter(labels[i] for i in ClassBalancedSampler(labels, 2000))
    assert 0.85 < balanced["cat"] / balanced["dog"] < 1.15


def test_parts_of_several_processes() -> None:
    parts = [list(DistributedSampler(range(7), 3, rank)) for rank in range(3)]
    assert [len(part) for part in parts] == [3, 3, 3]
    assert {x for part in parts for x in part} == set(range(7))
    assert [len(list(DistributedSampler(range(7), 3, rank, drop_last=True))) for rank in range(3)] == [2, 2, 2]
    sampler = DistributedSampler(range(50), 2, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    with pytest.raises(ValueError, match="give num_replicas and rank"):
        DistributedSampler(range(3))
    with pytest.raises(ValueError, match="Invalid rank"):
        DistributedSampler(range(3), 2, 2)


def test_batches_of_everything() -> None:
    Point = namedtuple("Point", ["x", "y"])
    assert default_collate([1, 2]).dtype == pyburn.int64
    assert default_collate([1.0, 2.0]).dtype == pyburn.float64
    assert default_collate([True, False]).dtype == pyburn.bool
    assert default_collate([np.float32(1), np.float32(2)]).dtype == pyburn.float32
    assert default_collate([np.float64(1), np.float64(2)]).dtype == pyburn.float64
    assert default_collate([np.zeros(3, np.int16)] * 2).shape == (2, 3)
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a"]) == [b"a"]
    assert isinstance(default_collate([(1, "a"), (2, "b")]), list)
    point = default_collate([Point(1, "a"), Point(2, "b")])
    assert isinstance(point, Point)
    assert point.x.tolist() == [1, 2]
    assert point.y == ("a", "b")
    nested = default_collate([{"a": [1, {"b": pyburn.ones(2)}]}, {"a": [2, {"b": pyburn.zeros(2)}]}])
    assert nested["a"][0].tolist() == [1, 2]
    assert nested["a"][1]["b"].tolist() == [[1, 1], [0, 0]]
    assert type(default_collate([OrderedDict(a=1), OrderedDict(a=2)])) is OrderedDict
    with pytest.raises(TypeError, match="must contain tensors"):
        default_collate([object()])
    with pytest.raises(TypeError, match="must contain tensors"):
        default_collate([np.array(["text"])])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(RuntimeError, match="entry 1"):
        default_collate([pyburn.ones(2), pyburn.ones(3)])


def test_conversion_without_batches() -> None:
    made = default_convert({"a": np.zeros(2, np.float32), "b": ("text", np.int64(3))})
    assert made["a"].dtype == pyburn.float32
    assert made["b"][0] == "text"
    assert int(made["b"][1]) == 3


def test_graphs_become_one() -> None:
    from pyburn.nn.geometric import Data

    graphs = [Data(x=pyburn.ones(n, 2), edge_index=pyburn.tensor([[0], [n - 1]]), y=n) for n in (2, 3, 4)]
    batches = list(DataLoader(graphs, batch_size=2, num_workers=1))
    assert [batch.num_graphs for batch in batches] == [2, 1]
    assert batches[0].edge_index.tolist() == [[0, 2], [1, 4]]
    assert batches[0].batch.tolist() == [0, 0, 1, 1, 1]
    assert batches[0].y.tolist() == [2, 3]


def modules_below(*packages: Any) -> list[str]:
    return [found.name for package in packages for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


@pytest.mark.parametrize("name", [*modules_below(pyburn.data), "pyburn.chemistry", "pyburn.eeg"])
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), extraglobs={"pyburn": pyburn})
    assert result.failed == 0


def test_the_same_classes_under_the_names_of_torch() -> None:
    import pyburn.utils.data

    for name in pyburn.utils.data.__all__:
        assert getattr(pyburn.utils.data, name) is getattr(pyburn.data, name)
    assert set(pyburn.data.__all__) <= set(dir(pyburn.data))
    with pytest.raises(AttributeError):
        pyburn.data.no_such_thing  # noqa: B018


def test_batches_of_a_derived_subset_are_made_with_its_items() -> None:
    data = importlib.import_module("pyburn.utils.data")

    class Doubled(data.Subset):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index) * 2

    batches = list(data.DataLoader(Doubled([1, 2, 3, 4], [3, 0, 1]), batch_size=3))
    assert batches[0].tolist() == [8, 2, 4]


def test_a_stream_that_is_longer_than_it_says_warns_each_time():
    class Stream(pyburn.utils.data.IterableDataset):
        def __len__(self):
            return 1

        def __iter__(self):
            return iter(range(3))

    loader = pyburn.utils.data.DataLoader(Stream())
    batches = iter(loader)
    assert len(loader) == 1 and next(batches).item() == 0
    for _ in range(2):
        with pytest.warns(UserWarning, match="Length of IterableDataset"):
            next(batches)
