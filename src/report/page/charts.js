// The charts of the overview but failures and roofline, which have files of their own.
"use strict";

// An estimate knows a task's first baseline alone; the stopwatch times them all.
const baselineOf = (source) => (source === "measured" ? "strongest baseline, measured" : "baseline, estimated");

// A share from 0 to 1 with its interval, as a small bar in a table's cell.
function shareBar(figure, arm) {
  const at = (value) => 5 + Math.max(0, Math.min(1, value)) * 102;
  return s("svg", {class: "cellbar " + armClass(arm), viewBox: "0 0 112 12", "aria-hidden": "true"},
    s("path", {class: "track", d: "M5 6H107"}),
    s("path", {class: "whisker", d: `M${at(figure.low)} 6H${at(figure.high)}`}),
    s("circle", {class: "solid", cx: at(figure.value), cy: 6, r: 4.5}));
}
// The same for a speed-up on a common logarithmic scale; 1 is marked.
function speedBar(figure, source, range, arm) {
  const scale = logarithmic(range[0], range[1], 5, 107);
  // An end that is infinite is null.
  const at = (value) => (value === null ? 107 : Math.max(5, Math.min(107, scale(Math.max(value, range[0])))));
  return s("svg", {class: "cellbar " + armClass(arm), viewBox: "0 0 112 12", "aria-hidden": "true"},
    s("path", {class: "track", d: "M5 6H107"}), s("path", {class: "unit", d: `M${scale(1)} 0V12`}),
    s("path", {class: "whisker " + source, d: `M${at(figure.low)} 6H${at(figure.high)}`}),
    s("circle", {class: source === "estimated" ? "hollow" : "solid", cx: at(figure.value), cy: 6, r: 4.5}));
}

// fast_p of all samples as a curve: the share of tasks for which one is right and known to be more than p times as fast, its whole
// interval beyond p.
function fastCurve(run, source, arms) {
  const speeds = arms.map((arm) => run.metrics.arms[arm].speed.find((one) => one.source === source));
  const known =
    speeds.map((speed) => speed.best.filter((one) => one.row !== null).map((one) => one.known).sort((a, b) => a - b));
  const range = speedRange(known.flat());
  const label = `Share of tasks known to be more than p times as fast, ${source}`;
  return figure(label, (width) => {
    const [left, right, top, bottom] = [46, width - 14, 22, Math.max(220, arms.length * 58 - 22)];
    const x = logarithmic(range[0], range[1], left, right);
    const y = linear(0, 1, bottom, top);
    return [
      bottom + 40, yAxis(y, left, {format: share, grid: right - left, title: "tasks"}),
      xAxis(x, bottom, {format: times, from: left, to: right, title: `p: times as fast as the ${baselineOf(source)}`}),
      s("path", {class: "unit", d: `M${x(1)} ${top}V${bottom}`}), arms.map((arm, i) => {
        const tasks = speeds[i].best.length || 1;
        let [path, above] = [`M${left} ${y(known[i].length / tasks)}`, known[i].length];
        for (const value of known[i]) path += `H${x(Math.max(value, range[0]))}V${y(--above / tasks)}`;
        const middle = Math.floor(known[i].length / 2);
        return s("g", {class: armClass(arm)},
          s("path",
            {class: "curve", d: path, "stroke-dasharray": source === "estimated" ? "2.5 2.5" : armDash(arm) || null}),
          known[i].length
            ? marker(arm, x(Math.max(known[i][middle], range[0])), y((known[i].length - middle) / tasks), 4.5, source)
            : null);
      })
    ];
  }, fastTable(run, label, arms, speeds));
}
function fastTable(run, label, arms, speeds) {
  const listed = speeds.map((speed) => speed.fast.filter((one) => one.k === run.metrics.k));
  return plainTable(label, ["arm", ...listed[0].map((one) => (one.p ? "p = " + one.p : "right")), "tasks"],
    arms.map((arm, i) => [run.arms[arm].name,
               ...listed[i].map((one) => [share(one.value), h("small", {}, shareSpan(one.low, one.high))]),
               count(listed[i].length ? listed[i][0].tasks : 0)]),
    ["", ...listed[0].map(() => "n"), "n"]);
}

