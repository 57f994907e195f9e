"""The examples in Python run and do what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*arguments: object, cwd: Path) -> str:
    return subprocess.run([sys.executable, *map(str, arguments)], check=True, cwd=cwd, stdout=subprocess.PIPE, text=True).stdout


def test_demo(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    output = run(EXAMPLES / "demo" / "demo.py", "--data", "digits", "--display", "quiet", "--output", tmp_path / "out", cwd=tmp_path)
    accuracy = re.search(r"not seen: ([\d.]+)%", output)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97
    assert "saved and reloaded, same predictions" in output
    assert (tmp_path / "out" / "predictions.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "curves.svg").read_text()
    assert (tmp_path / "out" / "run" / "report.html").exists()


# Prints, for each command of the READMEs, the help of what it runs: in one process, since most of the time would go to its start.
HELP = """
import contextlib, io, json, runpy, sys
from pathlib import Path
found = []
for script, *words in json.loads(sys.argv[1]):
    sys.argv, text, before = [script, *words, "--help"], io.StringIO(), set(sys.modules)
    sys.path.insert(0, str(Path(script).parent))
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        found.append([end.code, text.getvalue()])
    del sys.path[0]
    for name in {"network", "overlays", "pictures"} & set(sys.modules) - before:
        del sys.modules[name]
print(json.dumps(found))
"""


def test_commands_of_the_readmes_exist() -> None:
    commands = []
    for readme in sorted(EXAMPLES.glob("*/README.md")):
        lines = re.findall(r"^    python (examples/\S+\.py)([^#\n]*)", readme.read_text(encoding="utf-8"), re.MULTILINE)
        commands += [(script, rest.split()) for script, rest in lines]
    assert len(commands) > 25
    asked = [[str(EXAMPLES.parent / script), *[word for word in words[:1] if word.isalpha()]] for script, words in commands]
    done = subprocess.run([sys.executable, "-c", HELP, json.dumps(asked)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for (script, words), (code, text) in zip(commands, json.loads(done.stdout), strict=True):
        assert code == 0, f"{script}: {text}"
        assert all(word in text for word in words if word.startswith("--")), f"{script} {words}"
