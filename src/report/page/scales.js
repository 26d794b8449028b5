// From values to places, and the axes that say so.
"use strict";

function linear(from, to, start, end) {
  const scale = (value) => start + ((value - from) / (to - from || 1)) * (end - start);
  scale.ticks = (wanted) => {
    const step = niceStep((to - from) / Math.max(1, wanted));
    const ticks = [];
    for (let tick = Math.ceil(from / step - 1e-9) * step; tick <= to + step * 1e-9; tick += step)
      ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  };
  return scale;
}
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough - 1e-12) || power * 10;
}
function logarithmic(from, to, start, end) {
  const [low, high] = [Math.log(from), Math.log(to)];
  const scale = (value) => start + ((Math.log(value) - low) / (high - low || 1)) * (end - start);
  scale.ticks = (wanted) => {
    const ticks = [];
    const decades = (high - low) / Math.LN10;
    const steps = decades > 4 ? [1]
      : decades > 2           ? [1, 3]
      : decades > 0.9         ? [1, 2, 5]
      : decades > 0.2         ? [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]
                              : [1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 2, 3, 4, 5, 6, 7, 8, 8.5, 9, 9.5];
    for (let power = Math.floor(low / Math.LN10) - 1; power <= Math.ceil(high / Math.LN10); ++power) {
      for (const step of steps) {
        const tick = step * 10 ** power;
        if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
      }
    }
    while (ticks.length > wanted * 2)
      for (let i = ticks.length - 2; i > 0; i -= 2) ticks.splice(i, 1);
    return ticks;
  };
  return scale;
}
// The range of speed-ups to draw: always with 1, never wider than what is there needs.
function speedRange(values) {
  let [low, high] = [0.9, 1.25];
  for (const value of values) {
    if (!Number.isFinite(value) || value <= 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [Math.max(low * 0.93, 1e-3), high * 1.08];
}

function xAxis(scale, y, {ticks = 6, format = String, title = "", grid = 0, from = 0, to = 0}) {
  const group = s("g", {class: "axis", "aria-hidden": "true"});
  for (const tick of scale.ticks(ticks)) {
    const x = scale(tick);
    if (grid) group.append(s("path", {class: "rule", d: `M${x} ${y}v${- grid}`}));
    group.append(s("text", {x, y: y + 16, "text-anchor": "middle"}, format(tick)));
  }
  group.append(s("path", {class: "base", d: `M${from} ${y}H${to}`}));
  if (title) group.append(s("text", {class: "title", x: to, y: y + 33, "text-anchor": "end"}, title));
  return group;
}
function yAxis(scale, x, {ticks = 5, format = String, title = "", grid = 0}) {
  const group = s("g", {class: "axis", "aria-hidden": "true"});
  for (const tick of scale.ticks(ticks)) {
    const y = scale(tick);
    if (grid) group.append(s("path", {class: "rule", d: `M${x} ${y}h${grid}`}));
    group.append(s("text", {x: x - 8, y: y + 4, "text-anchor": "end"}, format(tick)));
  }
  if (title) group.append(s("text", {class: "title", x: Math.max(0, x - 40), y: 11, "text-anchor": "start"}, title));
  return group;
}

// A drawing with what it shows in words, and the same as a table for whoever wants figures.
function figure(label, draw, table) {
  const box = drawn((width) => {
    const [height, ...parts] = draw(width);
    return s("svg",
      {class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label},
      s("title", {}, label), parts);
  });
  return h("figure", {}, box, table ? h("details", {class: "figures"}, h("summary", {}, "Figures"), table) : null);
}
// The first cell of a row names it.
function plainTable(label, titles, rows, kinds = []) {
  const head = titles.some(Boolean)
    ? h("thead", {}, h("tr", {}, titles.map((title, i) => h("th", {class: kinds[i], scope: "col"}, title))))
    : null;
  const cell = (content, i) => h(i ? "td" : "th", {class: kinds[i], scope: i ? null : "row"}, content);
  return scroller(label,
    h("table", {class: "plain tight" + (head ? "" : " named"), "aria-label": label}, head,
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}
