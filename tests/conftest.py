"""Tests on all cores (pytest -n): whole files in parallel, then, one after the other, those that measure time or memory or need the
whole machine (SERIAL).

A file of more than a thousand tests, each of which depends on its parameters alone, is cut by functions and the first letters of the
parameters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest

SERIAL = (
    "tests/faults/",
    "tests/python/test_data_robustness.py",
    "tests/python/test_download.py",
    "tests/python/test_hostile_runs.py",
    "tests/python/test_interrupt.py",
    "tests/python/test_memory_limit.py",
    "tests/python/test_package.py",
    "tests/python/test_robustness.py",
    "tests/python/test_servers.py",
)
CUT = ("tests/conformance/test_ops.py", "tests/conformance/test_table.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler:
    return Scheduler(config)


def unit_of(name: str) -> str:
    """Tests of one unit run on one worker, in order."""
    file, _, test = name.partition("::")
    return name[: name.find("[") + 2] if file in CUT and "[" in test else file


class Scheduler:
    """Hands out units by the number of their tests, the largest first, and keeps the serial tests for the worker that is left."""

    def __init__(self, config: pytest.Config):
        from xdist.workermanage import parse_tx_spec_config

        self.config = config
        self.numnodes = len(parse_tx_spec_config(config))
        self.collection: list[str] | None = None
        self.collections: dict[Any, list[str]] = {}
        self.pending: dict[Any, deque[int]] = {}  # what a worker has been sent and has not finished
        self.units: deque[list[int]] = deque()
        self.serial: list[int] = []

    @property
    def nodes(self) -> list[Any]:
        return list(self.pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self.collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self.has_more() and all(len(work) < 2 for work in self.pending.values())

    @property
    def has_pending(self) -> bool:
        return self.has_more() or any(self.pending.values())

    def has_more(self) -> bool:
        return bool(self.units or self.serial)

    def add_node(self, node: Any) -> None:
        self.pending[node] = deque()

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        self.collections[node] = list(collection)

    def remove_node(self, node: Any) -> str | None:
        """Takes back what a worker was sent; returns the test that it died of."""
        work = self.pending.pop(node)
        if not work:
            return None
        assert self.collection
        crashed = self.collection[work.popleft()]
        if work:
            self.units.appendleft(list(work))
        return crashed

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        self.pending[node].remove(item_index)
        self.feed(node)
        self.release_serial()

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        raise NotImplementedError

    def schedule(self) -> None:
        if self.collection is None:
            names, *others = self.collections.values()
            if any(other != names for other in others):
                raise pytest.UsageError("the workers collected different tests: something is parametrised in an order that changes")
            self.collection = names
            units: dict[str, list[int]] = {}
            for index, name in enumerate(names):
                if name.startswith(SERIAL):
                    self.serial.append(index)
                else:
                    units.setdefault(unit_of(name), []).append(index)
            self.units.extend(sorted(units.values(), key=len, reverse=True))
        for node in self.nodes:
            self.feed(node)
        self.release_serial()

    def feed(self, node: Any) -> None:
        """A worker runs a test when it knows the next one, or that there is none."""
        work = self.pending[node]
        while len(work) < 2 and self.units and not node.shutting_down:
            unit = self.units.popleft()
            work.extend(unit)
            node.send_runtest_some(unit)

    def release_serial(self) -> None:
        """Without units left, all workers but one end; when they have finished, that one gets the serial tests."""
        if self.units:
            return
        last, *others = [node for node in self.nodes if not node.shutting_down] or [None]
        for node in others:
            node.shutdown()
        if last is not None and (not self.serial or not any(work for node, work in self.pending.items() if node is not last)):
            if self.serial:
                self.pending[last].extend(self.serial)
                last.send_runtest_some(self.serial)
                self.serial = []
            last.shutdown()
