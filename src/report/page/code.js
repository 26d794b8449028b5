// PTX beside what is known of each line: the difference from the baseline, findings at their place, what the engine counted.
"use strict";

const PTX_WORDS =
  /(\/\/.*$|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*")|(%[A-Za-z_$][\w$]*(?:\.[xyzw])?)|(\b0[xX][0-9a-fA-F]+\b|\b0[fFdD][0-9a-fA-F]+\b|(?<![\w$%.])\d+(?:\.\d+)?\b)|(\.[A-Za-z_]\w*(?:::\w+)*)|([A-Za-z_$][\w$]*(?:\.[\w:]+)*)/g;

// A line of PTX in spans; `text` may be anything at all. `spots`: [{from, to, severity}], what findings point at.
function ptxLine(text, spots) {
  const parts = [];
  const bounds = spots.flatMap((spot) => [spot.from, spot.to]).sort((a, b) => a - b);
  const put = (begin, end, kind) => {
    let at = begin;
    for (const to of [...bounds.filter((bound) => bound > begin && bound < end), end]) {
      const spot = spots.find((one) => one.from <= at && one.to >= to);
      const names = [kind, spot ? "spot " + spot.severity : ""].filter(Boolean).join(" ");
      if (to > at) parts.push(names ? h("span", {class: names}, text.slice(at, to)) : text.slice(at, to));
      at = to;
    }
  };
  if (text.length > 2000) {
    put(0, text.length, "");
    return parts;
  }
  let [from, instruction] = [0, true];
  for (const match of text.matchAll(PTX_WORDS)) {
    put(from, match.index, "");
    const [all, comment, string, register, number, directive, word] = match;
    let kind = comment ? "k-com" : string ? "k-num" : register ? "k-reg" : number ? "k-num" : directive ? "k-dir" : "";
    if (word && text[match.index + all.length] === ":")
      kind = "k-lab";
    else if (word && instruction && /^[\s{]*(?:@!?%[\w$]+\s+)?$/.test(text.slice(0, match.index)))
      [kind, instruction] = ["k-op", false];
    put(match.index, match.index + all.length, kind);
    from = match.index + all.length;
  }
  put(from, text.length, "");
  return parts;
}

// Findings count bytes of UTF-8, strings units of UTF-16.
function unitsBefore(text, bytes) {
  let [units, passed] = [0, 0];
  for (const character of text) {
    if (passed >= bytes) break;
    const code = character.codePointAt(0);
    passed += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    units += character.length;
  }
  return units;
}
function spotOf(text, finding) {
  const from = unitsBefore(text, finding.column - 1);
  return {
    from,
    to: Math.max(from + 1, unitsBefore(text, finding.column - 1 + (finding.length || 1))),
    severity: finding.severity
  };
}

function findingBox(finding, withPlace) {
  const where = finding.file
    ? finding.file + (finding.line ? ":" + finding.line + (finding.column ? ":" + finding.column : "") : "")
    : "";
  return h("div", {class: "finding " + finding.severity, role: "note"},
    h("span", {class: "code"}, finding.severity + " " + finding.code), " ", finding.message,
    finding.hint ? h("div", {class: "hint"}, "hint: " + finding.hint) : null,
    withPlace && where
      ? h("div", {class: "where"},
          withPlace.toPlace && isPtx(finding) && finding.line
            ? h("button", {type: "button", class: "link", on: {click: () => withPlace.toPlace(finding.line)}}, where)
            : where)
      : null);
}

// What a line cost, in four cells; `most`: the highest count of warps of either text; `branch`: the lanes that do not take it are not
// idle.
function profileCells(counts, most, never, branch) {
  if (!counts) return [never ? "never" : "", "", "", ""].map((word) => h("span", {class: "f"}, word));
  const [, warps, threads, requests = 0, sectors = 0, ideal = 0, passes = 0, idealPasses = 0] = counts;
  const lanes = warps ? threads / warps : 0;
  const ratio = (units, best) =>
    (requests && units ? h("span", {
      class: "f" + (units >= best * 1.5 ? " waste" : ""),
      title: `${count(units)} in ${plural(requests, "request")}, ${count(best)} at best`
    },
                           digits(units / requests, 2) + (units > best ? " / " + digits(best / requests, 2) : ""))
                       : h("span", {class: "f"}));
  return [
    h("span",
      {class: "f heat", vars: {heat: String(most ? warps / most : 0)}, title: `${count(warps)} warp instructions`},
      warps ? short(warps) : "0"),
    h("span",
      {class: "f" + (warps && lanes < 16 && !branch ? " waste" : ""), title: "active lanes of a warp, on average"},
      warps ? digits(lanes, 2) : ""),
    ratio(sectors, ideal), ratio(passes, idealPasses)
  ];
}

const LINE = 19.4;  // pixels, as .cl has it
const CONTEXT = 4;  // unchanged lines shown around a change

// { a, b: line ids (a may be null: nothing to compare with), line: id → text, findings of b, profiles as { line → counts }, mode: "diff"
// or "candidate" or "baseline" }
class CodeView {
  constructor(options) {
    Object.assign(this, options);
    this.byLine = new Map();
    for (const finding of this.findings) {
      const line =
        Math.max(1, Math.min(finding.line, this.b.length));  // one at the text's end may name a line beyond the last
      if (!this.byLine.has(line)) this.byLine.set(line, []);
      this.byLine.get(line).push(finding);
    }
    this.most = 1;
    for (const profile of [this.profile, this.baseline])
      if (profile)
        for (const counts of profile.values()) this.most = Math.max(this.most, counts[1]);
    this.element = h("div", {
      class: "codebox",
      tabindex: 0,
      role: "region",
      "aria-label": this.label,
      on: {copy: (event) => this.copied(event), click: (event) => this.clicked(event)}
    });
    this.empty = new Map();   // blocks whose lines are not made yet, by their nodes
    this.closed = new Map();  // folds: what opens them, by the lines in them
    this.near = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.fill(entry.target)),
      {root: this.element, rootMargin: "1500px 0px"});
    this.show(this.mode);
  }
  // Two lines that differ in blanks only are the same; empty lines and .loc stand in the whole texts alone.
  compared() {
    const keys = new Map();
    const side = (ids) =>
      ids.map((id, at) => ({at, text: this.line(id)}))
        .filter(({at, text}) => !/^\s*(\.loc\s|$)/.test(text) || (ids === this.b && this.byLine.has(at + 1)))
        .map(({at, text}) => {
          const key = text.trim().replace(/\s+/g, " ");
          if (!keys.has(key)) keys.set(key, keys.size);
          return {at, key: keys.get(key)};
        });
    const [a, b] = [side(this.a), side(this.b)];
    const place = (list, i) => (i < list.length ? list[i].at : list.length ? list[list.length - 1].at + 1 : 0);
    return difference(a.map((one) => one.key), b.map((one) => one.key)).map(([kind, i,
      j]) => [kind, place(a, i), place(b, j)]);
  }
  show(mode) {
    this.mode = mode;
    const single = mode !== "diff";
    const steps = mode === "diff"
      ? this.compared()
      : (mode === "baseline" ? this.a : this.b).map((_, i) => [mode === "baseline" ? -2 : 2, i, i]);
    this.element.className =
      "codebox" + (single ? " single" : "") + (this.profile || this.baseline ? "" : " noprofile");
    this.near.disconnect();
    this.empty.clear();
    this.closed.clear();
    replace(this.element, this.heading(single), this.blocks(this.folded(steps)));
  }
  heading(single) {
    const f = (text, help) => h("span", {class: "f", title: help}, text);
    return h("div", {class: "codehead", "aria-hidden": "true"},
      single ? h("span", {}, "line") : [h("span", {}, "was"), h("span", {}, "is")], h("span", {}),
      h("span", {}, this.what || "PTX"), f("warps", "warp instructions of this line that the engine issued"),
      f("lanes", "active lanes of a warp, on average; 32 at best"),
      f("sectors", "sectors of 32 bytes a request to global memory touches / would at best"),
      f("passes", "passes over the banks of shared memory a request takes / would without conflicts"));
  }
  // Runs of unchanged lines become one folded step, but for what stands near a change or a finding.
  folded(steps) {
    if (this.mode !== "diff") return steps.map((step) => ({step}));
    const keep = new Uint8Array(steps.length);
    steps.forEach(([kind, , j], i) => {
      if (kind !== 0 || this.byLine.has(j + 1))
        keep.fill(1, Math.max(0, i - CONTEXT), Math.min(steps.length, i + CONTEXT + 1));
    });
    const rows = [];
    for (let i = 0; i < steps.length;) {
      let end = i;
      while (end < steps.length && !keep[end]) ++end;
      if (end - i > 6)
        rows.push({fold: steps.slice(i, end)});
      else
        for (let j = i; j < end; ++j) rows.push({step: steps[j]});
      i = end;
      if (i < steps.length) rows.push({step: steps[i++]});
    }
    return rows;
  }
  // Of a long text in blocks of 200 lines that are made when they come near; those with findings at once, so that they can be walked.
  blocks(rows) {
    const blocks = [];
    const long = rows.length > 1000;
    for (let from = 0; from < rows.length; from += 200) {
      const some = rows.slice(from, from + 200);
      const node = h("div", {class: long ? "run200" : null});
      const block = {
        node,
        lines: some.map(({step}) => (step && step[0] >= 0 ? step[2] + 1 : 0)),
        fill: () => append(node, some.map((row) => (row.fold ? this.fold(row.fold) : this.row(row.step))))
      };
      if (!long || from === 0 || block.lines.some((line) => this.byLine.has(line))) {
        block.fill();
      } else {
        node.style.height = `${some.length * LINE}px`;
        node.append(this.bare(some.flatMap((row) => row.fold || [row.step])));
        this.empty.set(node, block);
        this.near.observe(node);
      }
      blocks.push(node);
    }
    return blocks;
  }
  fill(node) {
    const block = this.empty.get(node);
    if (!block) return;
    this.empty.delete(node);
    this.near.unobserve(node);
    replace(node);
    block.fill();
    node.style.height = "";
  }
  // Lines as two texts, their numbers and their words: what costs little, and what the browser's own search finds.
  bare(steps) {
    const own = steps.map(([kind, i, j]) => (kind === -1 || kind === -2 ? [i, this.a[i]] : [j, this.b[j]]));
    return h("div", {class: "bare"}, h("span", {class: "no"}, own.map(([number]) => number + 1).join("\n")),
      h("span", {class: "t"}, own.map(([, id]) => this.line(id)).join("\n")));
  }
  fold(steps) {
    const open = (event) => {
      const opened = h("div", {}, this.blocks(steps.map((step) => ({step}))));
      const focused = event && document.activeElement === button;
      this.closed.delete(steps);
      found.remove();
      button.replaceWith(opened);
      if (focused) this.element.focus({preventScroll: true});
    };
    const button = h("button", {type: "button", class: "fold", "aria-expanded": "false", on: {click: open}},
      `${plural(steps.length, "unchanged line")}: show`);
    const found = h("div", {hidden: "until-found"}, this.bare(steps));
    this.closed.set(steps, open);
    return [button, found];
  }
  row([kind, i, j]) {
    const removed = kind === -1 || kind === -2;
    const text = this.line(removed ? this.a[i] : this.b[j]);
    const [profile, number] = removed ? [this.baseline, i + 1] : [this.profile, j + 1];
    const never = !removed && this.never.has(number);
    const changed = kind === -1 ? " del" : kind === 1 ? " add" : "";
    const found = removed ? [] : this.byLine.get(number) || [];
    const marked = found.some((finding) => finding.severity === "error") ? " marked" : "";
    const numbers = Math.abs(kind) === 2
      ? [h("span", {class: "no"}, number)]
      : [h("span", {class: "no"}, kind === 1 ? "" : i + 1), h("span", {class: "no"}, kind === -1 ? "" : j + 1)];
    const line = h("div", {
      class: "cl" + changed + marked + (never ? " never" : ""),
      "data-line": removed ? null : number,
      title: never ? "no case ran this line" : null
    },
      numbers,
      h("span", {class: "sign"},
        kind === -1    ? "−"
          : kind === 1 ? "+"
                       : ""),
      h("span", {class: "t"},
        ptxLine(text, found.filter((finding) => finding.column).map((finding) => spotOf(text, finding)))),
      profileCells(profile && profile.get(number), this.most, never, /^\s*@\S+\s+bra\b/.test(text)));
    return [line, found.map((finding) => h("div", {class: "inplace", tabindex: -1}, findingBox(finding, false)))];
  }
  toLine(line) {
    for (const [steps, open] of [...this.closed])
      if (steps.some(([kind, , j]) => kind >= 0 && j + 1 === line)) open();
    for (const [node, block] of [...this.empty])
      if (block.lines.includes(line)) this.fill(node);
    const place = this.element.querySelector(`[data-line="${line}"]`);
    if (!place) return false;
    for (const one of this.element.querySelectorAll(".cl.target")) one.classList.remove("target");
    place.classList.add("target");
    place.scrollIntoView({block: "center"});
    (place.nextElementSibling && place.nextElementSibling.matches(".inplace") ? place.nextElementSibling : this.element)
      .focus({preventScroll: true});
    return true;
  }
  // The address of a line, for whoever clicks on its number.
  clicked(event) {
    const row = event.target.matches(".cl > .no") && event.target.parentElement;
    if (!row || !row.dataset.line || !this.addresses) return;
    history.replaceState(null, "", location.hash.split("?")[0] + "?line=" + row.dataset.line);
    for (const one of this.element.querySelectorAll(".cl.target")) one.classList.remove("target");
    row.classList.add("target");
  }
  // On paper nothing comes near by itself.
  expand() {
    for (const node of [...this.empty.keys()]) this.fill(node);
  }
  collapse() {}
  // Of several lines the code alone, without what was removed, counts and findings.
  copied(event) {
    const selection = getSelection();
    if (!selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const texts = [...this.element.querySelectorAll(".cl:not(.del) > .t, .bare > .t")].filter(
      (one) => one.getClientRects().length && range.intersectsNode(one));
    if (texts.length < 2) return;
    const lines = texts.map((one) => {
      const part = document.createRange();
      part.selectNodeContents(one);
      if (one.contains(range.startContainer)) part.setStart(range.startContainer, range.startOffset);
      if (one.contains(range.endContainer)) part.setEnd(range.endContainer, range.endOffset);
      return part.toString();
    });
    event.clipboardData.setData("text/plain", lines.join("\n"));
    event.preventDefault();
  }
  // All of what is shown, as it was handed in.
  whole() { return (this.mode === "baseline" ? this.a : this.b).map((id) => this.line(id)).join("\n") + "\n"; }
  // The next or the last finding in place, unfolded already since changes and findings are never folded.
  findingFrom(step) {
    const all = [...this.element.querySelectorAll(".inplace")];
    if (!all.length) return false;
    const here = all.indexOf(document.activeElement);
    const next = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : (here + step + all.length) % all.length];
    next.focus();
    next.scrollIntoView({block: "center"});
    return true;
  }
}
