"""docs/limits.md says what the sources say: each number is compared with its constant, and no constant of a reader is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyburn.data.files import limits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "limits.md").read_text()
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.splitlines()
    if line.startswith("| ") and "| limit |" not in line
]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def stated(text: str) -> float:
    """The first number of a cell, with its unit."""
    if power := re.match(r"(?:below )?2\^(\d+)", text):
        return 2 ** int(power[1])
    found = re.match(r"([\d,]+)(?: (\w+))?", text)
    assert found, text
    return int(found[1].replace(",", "")) * UNITS.get(found[2] or "", 1)


def evaluated(expression: str) -> float:
    """An expression of C++ or Python that is made of numbers."""
    plain = re.sub(r"u?int64_t\((\d+)\)", r"\1", expression.replace("'", ""))
    assert re.fullmatch(r"[\d_\s*<.+()-]+", plain), expression
    return float(eval(plain))


def value_of(place: str) -> float:
    """What a source says about `file: name`, or `file: name < expression`."""
    if ": " not in place:
        return float(getattr(limits, place))
    file, name = place.split(": ", 1)
    text = (ROOT / file).read_text()
    if "<" in name:  # an expression of the source
        assert name in text, f"{file} does not say {name}"
        return evaluated(name.split("<", 1)[1])
    name = name.rpartition("::")[2]
    found = re.findall(rf"(?<![\w:]){re.escape(name)}(?:: \w+)? = ([^;,#\n{{]+?)\s*[;,#\n]", text)
    assert found, f"{file} has no {name}"
    return evaluated(found[-1].strip())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].replace("`", ""))
def test_a_row_says_what_the_source_says(row: tuple[str, str, str]) -> None:
    what, limit, places = row
    if places.startswith("Pillow"):
        image = pytest.importorskip("PIL.Image")
        assert stated(limit) == 2 * image.MAX_IMAGE_PIXELS or stated(limit) == round(2 * image.MAX_IMAGE_PIXELS)
        return
    names = re.findall(r"`([^`]+)`", places)
    assert names, what
    for name in names:
        assert stated(limit) == value_of(name), (what, name)


def test_no_limit_of_a_reader_is_missing() -> None:
    sources = [*ROOT.glob("src/pyburn/io/*"), *ROOT.glob("src/pyburn/ir/wire*"), ROOT / "src/pyburn/runtime/device_name.h"]
    own = {"kLongestCode", "kMostLines", "kLongest", "kMostDigits", "kLongestName"}  # of formats and messages, not of input
    for path in sources:
        for name in re.findall(r"constexpr [^;]*?\b(k(?:Most|Largest|Longest|Deepest)\w*) = ", path.read_text()):
            assert name in own or f"{path.relative_to(ROOT).as_posix()}: {name}`" in PAGE, f"{path.name}: {name}"
    for path in [
        *ROOT.glob("python/pyburn/data/files/*.py"),
        *ROOT.glob("python/pyburn/chemistry/*.py"),
        *ROOT.glob("python/pyburn/eeg/*.py"),
    ]:
        for name in re.findall(r"^(_?(?:MOST|LARGEST|LONGEST|DEEPEST)\w*) = ", path.read_text(), re.MULTILINE):
            assert f"{name}`" in PAGE, f"{path.name}: {name}"
    for name in vars(limits):
        assert not name.isupper() or f"`{name}`" in PAGE, name
