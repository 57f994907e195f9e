"""The command pyburn."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn.cli import main
from pyburn.train import CheckpointError, read_run

MODULE = """
import pyburn
from pyburn import nn

class Net(nn.Module):
    def __init__(self, hidden=8, classes=3):
        super().__init__()
        self.first, self.second = nn.Linear(6, hidden), nn.Linear(hidden, classes)
    def forward(self, x):
        return self.second(self.first(x).relu())

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)
    def forward(self, x):
        return self.words(x).mean(1)

def broken(count):
    return "a" + count

class Batches(list):
    def __init__(self, count, delay=0.0):
        generator = pyburn.Generator().manual_seed(3)
        x = pyburn.randn(count * 4, 6, generator=generator)
        super().__init__((x[i:i + 4], (x[i:i + 4, 0] > 0).long()) for i in range(0, count * 4, 4))
        self.delay = delay
    def __iter__(self):
        import time
        for batch in super().__iter__():
            time.sleep(self.delay)
            yield batch
"""
CONFIG = """
name = "try"
seed = 7
metrics = ["accuracy", {type = "f1", average = "macro"}]
loss = "CrossEntropyLoss"

[model]
object = "cli_case:Net"
arguments = {hidden = 16}

[data]
train = {object = "cli_case:Batches", arguments = {count = 12}}
valid = {object = "cli_case:Batches", arguments = {count = 3}}
test = {object = "cli_case:Batches", positional = [2]}

[optimizer]
object = "AdamW"
arguments = {lr = 0.01}

[schedule]
object = "OneCycleLR"
arguments = {max_lr = 0.02, total_steps = 60}

[train]
epochs = 2
clip_norm = 1.0
log_every = 1
checkpoints = {last = 2, best = "valid/accuracy"}
early_stopping = {metric = "valid/loss", patience = 5}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cli_case.py").write_text(MODULE)
    (tmp_path / "try.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("cli_case", None)
    return tmp_path


needs_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML needs Python 3.11")


@needs_toml
def test_train_and_resume(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "try.toml", "--run", "runs/a", "--display", "lines"]) == 0
    printed = capsys.readouterr()
    assert "epoch 2/2  train: loss" in printed.err
    assert "test: loss" in printed.out
    record = read_run("runs/a")
    assert record.state == "finished"
    assert record.config["model"]["arguments"] == {"hidden": 16}
    assert record.status["step"] == 24
    assert ("epoch", "valid", "f1") in record.names()
    assert record.status["resume_with"] == "pyburn train try.toml --resume runs/a"
    assert main(["train", "try.toml", "--run", "runs/a"]) == 1
    assert "continue it with --resume runs/a" in capsys.readouterr().err
    assert main(["train", "try.toml", "--resume", "runs/a", "--epochs", "3", "--display", "quiet"]) == 0
    whole = ["train", "try.toml", "--run", "runs/b", "--epochs", "3", "--display", "quiet"]
    assert main(whole) == 0
    a, b = (pyburn.load(f"runs/{name}/checkpoints/step-00000036.pt")["model"] for name in "ab")
    for key in a:
        np.testing.assert_array_equal(a[key].numpy(), b[key].numpy())


@needs_toml
def test_train_options(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "try.toml", "--check", "--set", "model.arguments.hidden=4"]) == 0
    assert "OK: Net with 43 parameters" in capsys.readouterr().out
    config = {
        "model": {"object": "nn.Sequential", "positional": [{"object": "Linear", "positional": [6, 3]}]},
        "data": {"train": {"object": "cli_case:Batches", "arguments": {"count": 2}}},
        "optimizer": {"object": "pyburn.optim.SGD", "arguments": {"lr": 0.1}},
        "loss": "CrossEntropyLoss",
    }
    config["model"]["object"] = "Sequential"
    Path("try.json").write_text(json.dumps(config))
    assert main(["train", "try.json", "--display", "quiet"]) == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("run-")


