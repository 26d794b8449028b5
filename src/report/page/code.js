// PTX beside what is known of each line: the difference from the baseline, findings at their place, what the engine counted.
"use strict";

const PTX_WORDS =
  /(\/\/.*$|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*")|(%[A-Za-z_$][\w$]*(?:\.[xyzw])?)|(\b0[xX][0-9a-fA-F]+\b|\b0[fFdD][0-9a-fA-F]+\b|(?<![\w$%.])\d+(?:\.\d+)?\b)|(\.[A-Za-z_]\w*(?:::\w+)*)|([A-Za-z_$][\w$]*(?:\.[\w:]+)*)/g;

// A line of PTX in spans; `text` may be anything at all.
function ptxLine(text) {
  if (text.length > 2000) return [text];
  const parts = [];
  let [from, instruction] = [0, true];
  for (const match of text.matchAll(PTX_WORDS)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    const [all, comment, string, register, number, directive, word] = match;
    let kind = comment ? "k-com" : string ? "k-num" : register ? "k-reg" : number ? "k-num" : directive ? "k-dir" : "";
    if (word && text[match.index + all.length] === ":")
      kind = "k-lab";
    else if (word && instruction && /^[\s{]*(?:@!?%[\w$]+\s+)?$/.test(text.slice(0, match.index)))
      [kind, instruction] = ["k-op", false];
    parts.push(kind ? h("span", {class: kind}, all) : all);
    from = match.index + all.length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
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

// What a line cost, in four cells; `most`: the highest count of warps of either text.
function profileCells(counts, most) {
  if (!counts) return [0, 0, 0, 0].map(() => h("span", {class: "f"}));
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
    h("span", {class: "f" + (warps && lanes < 16 ? " waste" : ""), title: "active lanes of a warp, on average"},
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
      if (!this.byLine.has(finding.line)) this.byLine.set(finding.line, []);
      this.byLine.get(finding.line).push(finding);
    }
    this.most = 1;
    for (const profile of [this.profile, this.baseline])
      if (profile)
        for (const counts of profile.values()) this.most = Math.max(this.most, counts[1]);
    this.element = h("div", {class: "codebox", tabindex: 0, role: "region", "aria-label": this.label});
    this.empty = new Map();  // blocks whose lines are not made yet, by their nodes
    this.near = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.fill(entry.target)),
      {root: this.element, rootMargin: "1500px 0px"});
    this.show(this.mode);
  }
  // Two lines that differ in blanks only are the same; empty lines and .loc stand in the whole texts alone.
  compared() {
    const keys = new Map();
    const side = (ids) => ids.map((id, at) => ({at, text: this.line(id)}))
                            .filter(({text}) => !/^\s*(\.loc\s|$)/.test(text))
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
    block.fill();
    node.style.height = "";
  }
  fold(steps) {
    const button = h("button", {
      type: "button",
      class: "fold",
      on: {
        click: () => {
          const opened = h("div", {}, this.blocks(steps.map((step) => ({step}))));
          button.replaceWith(opened);
          this.element.focus();
        }
      }
    },
      `${plural(steps.length, "unchanged line")}: show`);
    return button;
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
      h("span", {class: "t"}, ptxLine(text)), profileCells(profile && profile.get(number), this.most));
    return [
      line,
      found.map((finding) => [finding.column ? caret(text, finding) : null,
                  h("div", {class: "inplace", tabindex: -1}, findingBox(finding, false))])
    ];
  }
  toLine(line) {
    for (const [node, block] of this.empty)
      if (block.lines.includes(line)) this.fill(node);
    const place = this.element.querySelector(`[data-line="${line}"]`);
    if (!place) return;
    place.scrollIntoView({block: "center"});
    (place.nextElementSibling && place.nextElementSibling.matches(".inplace") ? place.nextElementSibling : this.element)
      .focus({preventScroll: true});
  }
  // On paper nothing comes near by itself.
  expand() {
    for (const node of [...this.empty.keys()]) this.fill(node);
  }
  collapse() {}
  // The next or the last finding in place, unfolded already since changes and findings are never folded.
  findingFrom(step) {
    const all = [...this.element.querySelectorAll(".inplace")];
    if (!all.length) return false;
    const here = all.indexOf(document.activeElement);
    const next = all[(here + step + all.length) % all.length] || all[0];
    next.focus();
    next.scrollIntoView({block: "center"});
    return true;
  }
}
function caret(text, finding) {
  const bytesBefore = finding.column - 1;
  const before = text.slice(0, bytesBefore).replace(/[^\t]/g, " ");
  return h("div", {class: "caret", "aria-hidden": "true"},
    before + "^" +
      "~".repeat(Math.max(0, Math.min(60, (finding.length || 1) - 1))));
}
