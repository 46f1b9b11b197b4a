"""A real Chromium without a window, spoken to over a pair of pipes; nothing but the standard library is needed."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

from programs import need
from waiting import PATIENCE_S, Deadline

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)


class Browser:
    """One page in a browser of its own."""

    def __init__(self, profile: Path, width: int = 1280, height: int = 800) -> None:
        chromium = next(filter(None, map(shutil.which, ("google-chrome", "chromium-browser"))), None) or need(
            "chromium"
        )
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        words = [chromium, *_FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}", "about:blank"]

        # Chromium reads commands from descriptor 3 and writes answers to 4. A shell puts the pipes there.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *words],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            **quiet,  # type: ignore[call-overload]
        )
        os.close(to_read)
        os.close(to_write)
        self._left = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = ""
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{part}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", **size)

    def open(self, path: Path) -> None:
        self._send("Page.navigate", url=path.resolve().as_uri())
        self.run("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        told = self._send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._send("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    def problems(self) -> list[str]:
        """What the page complained about, and every address it asked for that is no file of ours."""
        found = [
            str(event) for event in self.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return found + [url for url in asked if not url.startswith("file:")]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._in)
        os.close(self._out)

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if getattr(self, "_session", "") else {}
        message = {"id": self._number, "method": method, "params": params, **session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = Deadline(f"the browser answers {method}")
        while True:
            deadline.check()
            for told in self._read(deadline):
                if told.get("id") == self._number:
                    assert "error" not in told, told
                    result: dict[str, Any] = told["result"]
                    return result
                self.events.append(told)

    def _read(self, deadline: Deadline) -> list[dict[str, Any]]:
        ready, _, _ = select.select([self._in], [], [], deadline.left_s())
        if ready:
            self._left += os.read(self._in, 1 << 20)
        *whole, self._left = self._left.split(b"\0")
        return [json.loads(part) for part in whole if part]