@needs_toml
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('[model]\nobject = "cli_case:Nett"', "cli_case has no 'Nett'"),
        ('[model]\nobject = "no_such_module:Net"', "No module named 'no_such_module'"),
        ('[model]\nobject = "cli_case:Net"\narguments = {hiden = 3}', "does not take these arguments"),
        ('[optimizer]\nobject = "Adamm"', "there is no 'Adamm' in pyburn.optim"),
        ("[train]\nepoch = 3", "[train] has no key 'epoch'; did you mean 'epochs'?"),
        ("seeds = 3", "the configuration has no key 'seeds'; did you mean 'seed'?"),
        ('metrics = ["acuracy"]', "unknown metric 'acuracy': did you mean 'accuracy'?"),
        ('device = "cuda"', "device 'cuda'"),
        ("[train]\nprecision = 'float8'", "precision must be"),
        ("[train]\nepochs = 'ten'", "epochs must be a positive integer: got 'ten'"),
        ("[train]\nclip_norm = 0", "clip_norm must be a positive number: got 0"),
        ("[train]\nlog_every = 1.5", "log_every must be a positive integer: got 1.5"),
        ("[train]\nearly_stopping = {patience = 'long'}", "[train.early_stopping]: [EarlyStopping] patience must be a positive number"),
        ("[train]\ncheckpoints = {last = 'x'}", "[train.checkpoints] last: [Last] count must be a positive number: got 'x'"),
        ("[train]\ncheckpoints = {best = 3}", "[train.checkpoints] best: [Best] metric must be a name"),
        ("[train]\ncheckpoints = {every_steps = 0}", "[train.checkpoints] every_steps: [Every] give one of"),
        ('[model]\nobject = "cli_case:nn"', "[model] must be a pyburn.nn.Module: got module"),
        ("[model]\nobject = 3", "[model]: object must be text: got 3"),
        ('[model]\nobject = "cli_case:Net"\narguments = [3]', "[model]: arguments must be a table"),
        ('[model]\nobject = "Linear"\narguments = {in_features = -1, out_features = 2}', "does not take these arguments"),
        ('step = "cli_case:__name__"', "step must be a function"),
        ('[data]\ntrain = {object = "pyburn.data.files:CSVDataset", positional = ["nowhere.csv"]}', "No such file"),
    ],
)
def test_errors_about_invalid_configurations(project: Path, capsys: pytest.CaptureFixture[str], change: str, message: str) -> None:
    import tomllib

    config: dict[str, Any] = {**tomllib.loads(CONFIG), **tomllib.loads(change)}
    Path("wrong.json").write_text(json.dumps(config))
    assert main(["train", "wrong.json"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("pyburn train: ")


@needs_toml
def test_mistakes_in_code_of_the_user_keep_their_traceback(project: Path) -> None:
    with pytest.raises(TypeError, match="can only concatenate str"):
        main(["train", "try.toml", "--set", "data.train.object=cli_case:broken"])
    with pytest.raises(TypeError, match="can only concatenate str"):
        main(["summary", "cli_case:broken", "--argument", "count=3"])


@needs_toml
def test_errors_about_run_folders(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "try.toml", "--run", "a", "--resume", "b"]) == 1
    assert "give only one of them" in capsys.readouterr().err
    Path("runs").write_text("a file, no folder")
    assert main(["train", "try.toml"]) == 1
    assert "cannot create a run folder" in capsys.readouterr().err


def test_errors_about_invalid_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.json").write_text("{")
    Path("list.json").write_text("[]")
    Path("bad.yaml").write_text("")
    for name, message in (
        ("missing.json", "cannot be read: No such file"),
        ("bad.json", "is no valid JSON"),
        ("list.json", "must hold a table"),
        ("bad.yaml", "a .toml or .json file"),
    ):
        assert main(["train", name]) == 1
        assert message in capsys.readouterr().err


@needs_toml
def test_weights_of_a_full_disk_are_saved_elsewhere(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise CheckpointError("no space is left.")

    monkeypatch.setattr("pyburn.train.checkpoints.CheckpointFolder.save", full)
    assert main(["train", "try.toml", "--run", "runs/full", "--display", "quiet"]) == 1
    path = re.search(r"The weights are in (\S+)\.$", capsys.readouterr().err.strip())
    assert path is not None and Path(path[1]).parent == project.resolve()
    assert len(pyburn.load(path[1])) == 4


@needs_toml
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_with_their_code(project: Path, number: signal.Signals, code: int) -> None:
    options = ["--run", "runs/c", "--epochs", "1000", "--set", "data.train.arguments.delay=0.02", "--display", "lines"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pyburn", "train", "try.toml", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(3000):
        if Path("runs/c/checkpoints/index.json").exists() or process.poll() is not None:
            break
        time.sleep(0.02)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert "test: " not in output
    # What was said on the command line in place of the configuration is part of how to go on.
    assert f"Everything is saved: pyburn train try.toml --resume runs/c {' '.join(options[2:6])}" in errors


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert pyburn.__version__ in text and "ndarray" in text and "pip install textual" in text or "installed" in text
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["backends"]["ndarray"] == "available" and found["simd"] in text


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "pyburn train mnist.toml" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pyburn {pyburn.__version__}\n"
    with pytest.raises(SystemExit) as caught:
        main(["trian"])
    assert caught.value.code == 2 and "did you mean 'train'?" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["quux"])
    assert "invalid choice" in capsys.readouterr().err
    for command in ("info", "train", "dashboard", "summary", "convert", "bench", "completion"):
        with pytest.raises(SystemExit) as caught:
            main([command, "--help"])
        assert caught.value.code == 0
        assert f"usage: pyburn {command}" in capsys.readouterr().out


def test_summary(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "cli_case:Net", "--argument", "hidden=5", "--input", "6", "--batch", "2"]) == 0
    text = capsys.readouterr().out
    assert "[2, 5]" in text and "53" in text
    assert main(["summary", "cli_case:Net"]) == 0
    assert "(first): Linear" in capsys.readouterr().out
    pyburn.save({"a.weight": pyburn.ones(2, 3)}, "w.pt")
    assert main(["summary", "w.pt"]) == 0
    assert "a.weight  float32  (2, 3)" in capsys.readouterr().out
    for wrong, message in (
        ("nothing", "no such file or folder: 'nothing'"),
        ("nothing.pyburn", "no such file or folder: 'nothing.pyburn'"),
        ("cli_case:Batches", "does not take these arguments"),
        ("cli_case:nn", "is not a model"),
    ):
        assert main(["summary", wrong]) == 1
        assert message in capsys.readouterr().err
    assert main(["summary", "cli_case:Net", "--input", "7"]) == 1
    assert "does not accept this input (see --input and --dtype)" in capsys.readouterr().err
    assert main(["summary", "cli_case:Words", "--input", "7"]) == 1
    assert "--dtype" in capsys.readouterr().err
    assert main(["summary", "cli_case:Words", "--input", "7", "--dtype", "int64"]) == 0
    assert "[1, 7, 4]" in capsys.readouterr().out
    assert main(["summary", "cli_case:Net", "--input", "6", "--batch", "-1"]) == 1
    assert "--batch must be positive" in capsys.readouterr().err
    Path("bad.pt").write_bytes(b"nonsense")
    assert main(["summary", "bad.pt"]) == 1
    with pyburn.train.Run("runs/x") as run:
        run.log({"loss": 1.0}, step=3)
    capsys.readouterr()
    assert main(["summary", "runs"]) == 0
    assert "finished" in capsys.readouterr().out


def test_convert(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyburn.save({"net.a": pyburn.arange(3.0), "net.b": pyburn.arange(4), "other": pyburn.ones(1)}, "a.pt")
    chain = ["a.pt", "b.safetensors", "c.npz", "d.pyburn", "e.pt"]
    for source, target in zip(chain[:-1], chain[1:]):
        assert main(["convert", source, target]) == 0
    found = pyburn.load("e.pt")
    assert found["net.a"].tolist() == [0, 1, 2] and found["net.b"].dtype == pyburn.int64
    assert main(["convert", "a.pt", "f.safetensors", "--rename", r"^net\.=", "--exclude", "other", "--dtype", "bfloat16"]) == 0
    tensors = pyburn.io.safetensors.load_file("f.safetensors")
    assert set(tensors) == {"a", "b"} and tensors["a"].dtype == pyburn.bfloat16 and tensors["b"].dtype == pyburn.int64
    capsys.readouterr()
    for arguments, message in (
        (["a.pt", "f.safetensors"], "use --force to overwrite it"),
        (["a.pt", "x.txt"], "unknown output format"),
        (["missing.pt", "x.pt"], "missing.pt"),
        (["a.pt", "x.pt", "--include", "zzz"], "--include and --exclude select none of the"),
        (["a.pt", "x.pt", "--rename", "net..=same"], "two tensors would have the name 'same'"),
        (["a.pt", "x.pt", "--rename", "(=x"], "is not a regular expression"),
        (["a.pt", "x.pt", "--rename", r"net=\2"], r"--rename: '\\2' is not a valid replacement for 'net'"),
        (["a.pt", "nowhere/x.pt"], "nowhere"),
        (["a.pt", "x.pt", "--key", "model"], "model"),
    ):
        assert main(["convert", *arguments]) == 1, arguments
        assert message in capsys.readouterr().err


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    threads = pyburn.get_num_threads()
    try:
        assert main(["bench", "--seconds", "0.001", "--json", "--threads", "1"]) == 0
    finally:
        pyburn.set_num_threads(threads)
    found = json.loads(capsys.readouterr().out)
    assert found["threads"] == 1
    assert all(row["microseconds"] > 0 for row in found["measurements"])
    assert main(["bench", "--seconds", "0"]) == 1
    assert main(["bench", "--device", "nonsense"]) == 1


def test_dashboard_says_what_is_missing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "nowhere"]) == 1
    assert "no such folder: 'nowhere'" in capsys.readouterr().err
    for options, message in (
        (["--port", "65536"], "--port must be between 0 (any free port) and 65535: got 65536"),
        (["--host", "300.0.0.1"], "cannot listen on --host 300.0.0.1"),
        (["--host", "x" * 70], "cannot listen on"),
    ):
        assert main(["dashboard", ".", "--no-browser", *options]) == 1
        assert message in capsys.readouterr().err


def test_the_dashboard_has_one_port() -> None:
    from pyburn.cli.main import make_parser
    from pyburn.dashboard import PORT

    assert make_parser().parse_args(["dashboard"]).port == PORT


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("summary", "resume" if shell == "fish" else "--resume", "quiet", "bfloat16"):
        assert word in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [(["pyburn", "tr"], "train"), (["pyburn", "train", "--res"], "--resume"), (["pyburn", "train", "--display", "q"], "quiet")],
)
def test_completion_in_bash(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out
    listed = " ".join(f"'{word}'" for word in words)
    program = f'{script}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _pyburn; echo "${{COMPREPLY[@]}}"'
    found = subprocess.run(["bash", "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert expected in found


def test_a_reader_that_has_seen_enough() -> None:
    environment = {**os.environ}
    process = subprocess.run(
        f"{sys.executable} -m pyburn completion zsh | head -1", shell=True, check=True, capture_output=True, text=True, env=environment
    )
    assert process.stdout == "#compdef pyburn\n"
    assert "Traceback" not in process.stderr


def test_info_names_extras_of_the_package() -> None:
    from importlib.metadata import metadata

    from pyburn.cli.info_command import _PARTS

    assert set(_PARTS) <= set(metadata("pyburn").get_all("Provides-Extra") or [])
