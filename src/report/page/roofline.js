// The roofline: how much of what the device can do a kernel does. The work is the task's [floor]: the bytes and operations that no
// kernel can do without, so that a kernel cannot look better by doing more.
"use strict";

function rooflineCard(run, source) {
  const points = run.roofline.points.filter((point) => point.source === source);
  if (!points.length) return null;
  const ceilings = run.roofline.ceilings.filter((one) => points.some((point) => point.device === one.device));
  const words = ceilings.map((one) => `${one.device}: ${rate(one.gbs)} and ${flops(one.gflops)}, ${
                               one.measured ? "measured on it" : "from the sheet of hardware, not measured"}`);
  const arms = [...new Set(points.map((point) => run.rows.arm[point.row]))].sort((a, b) => a - b);
  return card("Roofline, " + source,
    `Achieved operations against operations a byte, at each task's own least work. Ceilings: ${
      words.join("; ") || "not known"}. Each point is the best right answer of a task, the thin line leads from its ` +
      "baseline; what only moves bytes stands at the left edge.",
    "long", armLegend(run, arms), rooflineChart(run, source, ceilings, points));
}

function rooflineChart(run, source, ceilings, points) {
  const xs = points.map((point) => point.intensity).filter((value) => value > 0);
  const x0 = Math.min(0.05, ...xs) / 1.4;
  const x1 = Math.max(2, ...xs, ...ceilings.map((one) => one.gflops / one.gbs)) * 3;
  // What counts no operations has a place all the same: that of the edge's operations a byte.
  const placed = points.map((point) => ({
    point,
    x: Math.max(point.intensity, x0),
    y: Math.max(point.gflops, point.gbs * x0),
    from: Math.max(point.baseline_gflops, point.baseline_gbs * x0)
  }));
  const ys = placed.flatMap((one) => [one.y, one.from]).filter((value) => value > 0);
  const top = Math.max(...ceilings.map((one) => one.gflops), ...ys) * 1.8;
  const least = Math.min(...ys, ...ceilings.map((one) => one.gbs * x0)) / 1.6;
  const label = `Roofline: achieved operations against operations a byte, ${source}`;
  return figure(label, (width) => {
    const [left, right, up, bottom] = [84, width - 20, 22, 360];
    const x = logarithmic(x0, x1, left, right);
    const y = logarithmic(least, top, bottom, up);
    const format = (value) => (value >= 1 ? count(value) : digits(value, 1));
    const title =
      width < 560 ? `operations a byte, ${source}` : `operations a byte that the task moves at least; ${source}`;
    return [
      bottom + 40,
      yAxis(y, left,
        {ticks: 5, format: (value) => flops(value).replace(/\.0+ /, " "), grid: right - left, title: "achieved"}),
      xAxis(x, bottom, {ticks: 8, format, from: left, to: right, title}),
      ceilings.map((one) => roof(one, x, y, x0, right)), placed.map((one) => roofPoint(run, one, x, y, source)),
      ceilings.map((one) => roofWords(one, x, y, x0, right))
    ];
  }, rooflineTable(run, points));
}

function roof(one, x, y, x0, right) {
  return s("path", {
    class: "roof" + (one.measured ? "" : " sheet"),
    d: `M${x(x0)} ${y(one.gbs * x0)}L${x(one.gflops / one.gbs)} ${y(one.gflops)}H${right}`
  });
}
// Upon the points, with a rim, so that they can be read there.
function roofWords(one, x, y, x0, right) {
  const middle = Math.sqrt((x0 * one.gflops) / one.gbs);
  return [
    s("text", {class: "upon", x: right - 4, y: y(one.gflops) - 9, "text-anchor": "end"},
      `${one.device}: ${flops(one.gflops)}`),
    s("text", {class: "upon", x: x(middle) - 6, y: y(one.gbs * middle) - 8, "text-anchor": "end"}, rate(one.gbs))
  ];
}

function roofPoint(run, {point, x: at, y: achieved, from}, x, y, source) {
  const arm = run.rows.arm[point.row];
  const words = `${run.tasks[run.rows.task[point.row]].name} ${point.size}: ${flops(point.gflops)}, ${
    rate(point.gbs)}, ${share(point.of_roof)} of the ceiling, ${source}`;
  return s("g", {class: armClass(arm)},
    s("a", {href: "#/attempt/" + run.key(point.row), tabindex: -1}, s("title", {}, plain(words)),
      from > 0 ? s("path", {class: "thin", d: `M${x(at)} ${y(from)}V${y(achieved)}`}) : null,
      marker(arm, x(at), y(achieved), 4.5, source)));
}

function rooflineTable(run, points) {
  const rows =
    [...points]
      .sort((a, b) => b.of_roof - a.of_roof)
      .map((point) => [h("a", {href: "#/attempt/" + run.key(point.row)}, run.tasks[run.rows.task[point.row]].name),
             point.size, run.arms[run.rows.arm[point.row]].name, rate(point.gbs), flops(point.gflops),
             share(point.of_roof)]);
  return plainTable(
    "Roofline", ["task", "size", "arm", "bytes", "operations", "of the ceiling"], rows, ["", "", "", "n", "n", "n"]);
}
