#!/usr/bin/env python3
"""Opens HTML pages and SVG pictures in headless Chromium and checks what a reader would see.

  tests/long/check_page.py [--screenshots DIR] FILE.html|FILE.svg ...
  tests/long/check_page.py --find

In light and in dark, with the network off: nothing is requested beyond the file, nothing is logged as an error; every
picture has a size, its texts lie inside it, do not overlap and have a contrast of 4.5 to what is under them; page and text
change colour between the modes; tables sort on a click, in both directions, numbers as numbers; nothing overflows a narrow
screen; it prints in light; screenshots are not blank; language, headings, captions and labels are there, ids are unique.

Prints what is wrong, one line a fault. Exit 0: nothing; 1: something; 77: no Chromium. Needs only Python's own library:
Chromium is driven by its DevTools protocol over two pipes (--remote-debugging-pipe; messages end with a zero byte).
"""
import argparse
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
CONTRAST = 4.5  # WCAG 2.1, 1.4.3
TIMEOUT = 90


class Browser:
    def __init__(self, program, profile):
        to_child, self.to = os.pipe()
        self.source, from_child = os.pipe()
        # The child must find them as 3 and 4; out of the way first, so that neither is overwritten.
        child_in, child_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_child, from_child))

        def wire():
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars",
             f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=wire, pass_fds=(3, 4, child_in, child_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for fd in (to_child, from_child, child_in, child_out):
            os.close(fd)
        self.buffer = b""
        self.number = 0
        self.events = []

    def message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.source, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        deadline = time.monotonic() + TIMEOUT
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            self.events.append(self.message(deadline))

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (OSError, EOFError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.source)


# Runs in the page. Returns {faults: [...], paper, ink}; colours as [r, g, b].
LOOK = r"""
(minimum) => {
  const faults = [];
  const canvas = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", {willReadFrequently: true});
  const rgba = text => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const luminance = c => {
    const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const over = (top, under, opacity = 1) => top.slice(0, 3).map((v, i) => {
    const a = top[3] * opacity;
    return v * a + under[i] * (1 - a);
  });
  const html = document.documentElement.localName === "html";
  const root = html ? document.body : document.documentElement;
  const paper = rgba(getComputedStyle(root).backgroundColor);
  const ink = html ? rgba(getComputedStyle(root).color)
                   : rgba(getComputedStyle(root.querySelector("text") ?? root).fill);
  if (paper[3] < 1) faults.push("the page has no background of its own");
  const name = element => JSON.stringify((element.textContent || "").trim().slice(0, 40));

  // What lies under a place of a picture, from the bottom up.
  const under = (text, x, y) => {
    let colour = paper;
    for (const e of document.elementsFromPoint(x, y).reverse()) {
      if (!(e instanceof SVGGeometryElement)) continue;
      if (e.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_PRECEDING) continue;
      const style = getComputedStyle(e);
      if (style.fill === "none" || style.fill.startsWith("url")) continue;
      colour = over(rgba(style.fill), colour, Number(style.fillOpacity));
    }
    return colour;
  };

  const pictures = html ? [...document.querySelectorAll("svg")] : [root];
  for (const svg of pictures) {
    const what = "picture " + svg.id;
    svg.scrollIntoView({block: "start", behavior: "instant"});
    const frame = svg.getBoundingClientRect();
    const inner = svg.getBBox();
    if (!(frame.width > 50 && frame.height > 20 && inner.width > 20 && inner.height > 10)) {
      faults.push(`${what} is empty or too small: ${frame.width} x ${frame.height}`);
      continue;
    }
    if (svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")) faults.push(`${what} has no label`);
    const texts = [...svg.querySelectorAll("text")];
    if (texts.length === 0) faults.push(`${what} has no text`);
    const boxes = texts.map(text => {
      const box = text.getBBox(), m = text.getCTM();
      return {text, turned: Math.abs(m.b) > 1e-6, r: text.getBoundingClientRect(), box};
    });
    for (const {text, r, box} of boxes) {
      if (!(box.width > 0 && box.height > 0)) faults.push(`${what}: text ${name(text)} has no size`);
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)
        faults.push(`${what}: text ${name(text)} lies outside: ${Math.round(r.left - frame.left)} to ` +
          `${Math.round(r.right - frame.left)} of ${Math.round(frame.width)}, ${Math.round(r.top - frame.top)} to ` +
          `${Math.round(r.bottom - frame.top)} of ${Math.round(frame.height)}`);
    }
    // Letters fill about the middle three fifths of their line's height; turned boxes are not their letters'.
    const level = boxes.filter(b => !b.turned)
      .map(b => ({...b, t: b.r.top + 0.2 * b.r.height, b: b.r.bottom - 0.2 * b.r.height}))
      .sort((a, b) => a.r.left - b.r.left);
    level.forEach((a, i) => {
      for (let j = i + 1; j < level.length && level[j].r.left < a.r.right - 0.5; ++j)
        if (a.t < level[j].b && level[j].t < a.b)
          faults.push(`${what}: texts ${name(a.text)} and ${name(level[j].text)} overlap`);
    });
    for (const {text} of boxes) {
      text.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
      const r = text.getBoundingClientRect();
      // A halo of its own hides what is under the letters.
      const style = getComputedStyle(text);
      const halo = style.paintOrder.startsWith("stroke") && style.stroke !== "none" && parseFloat(style.strokeWidth) >= 2;
      const below = halo ? over(rgba(style.stroke), paper) : under(text, (r.left + r.right) / 2, (r.top + r.bottom) / 2);
      const seen = contrast(over(rgba(getComputedStyle(text).fill), below), below);
      if (!(seen >= minimum)) faults.push(`${what}: text ${name(text)} has a contrast of ${seen.toFixed(2)}`);
    }
  }
  if (html) {
    for (const e of document.querySelectorAll("h1,h2,h3,p,li,a,td,th,th button,caption,figcaption,dt,dd,code")) {
      if (!e.textContent.trim()) continue;
      const seen = contrast(over(rgba(getComputedStyle(e).color), paper), paper);
      if (!(seen >= minimum)) faults.push(`${e.localName} ${name(e)} has a contrast of ${seen.toFixed(2)}`);
    }
  }
  window.scrollTo({left: 0, top: 0, behavior: "instant"});
  return {faults: [...new Set(faults)], paper: paper.slice(0, 3), ink: ink.slice(0, 3)};
}
"""

# What does not depend on colours.
STRUCTURE = r"""
() => {
  const faults = [];
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`id ${id} is not unique`);
  if (document.documentElement.localName !== "html") return faults;
  if (!document.documentElement.lang) faults.push("no language");
  if (!document.title) faults.push("no title");
  let last = 0;
  for (const h of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const level = Number(h.localName[1]);
    if (level > last + 1) faults.push(`heading ${h.textContent}: level ${level} after ${last}`);
    last = level;
  }
  if (document.querySelectorAll("h1").length !== 1) faults.push("not exactly one h1");
  for (const table of document.querySelectorAll("table"))
    if (!table.caption?.textContent.trim()) faults.push("a table has no caption");
  for (const a of document.querySelectorAll("a[href^='#']"))
    if (!document.getElementById(a.getAttribute("href").slice(1))) faults.push(`${a.textContent} leads nowhere`);
  return faults;
}
"""

SORTING = r"""
() => {
  const faults = [];
  document.querySelectorAll("table").forEach((table, t) => {
    const rows = table.tBodies[0].rows.length;
    const before = [...table.tBodies[0].rows].map(r => r.textContent).sort().join("\n");
    [...table.tHead.rows[0].cells].forEach((head, c) => {
      const where = `table ${t + 1}, column ${head.textContent}`;
      const button = head.querySelector("button");
      if (!button) return faults.push(`${where}: nothing to click`);
      for (const order of ["ascending", "descending"]) {
        button.click();
        if (head.getAttribute("aria-sort") !== order) faults.push(`${where}: not said to be ${order}`);
        const keys = [...table.tBodies[0].rows].map(r => r.cells[c]).map(cell =>
          cell.dataset.n !== undefined ? Number(cell.dataset.n) : head.classList.contains("n") ? null : cell.textContent);
        const known = keys.filter(k => k !== null && k !== "");
        if (keys.slice(0, known.length).some(k => k === null || k === "")) faults.push(`${where}: empty cells are not last`);
        for (let i = 1; i < known.length; ++i) {
          const [a, b] = order === "ascending" ? [known[i - 1], known[i]] : [known[i], known[i - 1]];
          const wrong = typeof a === "number" && typeof b === "number" ? a > b
            : String(a).localeCompare(String(b), "en", {numeric: true}) > 0;
          if (wrong) { faults.push(`${where}: not sorted ${order}`); break; }
        }
      }
    });
    if ([...table.tBodies[0].rows].map(r => r.textContent).sort().join("\n") !== before || rows !== table.tBodies[0].rows.length)
      faults.push(`table ${t + 1}: sorting changed its rows`);
  });
  return faults;
}
"""

OVERFLOW = r"""() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1
  ? [`${document.documentElement.scrollWidth} pixels wide on a screen of ${document.documentElement.clientWidth}`] : []"""

PRINT = r"""() => getComputedStyle(document.documentElement.localName === "html" ? document.body
  : document.documentElement).backgroundColor"""


def num_colours(png, enough):
    """Different colours of a picture of 8 bits a channel, not interlaced, as Chromium writes them; no more than enough."""
    at, data = 8, b""
    width = height = channels = 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
            assert depth == 8
        elif kind == b"IDAT":
            data += body
        at += length + 12
    data = zlib.decompress(data)
    stride = width * channels
    last = bytearray(stride)
    colours = set()
    for y in range(height):
        how = data[y * (stride + 1)]
        row = bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - channels] if i >= channels else 0
            up = last[i]
            corner = last[i - channels] if i >= channels else 0
            if how == 1:
                add = left
            elif how == 2:
                add = up
            elif how == 3:
                add = (left + up) // 2
            elif how == 4:
                guess = left + up - corner
                add = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            else:
                break
            row[i] = (row[i] + add) & 255
        for i in range(0, stride, channels):
            colours.add(bytes(row[i:i + 3]))
        if len(colours) >= enough:
            break
        last = row
    return len(colours)


