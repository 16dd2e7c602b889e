"""A real browser for tests: headless Chromium, driven over its DevTools protocol."""

import itertools
import json
import re
import shutil
import subprocess
import time
import urllib.request

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, chromium-browser or google-chrome")


class Browser:
    """One page. `errors` are uncaught errors and console errors, `requests` the addresses that were asked for."""

    def __init__(self, folder, width=1200, height=900):
        import websocket

        self.folder = folder
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        command += [f"--user-data-dir={folder}", f"--window-size={width},{height}", "--remote-allow-origins=*"]
        self.process = subprocess.Popen([*command, "about:blank"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"ws://([\d.:]+)/", line):
                break
        with urllib.request.urlopen(f"http://{found[1]}/json/list") as answer:
            page = next(one for one in json.load(answer) if one["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=120)
        self.numbers, self.errors, self.requests = itertools.count(1), [], []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            self._note(message)
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def _note(self, message):
        told = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(told["exceptionDetails"].get("exception", {}).get("description", "error"))
        elif message.get("method") == "Runtime.consoleAPICalled" and told["type"] == "error":
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in told["args"]))
        elif message.get("method") == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def open(self, address):
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """The value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script, seconds=60):
        """Until an expression is true; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        self.picture(self.folder.with_suffix(".png"))
        raise AssertionError(f"never true: {script}; see {self.folder.with_suffix('.png')}; errors: {self.errors}")

    def press(self, key, times=1, shift=False):
        """A key of the keyboard, such as ArrowRight."""
        for _ in range(times):
            for kind in ("keyDown" if key == "Enter" else "rawKeyDown", "keyUp"):
                code = {"ArrowRight": 39, "ArrowLeft": 37, "Enter": 13, "Home": 36}[key]
                held = {"windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
                held |= {"text": "\r"} if kind == "keyDown" else {}
                self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, **held)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def drag(self, selector, share):
        """Drag the knob of a slider to a share of its width, with the mouse."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top + b.height / 2, b.width,"
            " (e.value - e.min) / (e.max - e.min)]; })()"
        )
        left, y, width, now = box
        places = [left + 8 + (width - 16) * s for s in (now, (now + share) / 2, share)]
        kinds = ("mousePressed", "mouseMoved", "mouseMoved", "mouseReleased")
        for kind, x in zip(kinds, [places[0], *places[1:], places[-1]], strict=True):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def picture(self, path):
        import base64

        data = self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def browser(tmp_path):
    found = Browser(tmp_path / "browser")
    yield found
    found.close()
