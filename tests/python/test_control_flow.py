"""cond, while_loop and scan: eager, captured, through sessions, files, decorators and gradients."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import pyburn
from pyburn import inference, nn

DEVICES = ["cpu", "fusion(cpu)", "autodiff(cpu)", "remote(cpu)"]


def sign_dependent(x):
    return pyburn.cond(x.sum() > 0, lambda x: x * 2, lambda x: (x - 1).exp(), (x,))


def halve_until_small(x):
    return pyburn.while_loop(lambda i, y: y.abs().max() > 1, lambda i, y: (i + 1, y / 2), (pyburn.tensor(0, device=x.device), x))


def running(x):
    return pyburn.scan(lambda c, row: (c + row, c * row), pyburn.zeros(3, device=x.device), x)


PROGRAMS = [sign_dependent, halve_until_small, running]


def same(a, b):
    a, b = (t if isinstance(t, tuple) else (t,) for t in (a, b))
    return len(a) == len(b) and all(x.shape == y.shape and pyburn.allclose(x, y, atol=1e-6) for x, y in zip(a, b))


def test_eager_runs_python():
    assert sign_dependent(pyburn.ones(2, 3)).tolist() == [[2.0] * 3] * 2
    i, y = halve_until_small(pyburn.full((2,), 5.0))
    assert int(i) == 3 and y.tolist() == [0.625] * 2
    carry, ys = running(pyburn.arange(12.0).reshape(4, 3))
    assert carry.tolist() == [18, 22, 26] and ys[1].tolist() == [0, 4, 10]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("device", DEVICES)
def test_captured_programs_follow_values(program, device):
    x = pyburn.randn(4, 3).to(device)
    graph = inference.capture(program, x)
    assert len({"cond", "while_loop", "scan"} & set(graph.operations)) == 1
    session = inference.Session(graph, device)
    for scale in (1.0, -3.0, 20.0):
        given = (pyburn.randn(4, 3) * scale).to(device)
        assert same(session(given), program(given))


@pytest.mark.parametrize("program", PROGRAMS)
def test_graphs_inside_are_saved_and_checked(program, tmp_path):
    session = inference.compile(program, pyburn.zeros(4, 3), dynamic={0: {0: "n"}})
    session.save(tmp_path / "g")
    again = inference.load(tmp_path / "g")
    for n in (1, 4, 7):
        x = pyburn.randn(n, 3) * 4
        assert same(again(x), program(x))


def test_weights_from_outside_are_operands():
    model = nn.Linear(3, 3)

    def f(x):
        return pyburn.cond(x.mean() > 0, lambda x: model(x), lambda x: model(model(x)), (x,))

    session = inference.compile(f, pyburn.zeros(2, 3))
    for x in (pyburn.rand(2, 3), -pyburn.rand(2, 3)):
        assert same(session(x), f(x).detach())


def test_carried_shapes_may_grow():
    def grow(x):
        return pyburn.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, pyburn.cat([y, y[:1] * i])), (pyburn.tensor(0), x))

    session = inference.compile(grow, pyburn.ones(2, 3))
    assert same(session(x := pyburn.randn(2, 3)), grow(x))
    assert session(x)[1].shape == (6, 3)


def test_nested_graphs():
    def f(x):
        def body(i, y):
            return i + 1, pyburn.cond(y.sum() > 3, lambda y: y - 1, lambda y: y + 2, (y,))

        return pyburn.while_loop(lambda i, y: i < 6, body, (pyburn.tensor(0), x))

    session = inference.compile(f, pyburn.ones(2))
    assert str(session.graph).count("cond(") >= 1
    drawing, text = ElementTree.fromstring(session.plot()), session.graph.to_graphviz()
    titles = [t.text for t in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert any(t.startswith("while_loop") for t in titles) and any(t.startswith("cond") for t in titles)  # one is in the other
    assert text.count("subgraph cluster_") == 4  # condition, body, two branches
    for x in (pyburn.zeros(2), pyburn.full((2,), 9.0)):
        assert same(session(x), f(x))


def test_loops_are_bounded_and_errors_name_the_function():
    def endless(x):
        return pyburn.while_loop(lambda y: pyburn.tensor(True), lambda y: (y,), (x,), max_iterations=5)

    session = inference.compile(endless, pyburn.ones(2))
    for run in (endless, session):
        with pytest.raises(ValueError, match=r"\[while_loop\].*max_iterations"):
            run(pyburn.ones(2))
    with pytest.raises(pyburn.CaptureError, match="writes"):
        inference.capture(lambda x: pyburn.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x, (x,)), pyburn.ones(2))
    with pytest.raises(pyburn.DTypeError, match="dtypes"):
        inference.capture(lambda x: pyburn.cond(x.sum() > 0, lambda x: x, lambda x: x.long(), (x,)), pyburn.ones(2))
    with pytest.raises(TypeError, match="tensors"):
        pyburn.scan(lambda c, x: (c, x), 1, pyburn.ones(2))


def test_an_empty_scan_has_shapes():
    carry, ys = running(pyburn.zeros(0, 3))
    assert ys.shape == (0, 3)
    session = inference.compile(running, pyburn.zeros(2, 3), dynamic={0: {0: "n"}})
    assert session(pyburn.zeros(0, 3))[1].shape == (0, 3)
    reverse = pyburn.scan(lambda c, x: (c + x, c), pyburn.tensor(0.0), pyburn.arange(3.0), reverse=True)
    assert reverse[1].tolist() == [3, 2, 0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0] * 2,
        lambda x: pyburn.nonzero(x).sum(0) + 1,
        lambda x: x.unique().reshape(-1, 1) * 3,
        lambda x: x.masked_select(x > 0.5).cumsum(0),
        lambda x: pyburn.arange((x > 0).nonzero().shape[0]) * 2,
    ],
)
def test_sizes_that_follow_from_values(function):
    session = inference.compile(function, pyburn.randn(5, 4), dynamic={0: {0: "n"}})
    for n in (5, 1, 9, 5):
        x = pyburn.randn(n, 4)
        expected, got = function(x), session(x)
        assert got.shape == expected.shape and pyburn.equal(got, expected)


def test_a_session_of_unknown_sizes_is_saved(tmp_path):
    def f(x):
        kept = x[x > 0]
        return (kept.reshape(-1, 1) @ pyburn.ones(1, 3)).sum(1), kept.reshape(kept.shape[0] * 1)

    session = inference.compile(f, pyburn.randn(8))
    session.save(tmp_path / "g")
    for run in (session, inference.load(tmp_path / "g")):
        for seed in range(4):
            pyburn.manual_seed(seed)
            x = pyburn.randn(8)
            assert same(run(x), f(x))


def test_integers_computed_at_run_time_are_sizes():
    def f(x, n):
        m = inference.as_size(n * 2)
        return x[: inference.as_size(n)].sum(0), pyburn.arange(m) + 1, pyburn.zeros(m, 3) + x[0], x.reshape(-1)[:m].reshape(m, 1)

    session = inference.compile(f, pyburn.randn(8, 3), pyburn.tensor(2))
    assert "extent_of" in session.graph.operations
    x = pyburn.randn(8, 3)
    for n in (2, 5, 0, 8):
        assert same(session(x, pyburn.tensor(n)), f(x, pyburn.tensor(n)))
    with pytest.raises(ValueError, match="size"):
        session(x, pyburn.tensor(-1))