class Checker:
    def __init__(self, browser, file, screenshots):
        self.browser, self.file, self.screenshots = browser, file, screenshots
        self.url = file.resolve().as_uri()
        self.faults = []

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, function, *arguments):
        code = f"({function})({', '.join(json.dumps(a) for a in arguments)})"
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def fault(self, text):
        if text not in self.faults:
            self.faults.append(text)

    def screenshot(self, name):
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if self.screenshots:
            (self.screenshots / f"{self.file.stem}.{name}.png").write_bytes(png)
        return png

    def open(self, mode):
        self.browser.events.clear()
        self.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": mode}])
        self.call("Emulation.setDeviceMetricsOverride", width=1100, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=self.url)
        self.browser.wait_for("Page.loadEventFired", self.session)

    def mode(self, mode):
        self.open(mode)
        look = self.run(LOOK, CONTRAST)
        for text in look["faults"]:
            self.fault(f"{mode}: {text}")
        if num_colours(self.screenshot(mode), 8) < 8:
            self.fault(f"{mode}: the screenshot is blank")
        return look

    # The whole of a long page, in one picture.
    def whole(self, mode):
        if not self.screenshots:
            return
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        self.call("Emulation.setDeviceMetricsOverride", width=1100, height=min(16000, int(size["height"]) + 1),
                  deviceScaleFactor=1, mobile=False)
        self.screenshot(f"{mode}.whole")

    def events(self):
        for event in self.browser.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if url.split("#")[0] != self.url and not url.startswith("data:"):
                    self.fault(f"requests {url[:100]}")
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                self.fault("logs an error: " + " ".join(str(a.get("value", "")) for a in parameters["args"])[:200])
            elif method == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.fault("throws: " + details.get("exception", {}).get("description", details["text"])[:200])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                self.fault("browser says: " + parameters["entry"]["text"][:200])

    def check(self):
        target = self.browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        light = self.mode("light")
        for text in self.run(STRUCTURE):
            self.fault(text)
        self.whole("light")
        self.events()
        dark = self.mode("dark")
        for what in ("paper", "ink"):
            if light[what] == dark[what]:
                self.fault(f"{what} is the same in light and dark: {light[what]}")
        self.whole("dark")
        self.events()
        if self.file.suffix == ".html":
            self.open("light")
            for text in self.run(SORTING):
                self.fault(text)
            self.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
            for text in self.run(OVERFLOW):
                self.fault(text)
            self.screenshot("narrow")
            self.events()
        self.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        printed = [int(v) for v in self.run(PRINT).strip("rgb()").split(",")[:3]]
        if printed != light["paper"]:
            self.fault(f"prints on {printed}, not on the light paper")
        self.browser.call("Target.closeTarget", targetId=target)
        return self.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--find", action="store_true", help="only say where the browser is")
    parser.add_argument("--screenshots", type=pathlib.Path, help="write screenshots into this folder")
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        print("Chromium is not installed (Debian: chromium)")
        return 77
    if options.find:
        print(program)
        return 0
    if not options.files:
        parser.error("no files")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for file in options.files:
                faults = Checker(browser, file, options.screenshots).check()
                for fault in faults:
                    print(f"{file.name}: {fault}")
                if not faults:
                    print(f"{file.name}: good")
                failed += bool(faults)
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
