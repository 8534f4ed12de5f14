"""A headless Chromium, asked in its own protocol (Chrome DevTools) through a pipe: no port, no driver, no further library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
           "--disable-background-networking", "--disable-dev-shm-usage"]


class Browser:
    def __init__(self, profile: Path) -> None:
        command_end, self.commands = os.pipe()
        self.answers, answer_end = os.pipe()
        # It reads commands from descriptor 3 and writes what happens to 4.
        redirected = f'exec "$@" 3<&{command_end} 4>&{answer_end}'
        self.process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", PROGRAM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(command_end, answer_end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_end)
        os.close(answer_end)
        self.buffer = b""
        self.asked = 0
        self.events: list[dict[str, Any]] = []
        self.session = ""

    def close(self) -> None:
        self.ask("Browser.close", of_page=False)
        self.process.wait(30)
        os.close(self.commands)
        os.close(self.answers)

    def ask(self, method: str, of_page: bool = True, **parameters: Any) -> dict[str, Any]:
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": parameters} | ({"sessionId": self.session} if of_page else {})
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message()
            if answer.get("id") == self.asked:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def next_message(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def wait_for(self, method: str) -> None:
        while all(event["method"] != method for event in self.events):
            self.events.append(self.next_message())

    def open(self, url: str, width: int, height: int = 900, dark: bool = False) -> None:
        """A new page of this width, loaded; `events` are then what happened meanwhile."""
        target = self.ask("Target.createTarget", of_page=False, url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", of_page=False, targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        self.events = []
        self.ask("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def happened(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event["method"] == method]

    def screenshot(self, file: Path, top: int = 0, height: int = 2000) -> None:
        width = self.evaluate("document.documentElement.clientWidth")
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        image = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        file.write_bytes(base64.b64decode(image))
