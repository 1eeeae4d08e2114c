# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over its debugging pipe: NUL-separated JSON on two descriptors, no library.

Collects what a page says on its console, every exception, and every request that leaves for anywhere.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S = 60


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="hearsay-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        words = [find(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
                 "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions",
                 "--disable-background-networking", "--hide-scrollbars", "--force-color-profile=srgb"]
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *words],
                                        stdin=subprocess.DEVNULL,
                                        pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session = 0, b"", None
        self.console, self.errors, self.requests = [], [], []

    def close(self):
        os.close(self.write_end)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read_message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append((params["type"], [arg.get("value") for arg in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_S
        while True:
            answer = self.read_message(until)
            if answer.get("id") != self.number:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def open(self, path, width=1100, height=900, dark=False, scripts=True):
        """Shows a file in a fresh page and waits until it has loaded."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.console, self.errors, self.requests = [], [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        until = time.monotonic() + ANSWER_S
        while self.evaluate("document.readyState + ' ' + location.protocol") != "complete file:":
            if time.monotonic() > until:
                raise TimeoutError("the page does not load")
            time.sleep(0.05)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key):
        """A key as a user presses it: "Tab", "ArrowRight", " ", ..."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
                 "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"text": {"Enter": "\r", " ": " "}[key]} if key in ("Enter", " ") else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key if key != " " else "Space",
                      windowsVirtualKeyCode=codes[key], **(text if kind == "keyDown" else {}))

    def screenshot(self, path, selector=None):
        clip = {}
        if selector:
            box = self.evaluate("(() => { const b = document.querySelector(" + json.dumps(selector) +
                                ").getBoundingClientRect();"
                                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()")
            clip = {"clip": dict(zip(("x", "y", "width", "height"), box), scale=1)}
        png = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(png))
