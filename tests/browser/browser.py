"""Chromium without a window, driven over its debugging pipe: messages of JSON with a zero byte after each, so that neither a port
nor a library is needed. What the page says on its console, throws and asks of the network is kept."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BINARIES = ("chromium", "chromium-browser", "google-chrome")


def find():
    return next((path for path in map(shutil.which, BINARIES) if path), None)


class Browser:
    def __init__(self, binary):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.out = os.pipe()
        self.answers, theirs_out = os.pipe()
        # Chromium reads from 3 and writes to 4. The pipe's ends may have these numbers already, so they go out of the way first.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (theirs_in, theirs_out)]
        command = [
            binary,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--remote-debugging-pipe",
            "--user-data-dir=" + self.profile.name,
            "about:blank",
        ]
        shell = f'exec "$@" 3<&{high[0]} 4>&{high[1]} {high[0]}<&- {high[1]}>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=high,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *high):
            os.close(end)
        self.numbers = itertools.count(1)
        self.rest = b""
        self.events = []

    def message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        text = {"id": number, "method": method, "params": params}
        if session:
            text["sessionId"] = session
        data = json.dumps(text).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data) :]
        while True:
            answer = self.message(120)
            if "id" not in answer:
                self.events.append(answer)
            elif answer["id"] != number:
                continue  # to a call that was given up
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def page(self, width, height):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"], width, height)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, EOFError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()


KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, None),
    "ArrowDown": ("ArrowDown", 40, None),
    "ArrowUp": ("ArrowUp", 38, None),
    "ArrowRight": ("ArrowRight", 39, None),
    "ArrowLeft": ("ArrowLeft", 37, None),
    "End": ("End", 35, None),
    "Home": ("Home", 36, None),
    "PageDown": ("PageDown", 34, None),
    "Tab": ("Tab", 9, None),
    "Backspace": ("Backspace", 8, None),
}


class Page:
    def __init__(self, browser, session, width, height):
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.size(width, height)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme):
        self.call(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        )

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.js(expression)
                if value:
                    return value
            except RuntimeError:
                value = None
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.02)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.settle()

    def settle(self):
        """Until what the address asks for is shown, and drawn."""
        self.wait(
            "document.readyState !== 'loading' && document.getElementById('main')?.getAttribute('aria-busy') === 'false'"
        )
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def go(self, hash_):
        self.js(f"void (location.hash = {json.dumps(hash_)})")
        self.js("new Promise((done) => setTimeout(done, 0))")
        self.settle()

    def click(self, selector, index=0):
        """A real click with the mouse in the middle of the element, which must be what lies there."""
        place = self.js(f"""(() => {{ const found = [...document.querySelectorAll({json.dumps(selector)})][{index}];
          if (!found) return null;
          found.scrollIntoView({{ block: "center", inline: "nearest" }});
          const box = found.getClientRects()[0];
          const [x, y] = [box.left + Math.min(box.width / 2, 300), box.top + box.height / 2];
          const top = document.elementFromPoint(x, y);
          return {{ x, y, hit: Boolean(top) && (found.contains(top) || top.contains(found)) }}; }})()""")
        if not place or not place["hit"]:
            raise AssertionError(f"{selector} cannot be clicked: {place}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place["x"], y=place["y"], button="left", clickCount=1)
        self.js("new Promise((done) => setTimeout(done, 0))")
        self.settle()

    def press(self, key):
        if key in KEYS:
            name, code, text = KEYS[key]
            params = {"key": name, "code": name, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        else:
            params = {"key": key, "text": key}
        self.call("Input.dispatchKeyEvent", type="keyDown", **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in params.items() if k != "text"})
        self.js("new Promise((done) => setTimeout(done, 0))")
        self.settle()

    def shot(self, file, whole=False):
        params = {}
        if whole:
            params = {
                "captureBeyondViewport": True,
                "clip": {**self.call("Page.getLayoutMetrics")["cssContentSize"], "scale": 1},
            }
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **params)["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def _of(self, method):
        return [
            event["params"]
            for event in self.browser.events
            if event.get("sessionId") == self.session and event["method"] == method
        ]

    def complaints(self):
        """Whatever went wrong in the page: thrown, or an error or warning on its console."""
        said = [
            one["exceptionDetails"].get("exception", {}).get("description", "thrown")
            for one in self._of("Runtime.exceptionThrown")
        ]
        said += [
            str(one["args"])
            for one in self._of("Runtime.consoleAPICalled")
            if one["type"] in ("error", "warning", "assert")
        ]
        return said + [
            one["entry"]["text"] for one in self._of("Log.entryAdded") if one["entry"]["level"] in ("error", "warning")
        ]

    def requests(self):
        return [one["request"]["url"] for one in self._of("Network.requestWillBeSent")]