// Each task's best, a point each, an arm a line: where the speed-ups lie and which task they belong to.
function speedStrips(run, source, arms) {
  const best = arms.map(
    (arm) => run.metrics.arms[arm].speed.find((one) => one.source === source).best.filter((one) => one.row !== null));
  const range = speedRange(best.flat().flatMap((one) => [one.value]));
  return figure(`Best speed-up of each task, ${source}`,
    (width) => {
      const [left, right, top] = [Math.min(150, width * 0.24), width - 14, 8];
      const height = Math.max(58, 176 / arms.length);
      const bottom = top + arms.length * height;
      const x = logarithmic(range[0], range[1], left, right);
      return [
        bottom + 40, xAxis(x, bottom, {
          format: times,
          from: left,
          to: right,
          grid: bottom - top,
          title: `times as fast as the ${baselineOf(source)}`
        }),
        s("path", {class: "unit", d: `M${x(1)} ${top}V${bottom}`}), arms.map((arm, i) => {
          const middle = top + i * height + height / 2;
          const figures = run.metrics.arms[arm].speed.find((one) => one.source === source);
          const mean = figures.best_of_k[figures.best_of_k.length - 1];
          return s("g", {class: armClass(arm)},
            s("text", {x: left - 12, y: middle + 4, "text-anchor": "end"}, shortened(run.arms[arm].name, 20)),
            swarm(best[i].map((one) => ({one, x: x(Math.max(one.value, range[0]))})), 4.2, height / 2 - 5)
              .map(
                ({one, x: cx, dy}) => s("a", {href: "#/attempt/" + run.key(one.row), tabindex: -1},
                  s("title", {},
                    plain(
                      `${run.tasks[one.task].name}: ${times(one.value)} (${timesSpan(one.low, one.high)}), ${source}`)),
                  marker(arm, cx, middle + dy, 3.6, source))),
            mean ? s("path", {
              class: "focus",
              d: `M${x(Math.max(mean.value, range[0]))} ${middle - height / 2 + 4}V${middle + height / 2 - 4}`,
              "stroke-width": 2
            })
                 : null);
        })
      ];
    },
    plainTable(`Best speed-ups, ${source}`, ["arm", "right", "least", "quarter", "median", "three quarters", "most"],
      arms.map((arm, i) => {
        const sorted = best[i].map((one) => one.value).sort((a, b) => a - b);
        const at = (p) => (sorted.length ? times(sorted[Math.round(p * (sorted.length - 1))]) : "–");
        return [run.arms[arm].name, plural(sorted.length, "task"), at(0), at(0.25), at(0.5), at(0.75), at(1)];
      }),
      ["", "n", "n", "n", "n", "n", "n"]));
}
const intervalWord = (run) => `${Math.round((1 - run.metrics.alpha) * 100)} % interval`;
// Of names that begin alike the end tells them apart.
function shortened(name, most) {
  if (name.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return name.slice(0, most - 1 - end) + "…" + name.slice(name.length - end);
}
function ellipsis(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }
// Points moved up or down until they no longer lie on each other.
function swarm(points, radius, most) {
  const placed = [];
  for (const point of points.sort((a, b) => a.x - b.x)) {
    let dy = 0;
    const near = placed.filter((other) => point.x - other.x < 2 * radius);
    for (let step = 0; step < 40; ++step) {
      dy = (step % 2 ? 1 : -1) * Math.ceil(step / 2) * radius * 0.9;
      if (Math.abs(dy) > most) break;
      if (!near.some((other) => (other.x - point.x) ** 2 + (other.dy - dy) ** 2 < (2 * radius) ** 2 * 0.9)) break;
    }
    placed.push({...point, dy: Math.max(-most, Math.min(most, dy))});
  }
  return placed;
}

// Lines of shares with intervals over a whole number: pass@k by k, right by turn.
function shareLines(run, label, xTitle, all) {
  const lines = all.map(({arm, points}) => ({arm, points: points.filter((point) => point.value !== null)}))
                  .filter(({points}) => points.length);
  const most = Math.max(2, ...lines.flatMap((line) => line.points.map((point) => point.at)));
  return figure(label,
    (width) => {
      const [left, right, top, bottom] = [46, width - 18, 22, 220];
      const x = most > 12 ? logarithmic(1, most, left + 12, right) : linear(1, most, left + 12, right);
      const y = linear(0, 1, bottom, top);
      const ticks = [...new Set(lines.flatMap((line) => line.points.map((point) => point.at)))].sort((a, b) => a - b);
      const fixed = Object.assign((value) => x(value), {ticks: () => ticks});
      return [
        bottom + 40, yAxis(y, left, {format: share, grid: right - left, title: "samples right"}),
        xAxis(fixed, bottom, {format: count, from: left, to: right, title: xTitle}), lines.map(({arm, points}, i) => {
          const shift = (i - (lines.length - 1) / 2) * 5;
          const at = (point) => x(point.at) + shift;
          return s("g", {class: armClass(arm)}, s("path", {
            class: "curve",
            "stroke-dasharray": armDash(arm) || null,
            d: points.map((point, j) => `${j ? "L" : "M"}${at(point)} ${y(point.value)}`).join("")
          }),
            points.map((point) => [s("path", {class: "whisker", d: `M${at(point)} ${y(point.low)}V${y(point.high)}`}),
                         s("g", {},
                           s("title", {},
                             plain(`${run.arms[arm].name}, ${point.at}: ${share(point.value)} (${
                               shareSpan(point.low, point.high)})`)),
                           marker(arm, at(point), y(point.value), 4, "measured"))]));
        })
      ];
    },
    plainTable(label, ["arm", xTitle, "share", intervalWord(run), "tasks", "samples"],
      lines.flatMap(
        ({arm, points}) => points.map((point) => [run.arms[arm].name, count(point.at), share(point.value),
                                        shareSpan(point.low, point.high), count(point.tasks), count(point.samples)])),
      ["", "n", "n", "n", "n", "n"]));
}
