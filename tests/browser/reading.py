"""How the page of a judged run is read and used: with browsers of old and without scripts, by links, by copying, by the browser's own search."""

import json
import re
import time

# What Firefox 78 and its like have not.
YOUNG = """delete window.DecompressionStream; delete HTMLDialogElement.prototype.showModal; delete HTMLDialogElement.prototype.close;
for (const name of ["at", "findLast", "findLastIndex", "toSorted", "toReversed", "toSpliced", "with"]) delete Array.prototype[name];
for (const name of ["at", "isWellFormed", "toWellFormed"]) delete String.prototype[name];
delete Object.hasOwn; delete Object.groupBy; delete window.structuredClone; delete Element.prototype.checkVisibility; delete navigator.clipboard;"""

# Once more what the page's selection gives to whoever copies it.
COPIED = "document.addEventListener('copy', (event) => { window.copied = event.clipboardData.getData('text/plain') || 'as it is'; })"


class Reading:
    def another(self, address="", script=True, before=None, opens=True):
        """A page of its own, on the same file; it may not come to open."""
        page = self.browser.page(1200, 800)
        self.addCleanup(lambda: self.page.call("Page.bringToFront"))
        self.addCleanup(lambda: page.call("Page.close"))
        if before:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=before)
        if not script:
            page.call("Emulation.setScriptExecutionDisabled", value=True)
        if opens and script:
            page.open(self.file.as_uri() + address)
        else:
            page.call("Page.navigate", url=self.file.as_uri() + address)
        return page

    def number(self, name):
        return next(one["id"] for one in self.attempts() if one["name"] == name)

    def ruled(self):
        return next(one for one in self.attempts() if one["proposer"] == "rules")

    def test_a_browser_of_old_shows_it_all(self):
        shown = {}
        for hash_ in ("#/", "#/attempts", f"#/attempt/{self.number('beyond')}", "#/about"):
            self.page.go(hash_)
            shown[hash_] = self.page.js("document.getElementById('main').textContent")
        page = self.another(before=YOUNG)
        for hash_, words in shown.items():
            page.go(hash_)
            self.assertEqual(page.js("document.getElementById('main').textContent"), words)
        page.press("?")
        self.assertIn("next and previous finding", page.js("document.body.innerText"))
        page.press("Escape")
        self.assertNotIn("next and previous finding", page.js("document.body.innerText"))
        self.assertEqual(page.complaints(), [])

    def test_packed_data_are_unpacked_alike_by_both_ways(self):
        self.assertTrue(self.page.js("""(async () => {
          for (const block of document.querySelectorAll('script[type="application/octet-stream"]')) {
            const raw = Uint8Array.from(atob(block.textContent), (one) => one.charCodeAt(0));
            const theirs = new Uint8Array(await inflated(raw)), ours = new Inflater(raw).all();
            if (theirs.length !== ours.length || theirs.some((one, i) => one !== ours[i])) return false;
            let ended = false;
            try { new Inflater(raw.subarray(0, raw.length >> 1)).all(); } catch { ended = true; }
            if (!ended) return false;
          }
          return true; })()"""))

    def test_a_script_that_cannot_be_read_is_said(self):
        # As a browser meets syntax that it does not know: the first script of the body throws.
        page = self.another(before="Object.defineProperty(window, 'SVG', { configurable: false, writable: false, value: 1 });", opens=False)
        page.wait("document.getElementById('main')?.innerText.includes('This browser cannot show the page')", 20)

    def test_without_scripts_the_tables_are_there(self):
        page = self.another(script=False)
        end = time.monotonic() + 30
        shown = ""
        while "what came of it" not in shown and time.monotonic() < end:
            nodes = page.call("Accessibility.getFullAXTree")["nodes"]
            shown = " ".join(str(node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored"))
        self.assertIn("Without scripts", shown)
        self.assertIn("cost a success", shown)
        self.assertIn("what came of it", shown)
        self.assertNotIn("Reading the run", shown)

    def test_links_lead_to_lines_folded_ones_too(self):
        number = self.ruled()["id"]
        page = self.another(f"#/attempt/{number}")
        folded = page.js("""(() => { const [steps] = page.run.keep.code.closed.keys(); return steps[2][2] + 1; })()""")
        page.call("Page.navigate", url="about:blank")
        page.wait("location.href === 'about:blank'")
        page.open(self.file.as_uri() + f"#/attempt/{number}?line={folded}")
        self.assertEqual(page.js("[...document.querySelectorAll('.cl.target')].map((one) => one.dataset.line)"), [str(folded)])
        seen = page.js("(() => { const box = document.querySelector('.cl.target').getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight; })()")
        self.assertTrue(seen)
        line = page.js("document.querySelector('.cl[data-line]:not(.target)').dataset.line")
        page.click(f'.cl[data-line="{line}"] .no:nth-child(2)')
        self.assertEqual(page.js("location.hash"), f"#/attempt/{number}?line={line}")
        page.press("[")
        self.assertRegex(page.js("location.hash"), r"^#/attempt/\d+$")
        self.assertEqual(page.complaints(), [])

    def test_the_skip_link_leaves_the_view_alone(self):
        number = self.ruled()["id"]
        self.page.go(f"#/attempt/{number}")
        self.page.js("document.querySelector('.skip').focus()")
        self.page.press("Enter")
        self.assertEqual(self.page.js("[location.hash, document.activeElement.id]"), [f"#/attempt/{number}", "main"])

    def test_copied_code_is_code(self):
        attempt = self.whole(self.ruled()["name"])[1]
        self.page.go(f"#/attempt/{attempt['id']}")
        self.page.js(COPIED)
        self.page.js("""(() => { const all = [...document.querySelectorAll('#s-ptx .cl .t')]; const range = document.createRange();
          range.setStart(all[0], 0); range.setEnd(all[all.length - 1], all[all.length - 1].childNodes.length);
          getSelection().removeAllRanges(); getSelection().addRange(range); })()""")
        self.copy()
        # Without blank lines and .loc, which the difference leaves out, it is the candidate: nothing removed, no counts, no signs.
        wanted = [line for line in attempt["candidate"]["ptx"].split("\n") if line.strip() and not re.match(r"\s*\.loc\s", line)]
        self.assertEqual(self.page.js("window.copied").split("\n"), wanted)
        self.page.js("getSelection().removeAllRanges()")
        # By the button, the whole of it, to the byte.
        self.page.js("window.copied = ''")
        self.page.click("#s-ptx .copy")
        self.assertEqual(self.page.js("document.querySelector('#s-ptx .copy').textContent"), "copied")
        self.assertEqual(self.page.js("page.run.keep.code.whole()"), attempt["candidate"]["ptx"])

    def copy(self):
        self.page.call("Input.dispatchKeyEvent", type="keyDown", key="c", code="KeyC", windowsVirtualKeyCode=67, modifiers=2, commands=["copy"])

    def test_the_browsers_own_search_reaches_what_is_folded(self):
        self.page.go(f"#/attempt/{self.ruled()['id']}")
        word = self.page.js("""(() => {
          const shown = [...document.querySelectorAll('#s-ptx .cl .t')].map((one) => one.textContent).join();
          for (const steps of page.run.keep.code.closed.keys())
            for (const [, , j] of steps)
              for (const word of page.run.keep.code.line(page.run.keep.code.b[j]).match(/\\w{6,}/g) || []) if (!shown.includes(word)) return word;
          return null; })()""")
        self.assertTrue(word, "a word that stands in folded lines alone")
        self.assertTrue(self.page.js(f"getSelection().removeAllRanges(), window.find({json.dumps(word)})"))

    def test_findings_are_marked_in_their_lines_wherever_they_are(self):
        number, attempt = self.whole("beyond")
        text = attempt["candidate"]["ptx"].split("\n")
        self.page.go(f"#/attempt/{number}")
        placed = [f for gate in attempt["verdict"]["gates"] for f in gate["findings"] if f["file"].endswith(".ptx") and f["line"] and f["column"]]
        self.assertTrue(placed)
        for finding in placed:
            spots = self.page.js(f"[...document.querySelectorAll('[data-line=\"{finding['line']}\"] .spot')].map((one) => one.textContent).join('')")
            begin = finding["column"] - 1
            self.assertIn(text[finding["line"] - 1][begin : begin + max(1, finding["length"])], spots)
        # On the first line, on the last, beyond it, on a blank one, behind characters of several bytes.
        shown = self.page.js("""(() => {
          const lines = ["// \\u00e9\\u{1f600} here", "mov.u32 %r1, 1;", "", "ret;"];
          const finding = (line, column, length) => ({severity: "error", code: "X", message: "at " + line, hint: "", file: "candidate.ptx", line, column, length});
          const view = new CodeView({a: [1, 2], b: [0, 1, 2, 3], line: (id) => lines[id], label: "x", profile: null, baseline: null, never: new Set(), mode: "diff",
            findings: [finding(1, 11, 4), finding(3, 1, 1), finding(4, 1, 3), finding(99, 0, 0)]});
          return [...view.element.querySelectorAll(".inplace")].map((one) => { let row = one; while (!row.matches(".cl")) row = row.previousElementSibling;
            return [row.dataset.line, [...row.querySelectorAll(".spot")].map((spot) => spot.textContent).join("")]; }); })()""")
        self.assertEqual(shown, [["1", "here"], ["3", ""], ["4", "ret"], ["4", "ret"]])
        self.page.press("p")
        last = self.page.js("[...document.querySelectorAll('.inplace')].indexOf(document.activeElement) === document.querySelectorAll('.inplace').length - 1")
        self.assertTrue(last, "the one before the first is the last")
