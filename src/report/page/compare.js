// Two arms on the same tasks: what differs, how sure that is, and what cannot be said. Differences that the run is too small for are
// grey and say so; they are never called better or worse.
"use strict";

const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "±") + share(Math.abs(value)).replace("±", "");

function compareView(all, index) {
  const one = all.compare[index] || all.compare[0];
  const name = (side) => (one.a.arm === one.b.arm ? `${side.arm} of ${side.run}` : side.arm);
  const [first, second] = [name(one.a), name(one.b)];
  const tile = (words, n) => h("dl", {class: "tile"}, h("dt", {}, words), h("dd", {}, count(n)));
  const said = [...one.notes, ...one.left_out.map((text) => "left out: " + text)];
  return [
    h("div", {class: "head"}, h("h1", {tabindex: -1}, second, " against ", first),
      h("ul", {class: "facts"}, h("li", {}, "first ", h("b", {}, one.a.arm), " of run ", h("code", {}, one.a.run)),
        h("li", {}, "second ", h("b", {}, one.b.arm), " of run ", h("code", {}, one.b.run)),
        h("li", {}, h("b", {}, count(one.tasks.length)), one.tasks.length === 1 ? " task" : " tasks",
          " that both have"),
        h("li", {}, one.speeds ? ["speed ", sourceTag(one.speeds)] : "no speeds of one kind in both"))),
    h("div", {class: "tiles"}, tile("tasks solved by both", one.solved.both),
      tile("by the first alone", one.solved.only_a), tile("by the second alone", one.solved.only_b),
      tile("by neither", one.solved.neither)),
    h("div", {class: "grid"}, paired([differencesCard(one, said), ...againstCards(one, first, second), pairTasks(one)]))
  ];
}

const DIFFERENCE_HEADS =
  ["figure", "first", "second", "difference", "interval", "McNemar's p", "tasks", "what may be said"];

function differencesCard(one, said) {
  const shares = one.differences.filter((row) => row.difference !== undefined);
  const ratios = one.differences.filter((row) => row.ratio !== undefined);
  const note =
    "The second less the first, with 95 % intervals by bootstrap over tasks. An interval that holds “no difference” is grey: this run does not resolve it, and a larger one might.";
  const forests = [
    shares.length ? forest("Differences of shares", shares.map((row) => ({...row, value: row.difference})), false)
                  : null,
    ratios.length ? forest("Ratios of speed-ups, " + one.speeds, ratios.map((row) => ({...row, value: row.ratio})),
                      true, one.speeds)
                  : null
  ];
  return card("What differs", note, "long", forests,
    plainTable("What differs", DIFFERENCE_HEADS, one.differences.map((row) => differenceRow(row)),
      ["", "n", "n", "n", "n", "n", "n", ""]),
    said.length ? h("div", {class: "bounds", role: "note"}, h("ul", {}, said.map((text) => h("li", {}, marked(text)))))
                : null);
}

function againstCards(one, first, second) {
  const right = one.tasks.map((task) => ({task: task.task, a: task.right_a, b: task.right_b}));
  const best = one.tasks.filter((task) => task.best_a && task.best_b)
                 .map((task) => ({task: task.task, a: task.best_a, b: task.best_b}));
  const speeds =
    [sourceTag(one.speeds), " Best of the samples, 1× where none was right. Above the line the second is faster."];
  return [
    card("Right, task by task", "Share of right samples. Above the line the second is better.", "half",
      againstChart(right, first, second, false)),
    ...(one.speeds && best.length
        ? [card("Best speed-up, task by task", speeds, "half", againstChart(best, first, second, true, one.speeds))]
        : [])
  ];
}

function pairTasks(one) {
  const ratio = (task) => (task.best_a && task.best_b ? task.best_b / task.best_a : null);
  const number = (title, value, format) => ({title, kind: "n", sort: value, cell: (task) => format(value(task))});
  return card("Tasks", "", "long", sortedTable({
    label: "Tasks",
    items: one.tasks,
    order: 0,
    down: false,
    columns: [
      {title: "task", sort: (task) => task.task, cell: (task) => parted(task.task)},
      number("right, first", (task) => task.right_a, share), number("second", (task) => task.right_b, share),
      number("difference", (task) => task.right_b - task.right_a, signed),
      number("best, first", (task) => task.best_a ?? null, times),
      number("second", (task) => task.best_b ?? null, times), number("ratio", ratio, times)
    ]
  }));
}

