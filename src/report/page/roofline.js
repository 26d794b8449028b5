// The roofline: how much of what the device can do a kernel does. The work is the task's [floor]: the bytes and operations that no
// kernel can do without, so that a kernel cannot look better by doing more.
"use strict";

function rooflineCard(run) {
  const {roofline} = run;
  if (!roofline || !roofline.points.length) return null;
  const drawnSources = [...new Set(roofline.points.map((point) => point.source))];
  const words = roofline.ceilings.map((one) => `${one.device}: ${rate(one.gbs)} and ${flops(one.gflops)}, ${
                                        one.measured ? "measured on it" : "from the sheet of hardware, not measured"}`);
  return card("Roofline",
    `Achieved operations against operations a byte, at each task's own least work. Ceilings: ${
      words.join("; ") ||
      "not known"}. Each point is the best right answer of a task; the thin line leads from its baseline.`,
    "long",
    h("div", {class: "legends"},
      armLegend(run, [...new Set(roofline.points.map((point) => run.rows.arm[point.row]))].sort((a, b) => a - b)),
      sourceLegend(drawnSources)),
    rooflineChart(run, roofline));
}

function rooflineChart(run, {ceilings, points}) {
  const xs = points.map((point) => point.intensity);
  const ys = points.flatMap((point) => [point.gflops, point.baseline_gflops]).filter((value) => value > 0);
  const ridge = ceilings.map((one) => one.gflops / one.gbs);
  const [x0, x1] = [Math.min(0.05, ...xs) / 1.4, Math.max(2, ...xs, ...ridge) * 3];
  const top = Math.max(...ceilings.map((one) => one.gflops), ...ys) * 1.8;
  const bottomValue = Math.min(...ys, ...ceilings.map((one) => one.gbs * x0)) / 1.6;
  return figure("Roofline: achieved operations against operations a byte",
    (width) => {
      const [left, right, up, bottom] = [84, width - 20, 22, 360];
      const x = logarithmic(x0, x1, left, right);
      const y = logarithmic(bottomValue, top, bottom, up);
      return [
        bottom + 40, yAxis(y, left, {ticks: 5, format: flops, grid: right - left, title: "achieved"}),
        xAxis(x, bottom, {
          ticks: 8,
          format: (value) => digits(value, value < 1 ? 1 : 2),
          from: left,
          to: right,
          title: "operations a byte of DRAM traffic that the task needs at least"
        }),
        ceilings.map((one) => {
          const knee = one.gflops / one.gbs;
          return s("g", {}, s("path", {
            class: "roof" + (one.measured ? "" : " sheet"),
            d: `M${x(x0)} ${y(one.gbs * x0)}L${x(knee)} ${y(one.gflops)}H${right}`
          }),
            s("text", {x: right - 4, y: y(one.gflops) - 7, "text-anchor": "end"},
              `${one.device}: ${flops(one.gflops)}`),
            s("text", {x: x(Math.sqrt(x0 * knee)) - 6, y: y(one.gbs * Math.sqrt(x0 * knee)) - 8, "text-anchor": "end"},
              rate(one.gbs)));
        }),
        points.map(
          (point) => s("g", {class: armClass(run.rows.arm[point.row])},
            s("a", {href: "#/attempt/" + run.key(point.row), tabindex: -1},
              s("title", {},
                plain(`${run.tasks[run.rows.task[point.row]].name} ${point.size}: ${flops(point.gflops)}, ${
                  rate(point.gbs)}, ${share(point.of_roof)} of the ceiling, ${point.source}`)),
              point.baseline_gflops
                ? s("path", {class: "thin", d: `M${x(point.intensity)} ${y(point.baseline_gflops)}V${y(point.gflops)}`})
                : null,
              marker(run.rows.arm[point.row], x(point.intensity), y(point.gflops), 4.5, point.source))))
      ];
    },
    plainTable(["task", "size", "arm", "source", "achieved", "", "of the ceiling"],
      [...points]
        .sort((a, b) => b.of_roof - a.of_roof)
        .map((point) => [h("a", {href: "#/attempt/" + run.key(point.row)}, run.tasks[run.rows.task[point.row]].name),
               point.size, run.arms[run.rows.arm[point.row]].name, sourceTag(point.source), rate(point.gbs),
               flops(point.gflops), share(point.of_roof)]),
      ["", "", "", "", "n", "n", "n"]));
}
