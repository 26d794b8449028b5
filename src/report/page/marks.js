// Signs that stand for outcomes, gates, arms and sources. Each has a shape of its own: colour only helps.
"use strict";

const OUTCOMES = {
  faster: {tone: "good", what: "right and faster than the strongest baseline, measured"},
  same: {tone: "calm", what: "right and as fast as the baseline, or the same code"},
  unverified: {tone: "calm", what: "right by all gates that could run here; its speed is not measured"},
  slower: {tone: "slow", what: "right and slower than the strongest baseline, measured"},
  unstable: {tone: "warn", what: "right, but no figure to rely on"},
  wrong: {tone: "bad", what: "it ran and put out something else"},
  faulted: {tone: "grave", what: "a checker's error, a fault of the GPU, or it did not end"},
  malformed: {tone: "warn", what: "no legal PTX, or none at all"},
  rejected: {tone: "warn", what: "refused by policy or by ptxas"},
  cheating: {tone: "grave", what: "evidence of intent to deceive the judge"},
  infrastructure: {tone: "none", what: "trouble of the machine; nobody's fault"},
};

const SHAPES = {
  faster: [["path", {d: "M6 1.5 11 10.5H1z", fill: "currentColor"}]],
  slower: [["path", {d: "M6 10.5 1 1.5h10z", fill: "currentColor"}]],
  same: [["path", {d: "M1.5 4.2h9M1.5 7.8h9", stroke: "currentColor", "stroke-width": 2, fill: "none"}]],
  unverified: [["circle", {cx: 6, cy: 6, r: 4.4, fill: "none", stroke: "currentColor", "stroke-width": 1.8}]],
  unstable:
    [["path", {d: "M1 7c1.7-4 3.3-4 5-1s3.3 3 5-1", stroke: "currentColor", "stroke-width": 1.9, fill: "none"}]],
  wrong: [["path", {d: "M2 2l8 8M10 2l-8 8", stroke: "currentColor", "stroke-width": 2.3, fill: "none"}]],
  faulted: [["path", {d: "M6 .8 11.2 6 6 11.2.8 6z", fill: "currentColor"}]],
  malformed: [[
    "path", {d: "M2 1.5h8v9H2z", fill: "none", stroke: "currentColor", "stroke-width": 1.7, "stroke-dasharray": "3 1.6"}
  ]],
  rejected: [
    ["circle", {cx: 6, cy: 6, r: 4.4, fill: "none", stroke: "currentColor", "stroke-width": 1.8}],
    ["path", {d: "M3 9l6-6", stroke: "currentColor", "stroke-width": 1.8}]
  ],
  cheating: [[
    "path", {
      d: "M2.5 11.5v-11M2.5 1.5h8l-2.5 2.7 2.5 2.800h-8",
      fill: "currentColor",
      stroke: "currentColor",
      "stroke-width": 1.2
    }
  ]],
  infrastructure:
    [["rect", {x: 2, y: 2, width: 8, height: 8, fill: "none", stroke: "currentColor", "stroke-width": 1.7}]],
  passed: [["path", {d: "M1.5 6.5 4.7 9.7 10.5 2.6", fill: "none", stroke: "currentColor", "stroke-width": 2.1}]],
  skipped: [["path", {d: "M2 6h8", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "2 1.5"}]],
  not_run: [["circle", {cx: 6, cy: 6, r: 1.6, fill: "currentColor"}]],
  none: [["circle", {cx: 6, cy: 6, r: 1.2, fill: "currentColor"}]],
};
SHAPES.failed = SHAPES.wrong;

function sign(name) {
  return s("svg", {viewBox: "0 0 12 12", "aria-hidden": "true", class: "sign"},
    (SHAPES[name] || SHAPES.none).map(([tag, at]) => s(tag, at)));
}
function tone(outcome) { return "tone-" + (OUTCOMES[outcome] ? OUTCOMES[outcome].tone : "none"); }
function outcomeBadge(outcome) {
  return h("span", {class: "badge " + tone(outcome), title: OUTCOMES[outcome] ? OUTCOMES[outcome].what : ""},
    sign(outcome), outcome);
}
function sourceTag(source) {
  return h("span", {
    class: "source " + source,
    title: source === "measured" ? "timed on a GPU beside the baseline"
                                 : "from counts of the CPU engine; never measured"
  },
    source);
}

// A speed with its interval in words; estimates are set in italics besides their label.
function speedText(speed) {
  if (!speed) return h("span", {class: "tone-none"}, "–");
  const label = timesSpan(speed.low, speed.high);
  return h("span", {class: speed.source === "estimated" ? "estimate" : null, title: speed.source + ", " + label},
    times(speed.value));
}

const DASHES = ["", "6 3", "2 3", "9 3 2 3", "4 2", "1 3", "7 2 1 2 1 2", "3 5"];
const armClass = (index) => "arm-" + (index % 8);
// Of more than eight arms colours come again, each time with another dash and marker.
const nth = (list, index) => list[(index + 3 * Math.floor(index / 8)) % list.length];
const armDash = (index) => nth(DASHES, index);
const MARKERS = ["circle", "square", "triangle", "diamond", "cross", "hexagon", "down", "bar"];

// A data point: filled where it was measured, hollow where estimated; the shape is the arm's.
function marker(index, x, y, size, source) {
  const kind = source === "estimated" ? "hollow" : "solid";
  const r = size;
  const path = {
    square: `M${- r} ${- r}h${2 * r}v${2 * r}h${- 2 * r}z`,
    triangle: `M0 ${- 1.2 * r}L${1.15 * r} ${0.9 * r}H${- 1.15 * r}z`,
    diamond: `M0 ${- 1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${- 1.3 * r} 0z`,
    cross: `M${- r} ${- r / 3}h${(2 * r) / 3}v${(-2 * r) / 3}h${(2 * r) / 3}v${(2 * r) / 3}h${(2 * r) / 3}v${
      (2 * r) / 3}h${(-2 * r) / 3}v${(2 * r) / 3}h${(-2 * r) / 3}v${(-2 * r) / 3}h${(-2 * r) / 3}z`,
    hexagon: `M${- r} 0l${r / 2} ${- r}h${r}l${r / 2} ${r}l${- r / 2} ${r}h${- r}z`,
    down: `M0 ${1.2 * r}L${1.15 * r} ${- 0.9 * r}H${- 1.15 * r}z`,
    bar: `M${- r / 2} ${- 1.3 * r}h${r}v${2.6 * r}h${- r}z`,
  }[nth(MARKERS, index)];
  if (!path) return s("circle", {class: kind, cx: x, cy: y, r});
  return s("path", {class: kind, d: path, transform: `translate(${x} ${y})`});
}
function armSwatch(index) {
  return s("svg", {class: "swatch " + armClass(index), viewBox: "0 0 26 12", "aria-hidden": "true"},
    s("path", {d: "M1 6h24", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": armDash(index) || null}),
    marker(index, 13, 6, 4, "measured"));
}
function armName(run, index) {
  return h(
    "span", {class: "arm"}, h("span", {class: armClass(index)}, armSwatch(index)), h("span", {}, run.arms[index].name));
}
function armLegend(run, arms) {
  return h("ul", {class: "legend"},
    arms.map((index) =>
               h("li", {class: armClass(index)}, armSwatch(index), h("span", {class: "name"}, run.arms[index].name))));
}