function differenceRow(row) {
  const ratio = row.ratio !== undefined;
  const format = ratio ? times : share;
  const [low, high] = row.interval;
  return [
    row.what, format(row.a), format(row.b), ratio ? times(row.ratio) : signed(row.difference),
    ratio ? timesSpan(low, high) : `${signed(low)} to ${signed(high)}`,
    row.p_value === null ? "–" : digits(row.p_value, 2), count(row.tasks),
    h("span", {class: row.resolved ? "tone-good" : "tone-none"},
      row.resolved
        ? (row.value ?? (ratio ? row.ratio - 1 : row.difference)) > 0 ? "the second is higher" : "the second is lower"
        : "not resolved")
  ];
}

// Dots with whiskers around the line of no difference.
function forest(label, rows, ratio, source = "measured") {
  const bounds = rows.flatMap((row) => [row.interval[0], row.value, row.interval[1]])
                   .filter((value) => Number.isFinite(value) && (!ratio || value > 0));
  return figure(label, (width) => {
    const [left, right, top, step] = [Math.min(150, width * 0.3), width - 16, 8, 30];
    const bottom = top + rows.length * step;
    const far = ratio ? Math.max(1.1, ...bounds.map((value) => Math.max(value, 1 / value))) * 1.05
                      : Math.min(1, Math.max(0.05, ...bounds.map(Math.abs)) * 1.08);
    const x = ratio ? logarithmic(1 / far, far, left, right) : linear(-far, far, left, right);
    const clamp = (value, none) =>
      Math.max(left, Math.min(right, Number.isFinite(value) && (!ratio || value > 0) ? x(value) : none));
    return [
      bottom + 40, xAxis(x, bottom, {
        ticks: 7,
        format: ratio ? times : signed,
        from: left,
        to: right,
        grid: bottom - top,
        title: ratio ? "second / first" : "second − first"
      }),
      s("path", {class: "unit", d: `M${x(ratio ? 1 : 0)} ${top}V${bottom}`}), rows.map((row, i) => {
        const y = top + i * step + step / 2;
        return s("g", {class: row.resolved ? "arm-0" : "tone-none"},
          s("title", {},
            `${row.what}: ${differenceRow(row)[3]} (${differenceRow(row)[4]}), ${
              row.resolved ? "resolved" : "not resolved"}`),
          s("text", {x: left - 12, y: y + 4, "text-anchor": "end"}, row.what),
          s("path", {class: "whisker", d: `M${clamp(row.interval[0], left)} ${y}H${clamp(row.interval[1], right)}`}),
          marker(row.resolved ? 0 : 3, clamp(row.value, right), y, row.resolved ? 5 : 4, source));
      })
    ];
  });
}

// A point for each task, the first across and the second up.
function againstChart(points, first, second, speed, source = "measured") {
  return figure(`${second} against ${first}, a point for each task`, (width) => {
    const size = Math.min(width - 90, 380);
    const [left, top] = [66, 22];
    const range = speed ? speedRange(points.flatMap((point) => [point.a, point.b])) : [-0.03, 1.03];
    const across =
      speed ? logarithmic(range[0], range[1], left, left + size) : linear(range[0], range[1], left, left + size);
    const up = speed ? logarithmic(range[0], range[1], top + size, top) : linear(range[0], range[1], top + size, top);
    const format = speed ? times : share;
    return [
      top + size + 42, yAxis(up, left, {format, grid: size, title: shortened(second, 40)}),
      xAxis(across, top + size, {format, grid: size, from: left, to: left + size, title: shortened(first, 40)}),
      s("path", {class: "unit", d: `M${left} ${top + size}L${left + size} ${top}`}), points.map((point, i) => {
        // Equal points lie beside each other, by little.
        const before = points.slice(0, i)
                         .filter((other) => Math.abs(other.a - point.a) + Math.abs(other.b - point.b) < 0.004)
                         .length;
        const [dx, dy] =
          [3 * Math.sqrt(before) * Math.cos(before * 2.4), 3 * Math.sqrt(before) * Math.sin(before * 2.4)];
        return s("g", {class: "arm-0"},
          s("title", {}, plain(`${point.task}: ${format(point.a)} and ${format(point.b)}`)),
          marker(0, across(point.a) + dx, up(point.b) + dy, 4, source));
      })
    ];
  });
}
