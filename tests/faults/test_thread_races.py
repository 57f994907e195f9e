"""Threads that change a tensor while others compute with it get errors or mixed values, but the process lives."""

from __future__ import annotations

import textwrap

import pytest
from tests.faults.effort import effort, python

# Each has names for the threads: `change*` write, `read*` compute. What they raise is their own affair.
RACES = {
    # kernels that read values twice: to count, then to write as many
    "counted numbers": """
        n = pyburn.ones(200_000, dtype=pyburn.int64)
        def change():
            n.fill_(1)
            n[1000] = random.choice([1 << 40, -3, 5000, 1_000_000])
        def read_counts(): pyburn.bincount(n)
        def read_repeats(): pyburn.repeat_interleave(n % 3)
    """,
    "masks": """
        m, x = pyburn.zeros(300_000, dtype=pyburn.bool), pyburn.ones(300_000)
        def change():
            m.fill_(True)
            m.fill_(False)
        def read_places(): m.nonzero()
        def read_parts(): x[m]; x.masked_select(m)
    """,
    "indices": """
        i, x = pyburn.zeros(300_000, dtype=pyburn.int64), pyburn.ones(100)
        def change():
            i.fill_(0)
            i.fill_(10**12)
        def read_rows(): x[i]; pyburn.nn.functional.embedding(i, pyburn.ones(100, 2))
        def read_losses(): pyburn.nn.functional.nll_loss(pyburn.ones(300_000, 2), i)
        def read_sums(): pyburn.zeros(100).index_add_(0, i, pyburn.ones(300_000))
    """,
    "distinct rows": """
        x = pyburn.rand(3000, 8)
        def change(): x.uniform_(); x.fill_(1)
        def read(): pyburn.unique(x, dim=0)
    """,
    # methods that replace what a tensor object stands for
    "data": """
        x = pyburn.ones(1000)
        def change(): x.data = pyburn.ones(random.choice([0, 5, 100_000, 1_000_000]))
        def read_sum(): (x + 1).sum().item()
        def read_text(): repr(x); x.numpy().sum()
        def read_many(): x @ x; x.sort(); x.clone().copy_(x); x.double()
    """,
    "memory": """
        x = pyburn.ones(1000)
        def change(): x.set_(pyburn.ones(random.choice([0, 5, 100_000, 1_000_000])))
        def change_size(): x.resize_(random.choice([3, 100_000]))
        def read(): x.add_(1); x.exp(); pyburn.cat([x, x])
    """,
    "shape": """
        x = pyburn.ones(100, 200, 30)
        def change(): x.transpose_(0, 1)
        def change_rank(): x.unsqueeze_(0) if x.dim() < 5 else x.squeeze_()
        def read(): x.sum(0); x @ x.mT; x.reshape(-1); x.exp()
    """,
    "data of parameters": """
        w = pyburn.nn.Parameter(pyburn.ones(1000))
        o = pyburn.optim.Adam([w], lr=0.1)
        def change(): w.data = pyburn.ones(random.choice([3, 1000, 100_000]))
        def read_step(): w.grad = pyburn.ones(w.shape); o.step()
        def read_state(): o.state.clear(); w.exp()
    """,
    "gradient of a leaf": """
        w = pyburn.ones(200_000, requires_grad=True)
        def change(): w.grad = None; w.grad = pyburn.ones(200_000)
        def read_pass(): (w * 2).sum().backward()
        def read_gradient():
            if w.grad is not None: w.grad.add_(1)
    """,
    "results that are resized": """
        import warnings
        warnings.simplefilter("ignore")
        result, x = pyburn.ones(200_000), pyburn.ones(200_000)
        def change(): pyburn.add(x[: random.choice([10, 1000, 200_000])], 1, out=result)
        def change_size(): result.resize_(0)
        def read(): result.sum(); (result * 2).exp()
    """,
    "parts of modules": """
        m = pyburn.nn.Sequential(pyburn.nn.Conv2d(8, 8, 3), pyburn.nn.ReLU())
        x = pyburn.ones(4, 8, 50, 50)
        def change_part(): m[0].weight = pyburn.nn.Parameter(pyburn.ones(8, 8, 3, 3))
        def change_option(): m[0].padding = random.choice([0, 1]); m[0].padding_mode = random.choice(["zeros", "circular"])
        def change_module(): m[1] = pyburn.nn.ReLU()
        def read(): m(x)
        def read_part(): m[0](x)
    """,
    "fused": """
        x = pyburn.ones(1000, device="fusion(cpu)")
        def change(): x.data = pyburn.ones(random.choice([3, 1000, 100_000]), device="fusion(cpu)")
        def read(): (x * 2 + 1).exp().sum().item()
    """,
}


@pytest.mark.parametrize("race", RACES)
def test_races_do_not_end_the_process(race: str) -> None:
    python(
        f"""
import random, threading, time
{textwrap.dedent(RACES[race])}
end = time.monotonic() + {effort(2, 20)}
def run(work):
    while time.monotonic() < end:
        try: work()
        except Exception: pass
threads = [threading.Thread(target=run, args=(work,)) for name, work in list(globals().items()) if name.startswith(("change", "read"))
           for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert pyburn.ones(3).sum().item() == 3
"""
    )


def test_data_is_replaced_when_the_other_thread_is_done() -> None:
    """The write waits for a long product of another thread, and does not fail."""
    python("""
import threading, time
x = pyburn.ones(1500, 1500)
began = threading.Event()
def compute():
    began.set()
    results.append((x @ x).max().item())
results = []
thread = threading.Thread(target=compute)
thread.start()
began.wait()
x.data = pyburn.zeros(3)
thread.join()
assert results == [1500.0] or results == [0.0], results
assert x.shape == (3,)
""")
