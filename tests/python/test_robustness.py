"""What must hold when a program is interrupted, forked, threaded, out of memory, or simply ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import pyburn


def run(code: str, *, timeout: float = 120, **options) -> subprocess.CompletedProcess:
    """Runs code in a Python of its own."""
    quiet = "-Wignore:This process:DeprecationWarning"  # Python 3.12 and later warn of every fork where there are threads
    command = [sys.executable, quiet, "-c", "import pyburn\n" + textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)


def run_silently(code: str, **options) -> str:
    """The same; it must return 0 and say nothing on stderr."""
    done = run(code, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- fork ----------------------------------------------------------------------------------------------------------------


def test_a_forked_child_runs_operations():
    output = run_silently(
        """
        import os
        pyburn.set_num_threads(2)
        big = pyburn.ones(1000, 1000)
        big = big @ big                                # the parent's threads exist
        child = os.fork()
        total = (big + big).sum().item() + (pyburn.ones(300, 300) @ pyburn.ones(300, 300)).sum().item()
        x = pyburn.ones(100_000, requires_grad=True)
        (x * x).sum().backward()
        ok = total == 2_000_000_000 + 27_000_000 and x.grad.sum().item() == 200_000
        if child == 0:
            os._exit(0 if ok else 1)
        print(ok, os.waitpid(child, 0)[1])
        """
    )
    assert output.split() == ["True", "0"]


def test_children_forked_while_other_threads_work():
    output = run_silently(
        """
        import os, threading
        pyburn.set_num_threads(2)
        stop = False
        def work():
            while not stop:
                pyburn.ones(100_000) + 1
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads: t.start()
        codes = []
        for _ in range(10):
            child = os.fork()
            if child == 0:
                os._exit(0 if (pyburn.ones(200_000) * 2).sum().item() == 400_000 else 1)
            codes.append(os.waitpid(child, 0)[1])
        stop = True
        for t in threads: t.join()
        print(codes)
        """
    )
    assert output.strip() == str([0] * 10)


# --- threads -------------------------------------------------------------------------------------------------------------


def in_threads(count: int, work) -> None:
    errors = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


def test_eight_threads_share_tensors():
    shared = pyburn.arange(100_000, dtype=pyburn.float32)
    expected = (shared * 2 + 1).sum().item()

    def work(_):
        for _ in range(20):
            assert (shared * 2 + 1).sum().item() == expected
            view = shared[100:200]
            assert view.sum().item() == sum(range(100, 200))

    in_threads(8, work)


def test_eight_threads_differentiate():
    weight = pyburn.ones(64, requires_grad=True)

    def work(i):
        x = pyburn.full((64,), float(i), requires_grad=True)
        for _ in range(50):
            x.grad = None
            (x * weight.detach() * x).sum().backward()
            assert x.grad.tolist() == [2.0 * i] * 64

    in_threads(8, work)


def test_modes_belong_to_a_thread():
    def work(i):
        x = pyburn.ones(3, requires_grad=True)
        if i % 2:
            with pyburn.no_grad():
                for _ in range(100):
                    assert not (x * 2).requires_grad
        else:
            for _ in range(100):
                assert (x * 2).requires_grad

    in_threads(8, work)


def test_results_do_not_depend_on_the_number_of_threads():
    x = pyburn.rand(300, 333, generator=pyburn.Generator().manual_seed(1))
    results = []
    try:
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            assert pyburn.get_num_threads() == threads
            results.append([t.tolist() for t in (x.exp(), x.sum(), x.sum(0), x.sum(1), x.T @ x, x.mean(), x.softmax(1))])
    finally:
        pyburn.set_num_threads(os.cpu_count() or 1)
    assert results[0] == results[1] == results[2]


def test_the_number_of_threads_is_checked():
    for bad in (0, -1):
        with pytest.raises(ValueError, match="set_num_threads"):
            pyburn.set_num_threads(bad)


def test_the_number_of_threads_comes_from_the_environment():
    def ask(value: str) -> subprocess.CompletedProcess[str]:
        program = "import pyburn; print(pyburn.get_num_threads())"
        return subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYBURN_NUM_THREADS": value}, capture_output=True, text=True, check=False
        )

    assert ask("3").stdout.strip() == "3"
    assert "PYBURN_NUM_THREADS" in ask("many").stderr
    assert "PYBURN_NUM_THREADS" in ask("0").stderr


@pytest.mark.parametrize(
    "text, limit",
    [
        *[(text, 1) for text in ("1", "1,2", " 1 , 4 ", "+1")],
        *[(text, None) for text in ("100000", "1,", "1,x", "one", "0", "-1", "1x", "", "9" * 30)],
    ],
)
def test_openmps_variable_limits_threads_and_malformed_text_does_not(text: str, limit: int | None) -> None:
    def ask(**more: str) -> int:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYBURN_NUM_THREADS", "OMP_NUM_THREADS")}
        program = "import pyburn; print(pyburn.get_num_threads())"
        done = subprocess.run([sys.executable, "-c", program], env={**environment, **more}, capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert ask(OMP_NUM_THREADS=text) == (ask() if limit is None else limit)
    assert ask(OMP_NUM_THREADS=text, PYBURN_NUM_THREADS="3") == 3


# --- Ctrl-C --------------------------------------------------------------------------------------------------------------

INTERRUPTED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have us ignore it
{setup}
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""

WORK = {
    "a loop of operations": ("x = pyburn.ones(10)", "while True:\n        x = x * 1.0"),
    "a loop of large operations": ("x = pyburn.ones(1000, 1000)", "while True:\n        y = x + x"),
    "one recorded loop": (
        "x = pyburn.ones(10, requires_grad=True)\ny = x",
        "while True:\n        y = y * 1.0 if y is not None else None",
    ),
    "a long backward": (
        "x = pyburn.ones(1000, requires_grad=True)\ny = x\nfor _ in range(400_000): y = y * 1.0\ny = y.sum()",
        "y.backward(); print('too late', flush=True)",
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_control_c_is_noticed(name):
    setup, work = WORK[name]
    code = "import pyburn\n" + INTERRUPTED.format(setup=setup, work=work)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    line = process.stdout.readline().split()
    process.communicate(timeout=120)
    assert line[:1] == ["interrupted"], line
    assert float(line[1]) - sent < 0.2


# --- the end of the interpreter ------------------------------------------------------------------------------------------


def test_the_interpreter_ends_silently_with_everything_alive():
    run_silently(
        """
        import threading, time
        x = pyburn.ones(1000, 100, requires_grad=True)
        y = (x * 2).exp()                              # a graph that never runs backward
        x.register_hook(lambda g: print(g))
        y.register_hook(lambda g: print(g))
        class Double(pyburn.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        z = Double.apply(y)
        cycle = [z]; cycle.append(cycle); x.note = cycle
        pyburn.kept = y
        def work():
            while True:
                (x + 1).sum()
        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        """
    )


def test_tensors_outlive_modules():
    run_silently(
        """
        import sys, atexit
        x = pyburn.ones(3)
        atexit.register(lambda: x + x)
        sys.kept = [x, x.exp()]
        del sys.modules["pyburn"], pyburn
        """
    )


# --- memory --------------------------------------------------------------------------------------------------------------


def resident_kilobytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_a_million_nodes():
    output = run_silently(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))   # a recursion would not survive this
        x = pyburn.ones(1, requires_grad=True)
        y = x
        for _ in range(1_000_000):
            y = y + 0.0
        y.backward()
        print(x.grad.item())
        z = x
        for _ in range(1_000_000):
            z = z * 1.0
        del z                                          # freed without ever running
        print("freed")
        """,
        timeout=300,
    )
    assert output.split() == ["1.0", "freed"]


