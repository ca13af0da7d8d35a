"""Drives a headless Chromium over its DevTools pipe; needs nothing but Python's library.

    page = Chromium.open("net.html", "pane=plan")  # None when there is no browser that starts
    page.run("document.title")            # the value of a script
    page.click(x, y); page.type("abc"); page.press("Enter")
    page.picture("net.png"); page.errors  # what the page's console was told of errors
"""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome"]


class Chromium:
    @staticmethod
    def open(file, fragment="", size=(1280, 800), dark=False):
        program = next((path for path in map(shutil.which, NAMES) if path), None)
        if not program:
            return None
        page = Chromium()
        try:
            page._start(program, size)
            page._show(pathlib.Path(file).resolve().as_uri() + (fragment and "#" + fragment), size, dark)
        except OSError:
            page.close()
            return None
        return page

    def _start(self, program, size):
        self.errors, self._events, self._buffer, self._next, self._session = [], [], b"", 0, None
        self._folder = tempfile.mkdtemp()
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def pipes():  # the browser reads 3 and writes 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self._folder}", f"--window-size={size[0]},{size[1]}",
             "--hide-scrollbars", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)

    def _message(self, seconds=60):
        import select
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise OSError("the browser does not answer")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **arguments):
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(event["params"]["entry"]["text"])
        if event.get("method") == "Network.requestWillBeSent":
            self._events.append(event["params"]["request"]["url"])

    def _show(self, url, size, dark):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    @property
    def requests(self):
        """Addresses that were asked for."""
        return self._events

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise RuntimeError(f"it does not come about that {script}; errors: {self.errors}")
            time.sleep(0.02)

    def click(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x, y, delta):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Escape": 27}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])), **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])))

    def picture(self, file):
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        process = getattr(self, "_process", None)
        if process and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
