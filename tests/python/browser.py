"""A headless Chromium for tests, spoken to in the WebDriver protocol; nothing but chromedriver and Python's own library."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
MISSING = "chromium and chromedriver are not installed (Debian: chromium, chromium-driver)"
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars")  # fmt: skip


class Browser:
    def __init__(self, folder: Path, width: int = 1280, height: int = 860) -> None:
        assert CHROMIUM and CHROMEDRIVER, MISSING
        self._driver = subprocess.Popen([CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._driver.stdout is not None
        line = next(line for line in self._driver.stdout if "successfully on port" in line)
        self._address = f"http://127.0.0.1:{line.rstrip().rstrip('.').split()[-1]}"
        flags = [*_FLAGS, f"--user-data-dir={folder / 'browser'}", f"--window-size={width},{height}"]
        options = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self._session = ""
        found = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self._session = f"/session/{found['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._address + self._session + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"]) from None

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": arguments})

    def command(self, name: str, parameters: dict[str, Any]) -> Any:
        """A command of Chromium's own protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def wait(self, condition: str, seconds: float = 20) -> Any:
        """Until an expression is true; gives its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(f"return {condition}")
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for {condition}\n{self.messages()}")

    def drag(self, selector: str, start: float, end: float) -> None:
        """The mouse over an element, from one share of its width to another."""
        box = self.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", selector
        )
        y = box[1] + box[3] / 2
        for kind, x in (("mousePressed", start), ("mouseMoved", (start + end) / 2), ("mouseMoved", end), ("mouseReleased", end)):
            parameters = {"type": kind, "x": box[0] + x * box[2], "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            self.command("Input.dispatchMouseEvent", parameters)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        parameters = {"width": width, "height": height, "deviceScaleFactor": 2 if mobile else 1, "mobile": mobile}
        self.command("Emulation.setDeviceMetricsOverride", parameters)

    def messages(self) -> list[str]:
        """What the page wrote to its console."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def close(self) -> None:
        try:
            if self._session:
                self._ask("DELETE", "")
        except (RuntimeError, URLError, OSError):
            pass
        self._driver.terminate()
        self._driver.wait(10)
        if self._driver.stdout:
            self._driver.stdout.close()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
