"""One browser and one page for all tests of a class, and what every page must be: silent on the console, alone on the network, readable."""

import sys
import tempfile
import unittest
from pathlib import Path

import browser as chromium

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import running


class OPTIONS:
    """What the command line said."""

    program = maker = shots = chromium = None


# The lowest contrast of any text that is shown, with its words: what WCAG asks of small text is 4.5.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const known = new Map();
  const colour = (text) => { if (!known.has(text)) known.set(text, rgba(text)); return known.get(text); };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => { const stack = []; for (; node; node = node.parentElement) { const c = colour(getComputedStyle(node).backgroundColor); if (c[3] > 0) stack.push(c); if (c[3] >= 0.999) break; }
    return stack.reverse().reduce((below, c) => over(c, below), [255, 255, 255]); };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = 0; walker.nextNode() && n < 6000; ++n) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, noscript, .unseen, dialog, option, .skip") || !parent.checkVisibility()) continue;
    const style = getComputedStyle(parent);
    if (Number(style.opacity) < 1) continue;
    const text = parent.closest("svg") ? style.fill : style.color;
    const back = ground(parent.closest("svg") ? parent.closest("svg").parentElement : parent);
    const [a, b] = [light(over(colour(text), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${node.data.trim().slice(0, 40)} (${parent.className.baseVal ?? parent.className}) ${text} on ${back.map(Math.round)}`];
  }
  return worst;
})()"""


def run(*words, cwd, ok=(0,), **environment):
    return running.run(OPTIONS.program, words, cwd, ok, **environment).stdout


class Shown(unittest.TestCase):
    """One browser and one page for all tests of a class; after each the page must have nothing to complain of."""

    address = None

    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Browser(OPTIONS.chromium)
        cls.page = cls.browser.page(1400, 950)
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = cls.make(Path(cls.folder.name))
        cls.page.colours("light")
        cls.page.open(cls.file.as_uri())

    @classmethod
    def bench(cls, folder, spec):
        """The page of a run of bench: `spec` with {folder} for this one, where a program is that stands for a model."""
        (folder / "spec.toml").write_text(spec.format(folder=Path(__file__).resolve().parent))
        run("bench", "spec.toml", "--archive", "a.db", "--lock", "lock.json", cwd=folder)
        run("report", "--archive", "a.db", "--html", "report.html", cwd=folder)
        cls.cwd = folder
        return folder / "report.html"

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])
        outside = [
            url
            for url in self.page.requests()
            if url != self.file.as_uri() and not url.startswith("data:") and url != "about:blank"
        ]
        self.assertEqual(outside, [], "the page asked somebody for something")
        self.assertNotIn("owned", self.page.js("document.title"), "a text of the run was run")
        self.page.size(1400, 950)
        self.page.colours("light")

    def heading(self):
        return self.page.js("document.querySelector('main h1').textContent")

    def text(self):
        return self.page.js("document.getElementById('main').innerText")

    def shot(self, name, whole=False):
        self.page.shot(OPTIONS.shots / f"{name}.png", whole)
