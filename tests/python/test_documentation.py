"""The Python of README.md and docs/ runs, and links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one program."""
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)


def test_the_page_on_cpp_shows_a_program_that_is_built() -> None:
    program = (ROOT / "examples" / "cpp" / "tour.cpp").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "docs" / "guides" / "cpp.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    for block in blocks:
        assert block in program


def test_links_lead_somewhere() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "check_links.py"], check=True)
