"""A headless Chromium that shows one page, driven over a pipe."""

import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --remote-debugging-pipe"
)


def browser() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A page of the browser. `errors` are its exceptions and what its console reports."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to = os.fdopen(to_browser, "wb", buffering=0)
        self._from = os.fdopen(from_browser, "rb")
        self._calls = 0
        self._session: str | None = None
        self.errors: list[Any] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the DevTools protocol."""
        self._calls += 1
        message: dict[str, Any] = {"id": self._calls, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._calls:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path: Path) -> None:
        """Show a file and wait until it is loaded."""
        self.call("Page.navigate", url=path.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def _next(self) -> dict[str, Any]:
        raw = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            assert byte, "the browser ended"
            raw += byte
        message = json.loads(raw)
        if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.errors.append(message)
        return message

    def close(self) -> None:
        self._to.close()
        self._from.close()


@contextmanager
def chromium(path: str, profile: Path) -> Generator[Page]:
    """Start a browser with an empty profile; end it afterwards."""
    for_browser, to_browser = os.pipe()
    from_browser, by_browser = os.pipe()
    command = [path, *OPTIONS.split(), f"--user-data-dir={profile}"]

    def connect() -> None:  # the protocol's pipes are descriptors 3 and 4
        os.dup2(for_browser, 3)
        os.dup2(by_browser, 4)

    process = subprocess.Popen(
        command, pass_fds=(3, 4), preexec_fn=connect, stderr=subprocess.DEVNULL
    )
    os.close(for_browser)
    os.close(by_browser)
    page = Page(to_browser, from_browser)
    try:
        yield page
    finally:
        page.close()
        process.terminate()
        process.wait()
