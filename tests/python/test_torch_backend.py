"""PyTorch as a backend. What needs torch runs where it can be imported (`make test-torch`); `make test` tests the rest."""

from __future__ import annotations

import ast
import gc
import io
import subprocess
import sys
import textwrap
import threading
import tokenize
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import p_vision
import pyburn
from pyburn import backend

FILES = Path(backend.__file__).parent / "torch_backend"
HAS_TORCH = find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed: make test-torch runs this in the peers' environment")


def test_it_is_under_600_lines_of_code():
    assert 0 < sum(lines_of_code(path) for path in FILES.glob("*.py")) < 600


def lines_of_code(path: Path) -> int:
    """Without blank lines, comments and docstrings."""
    source = path.read_text()
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in layout]
    lines = {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def test_the_reference_backend_is_under_1000_lines_of_code():
    assert 0 < sum(lines_of_code(path) for path in FILES.with_name("numpy_backend").glob("*.py")) < 1000


def test_it_is_registered_under_its_names():
    row = next(row for row in pyburn.backends() if row.name == "torch")
    assert row.aliases == ("pytorch",) and not row.decorator and row.available == HAS_TORCH
    assert p_vision.backend.PYTORCH is pyburn.BackendKind("PyTorch") is pyburn.BackendKind("torch")
    assert p_vision.backend.PYTORCH.available is HAS_TORCH


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed")
@pytest.mark.parametrize("name", ["torch", "PyTorch", "torch:cuda:0", "fusion(torch)", pyburn.BackendKind.PYTORCH])
def test_without_torch_the_error_says_what_to_install(name):
    with pytest.raises(pyburn.DeviceError, match="torch is not available here: the package torch is not installed: pip install torch"):
        pyburn.device(name)


def test_import_pyburn_never_imports_torch():
    program = "import sys, pyburn, p_vision; pyburn.backends(); pyburn.ones(2, device='numpy').exp(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_compat_module_is_not_mistaken_for_torch():
    program = """
        import pyburn, pyburn.compat
        pyburn.compat.install()
        import torch
        assert torch.ones(2).sum() == 2
        try:
            pyburn.device("torch")
        except pyburn.DeviceError as error:
            assert "pyburn.compat replaces the package torch" in str(error), error
        else:
            raise SystemExit("made a device of itself")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


# --- with torch ---


@needs_torch
def test_devices_are_those_of_pytorch():
    place = pyburn.device("torch")
    assert place == pyburn.device("torch:cpu") == pyburn.device("PyTorch") == pyburn.device(p_vision.backend.PYTORCH)
    assert pyburn.device(str(place)) == place and place.type == "torch"
    assert pyburn.ones(2, device="torch:cpu").device == place
    for wrong, words in (("torch:nonsense", "Expected one of cpu, cuda"), ("torch:meta", "holds no data"), ("torch:1", "Invalid device")):
        with pytest.raises(pyburn.DeviceError, match=words):
            pyburn.device(wrong)
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(pyburn.DeviceError, match=r"\[device\] torch:cuda:0 is not available here: "):
            pyburn.device("torch:cuda:0")


@needs_torch
def test_memory_is_shared_both_ways():
    import torch

    x = pyburn.zeros(2, 3, device="torch")
    theirs, array = torch.from_dlpack(x), x.numpy()
    x[1, 2] = 5
    theirs[0] += 1
    assert array.tolist() == theirs.tolist() == x.tolist() == [[1, 1, 1], [0, 0, 5]]

    given = torch.arange(6.0).reshape(2, 3).T
    y = pyburn.from_dlpack(given, device="torch")
    assert y.stride() == (1, 3) and torch.from_dlpack(y).data_ptr() == given.data_ptr()
    y.mul_(10)
    assert given.tolist() == y.tolist() == [[0, 30], [10, 40], [20, 50]]
    assert (y + 1).sum().item() == 156
    on_cpu = pyburn.from_dlpack(given)
    assert on_cpu.device == "cpu" and on_cpu.data_ptr() == given.data_ptr()
    half = pyburn.from_dlpack(torch.ones(3, dtype=torch.bfloat16), device="torch")
    assert half.dtype is pyburn.bfloat16 and half.tolist() == [1, 1, 1]
    with pytest.raises(pyburn.DTypeError, match="dtype"):
        pyburn.from_dlpack(torch.ones(3, dtype=torch.complex64), device="torch")
    del theirs, given, x
    gc.collect()
    assert array[1, 2] == 5 and y[1, 1].item() == 40


@needs_torch
def test_results_are_kept_without_a_copy():
    import torch

    x = pyburn.ones(1000, device="torch")
    y = x + x
    inner = pyburn._core._library_array(y)
    assert isinstance(inner, torch.Tensor) and inner.shape == (1000,) and inner.data_ptr() == y.numpy().ctypes.data


@needs_torch
def test_no_result_shares_memory_with_an_input():
    """A kernel that returned its input, or a view of it, would make two tensors out of one."""
    from pyburn.testing.conformance.calls import Call, all_samples, download, results_of

    for sample in all_samples():
        if sample.error or pyburn.testing.conformance.calls.TABLE[sample.op]["kind"] in ("view", "composite"):
            continue
        call = Call(sample, "torch", gradient=False)
        results = [r for r in results_of(call()) if r.numel()]
        pointers = {pyburn._core._library_array(t).untyped_storage().data_ptr() for _, t in call.made if t.numel()}
        for r in results:
            shared = pyburn._core._library_array(r).untyped_storage().data_ptr() in pointers
            assert not shared or sample.op in ("reshape",), f"{sample.op}({sample.line})"
        [download(r) for r in results]


@needs_torch
def test_memory_figures():
    place = pyburn.device("torch")
    gc.collect()
    before = place.memory()["in_use"]
    x = pyburn.zeros(1000, device="torch")
    assert place.memory()["in_use"] == before + 4000
    del x
    gc.collect()
    assert place.memory()["in_use"] == before


@needs_torch
def test_the_state_of_torch_stays_as_it_is():
    program = """
        import torch
        def state():
            return (torch.get_num_threads(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(),
                    torch.get_default_device(), torch.initial_seed(), torch.are_deterministic_algorithms_enabled(),
                    torch.random.get_rng_state().tolist())
        before = state()
        import pyburn
        nn = pyburn.nn
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.AvgPool2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(18, 2))
        model.backend = "torch"
        loss = model(pyburn.rand(2, 1, 8, 8, device="torch")).square().mean()
        loss.backward()
        pyburn.optim.Adam(model.parameters()).step()
        assert state() == before
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


@needs_torch
def test_it_works_in_every_mode_of_torch():
    import torch

    with torch.inference_mode():
        x = pyburn.ones(2, 3, device="torch")
        y = x.exp()
    y += 1  # an inference tensor of torch, written outside of inference mode
    x[0] = 2
    with torch.no_grad():
        z = pyburn.rand(4, device="torch", requires_grad=True)
        (z * z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * z.detach().numpy())
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert pyburn.nn.functional.avg_pool1d(pyburn.ones(1, 1, 4, device="torch"), 2).dtype is pyburn.float32
        assert pyburn.arange(0, 1, 0.25, device="torch").dtype is pyburn.float32
    finally:
        torch.set_default_dtype(default)


@needs_torch
def test_errors_are_those_of_pyburn():
    x = pyburn.ones(2, 3, device="torch")
    with pytest.raises(IndexError, match=r"^\[index_select\] index out of range in self"):
        x.index_select(0, pyburn.tensor([5], device="torch"))
    with pytest.raises(ValueError, match=r"\[_?linalg_solve\] .*singular"):
        pyburn.linalg.solve(pyburn.zeros(2, 2, device="torch"), pyburn.ones(2, device="torch"))
    with pytest.raises(ValueError, match=r"\[floor_divide\] integer division by zero"):
        pyburn.tensor([1], device="torch") // 0


@needs_torch
def test_training_is_that_of_the_cpu():
    def train(device):
        pyburn.manual_seed(3)
        nn = pyburn.nn
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(36, 5)
        )
        model = model.to(device)
        optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.01)
        x, y = pyburn.randn(6, 1, 8, 8).to(device), pyburn.arange(6).remainder(5).to(device)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    np.testing.assert_allclose(train("torch"), train("cpu"), rtol=1e-4)


@needs_torch
def test_models_move_and_are_saved(tmp_path):
    model = pyburn.nn.Linear(3, 2)
    before = model.weight.tolist()
    model.backend = p_vision.backend.PYTORCH
    assert model.weight.device == "torch" and model.weight.tolist() == before
    pyburn.save(model.state_dict(), tmp_path / "weights.pt")
    import torch

    assert torch.load(tmp_path / "weights.pt")["weight"].tolist() == before


@needs_torch
def test_threads():
    x = pyburn.arange(1000, dtype=pyburn.float32, device="torch")
    wrong = []

    def work():
        for _ in range(50):
            if (x + x).sum().item() != 999000:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_torch
def test_the_conformance_kit():
    from pyburn.testing import conformance

    assert conformance.run("torch", ops=["exp", "matmul", "sort", "nonzero"], kinds=["value", "gradient"], complete=True, quiet=True).passed
    assert conformance.run("torch", kinds="basics", complete=True, quiet=True).passed == 5