def test_a_forward_loop_without_backward_does_not_grow():
    weight = pyburn.ones(64, 64, requires_grad=True)
    x = pyburn.ones(16, 64)

    def steps(count):
        for _ in range(count):
            loss = (x @ weight).exp().sum()
            loss.item()

    steps(200)
    before = resident_kilobytes()
    steps(3000)
    assert resident_kilobytes() - before < 4096


def test_a_training_loop_does_not_grow():
    weight = pyburn.ones(64, 64, requires_grad=True)

    def steps(count):
        for _ in range(count):
            loss = (weight * weight).sum()
            loss.backward()
            with pyburn.no_grad():
                weight.sub_(weight.grad * 1e-3)
            weight.grad = None

    steps(200)
    before = resident_kilobytes()
    steps(2000)
    assert resident_kilobytes() - before < 4096


def test_too_much_memory_is_an_error():
    for shape in ((1 << 45,), (1 << 20, 1 << 20, 1 << 10), (1 << 59,)):
        with pytest.raises(MemoryError, match="bytes"):
            pyburn.ones(*shape)
    with pytest.raises(ValueError, match="too many elements"):
        pyburn.ones(1 << 40, 1 << 40)
    assert pyburn.ones(3).sum().item() == 3  # and life goes on


def test_an_expanded_tensor_takes_no_memory_until_it_is_copied():
    x = pyburn.ones(1).expand(1 << 45)
    assert x.shape == (1 << 45,)
    with pytest.raises(MemoryError):
        x + 1


def test_a_session_takes_tensors():
    session = pyburn.inference.compile(pyburn.nn.Linear(2, 2), pyburn.ones(1, 2))
    for wrong in (None, 3, [1.0, 2.0], object()):
        with pytest.raises(TypeError, match=r"\[inference\] expected a Tensor: got"):
            session.run(wrong)


def test_huge_stretched_tensors_print_at_once():
    assert repr(pyburn.ones(1).expand(2**40)) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"
    assert repr(pyburn.ones(1, 1).expand(2**30, 2)).count("[1., 1.]") == 6


def test_texts_of_what_holds_huge_stretched_tensors():
    huge = pyburn.ones(1).expand(2**40)
    text = repr(huge)
    assert str(huge) == f"{huge}" == text
    assert repr([huge]) == f"[{text}]" and repr({"x": huge}) == f"{{'x': {text}}}"
    module = pyburn.nn.Module()
    module.register_buffer("huge", huge)
    assert repr(module) == "Module()" and text in str(dict(module.state_dict()))
    parameters = pyburn.nn.ParameterList([pyburn.nn.Parameter(huge)])
    assert "1099511627776" in repr(parameters)


@pytest.mark.parametrize("p", [2.0, 1.0])
def test_cdist_of_large_inputs_takes_memory_for_its_result(p):
    """Not for the differences of all pairs of rows, which are 64 times as many: 1000 x 1000 x 64 float32 are 244 MB."""
    program = (
        "import pyburn; x, y = pyburn.rand(1000, 64, requires_grad=True), pyburn.rand(1000, 64, requires_grad=True); "
        f"pyburn.cdist(x, y, {p}).sum().backward(); print(pyburn.device('cpu').memory()['peak'])"
    )
    peak = int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    assert peak < 130e6
    x, y = pyburn.rand(1000, 64, requires_grad=True), pyburn.rand(1000, 64, requires_grad=True)
    distances = pyburn.cdist(x, y, p)
    assert pyburn.allclose(distances[::100, ::100], pyburn.cdist(x[::100], y[::100], p))
    distances.sum().backward()
    whole, x.grad = x.grad, None
    pyburn.cdist(x[500:501], y, p).sum().backward()
    assert pyburn.allclose(whole[500], x.grad[500], rtol=1e-4)
