"""PYBURN_MEMORY_LIMIT bounds what all tensors of a process take together."""

import os
import subprocess
import sys

import pytest


def run(limit: str, program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYBURN_MEMORY_LIMIT": limit}, capture_output=True, text=True, timeout=60
    )


def test_tensors_together_stay_below_the_limit():
    done = run(
        "100M",
        """
import pyburn
first = pyburn.zeros(60 << 20, dtype=pyburn.uint8)
try:
    pyburn.zeros(60 << 20, dtype=pyburn.uint8)
except pyburn.OutOfMemoryError as error:
    print(error)
del first
print(pyburn.zeros(60 << 20, dtype=pyburn.uint8)[0].item())  # what is freed can be used again
""",
    )
    assert done.returncode == 0, done.stderr
    message, total = done.stdout.splitlines()
    assert "memory limit of 104857600 bytes exceeded: got a request for 62914560 bytes" in message
    assert total == "0"


@pytest.mark.parametrize("limit", ["much", "-5", "4Gb", "1e300", "nan"])
def test_an_unreadable_limit_is_an_error(limit):
    done = run(limit, "import pyburn; pyburn.zeros(100000)")
    assert f"expected a number of bytes such as 500M or 4G: got {limit}" in done.stderr and "ArgumentError" in done.stderr
