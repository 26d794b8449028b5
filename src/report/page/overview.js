// The run at a glance: who was right how often, how fast what was right is, and what it cost. No figure stands without the number
// of tasks and samples behind it and its interval, and measured and estimated ones never share a column.
"use strict";

function card(title, note, size, ...content) {
  const id = "card-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", {class: "card " + size, "aria-labelledby": id},
    h("header", {}, h("h2", {id}, title), note ? h("p", {}, note) : null), content);
}

function runHead(run) {
  const sources = [...new Set(run.metrics.arms.flatMap((arm) => arm.speed.map((speed) => speed.source)))];
  const fact = (n, one, many = one + "s") => h("li", {}, h("b", {}, count(n)), " ", n === 1 ? one : many);
  const made = run.bench ? [
    fact(run.arms.length, "arm"), fact(run.tasks.length, "task"),
    h("li", {}, h("b", {}, "k = " + count(run.k)), " samples a task"),
    fact(run.turns, "turn a sample", "turns a sample")
  ]
                         : [fact(run.count, "attempt")];
  return h("div", {class: "head"}, h("h1", {tabindex: -1}, run.name || run.id),
    h("ul", {class: "facts"}, made, h("li", {}, "target ", h("b", {}, run.target || "–")),
      h("li", {}, run.device ? ["on ", h("b", {}, run.device)] : "no GPU: nothing was measured"),
      sources.map((source) => h("li", {}, "speed ", sourceTag(source))), h("li", {}, instant(run.started))));
}
// What bounds the figures stands below the first of them; that samples are missing stands above all.
function missingSamples(run) {
  const missing = run.metrics.arms.reduce((sum, arm) => sum + arm.missing, 0);
  if (!missing) return null;
  const all = run.metrics.arms.reduce((sum, arm) => sum + arm.samples, 0) + missing;
  return h("p", {class: "notice", role: "note"},
    run.whole
      ? `${count(missing)} of ${plural(all, "sample")} met trouble of the machine and count nowhere.`
      : `The run is not finished: ${count(missing)} of ${plural(all, "sample")} are missing and count nowhere.`);
}
function notes(run) {
  const all = [...run.metrics.notes];
  if (run.rejudged_from) all.unshift(`the candidates are those of run ${run.rejudged_from}, judged again`);
  return all.length ? h("div", {class: "bounds", role: "note", "aria-label": "What bounds these figures"},
                        h("ul", {}, all.map((note) => h("li", {}, marked(note)))))
                    : null;
}

// The figure large; its interval below, and what it stands on where that is not what the row says (`n`).
function shareCell(figure, arm, n) {
  if (!figure || figure.value === null) return h("span", {class: "tone-none"}, "–");
  return [
    h("span", {class: "big"}, share(figure.value)), shareBar(figure, arm),
    h("small", {}, shareSpan(figure.low, figure.high) + otherN(figure, n))
  ];
}
const standsOn = (figure) => `${count(figure.tasks)} × ${digitsOf(figure)}`;
const otherN = (figure, n) => (n === standsOn(figure) ? "" : ` · ${standsOn(figure)}`);
// Samples a task, or all samples where tasks have different numbers of them.
function digitsOf(figure) {
  const each = figure.samples / (figure.tasks || 1);
  return Number.isInteger(each) ? count(each) : each.toFixed(1);
}
function speedCell(figure, source, range, arm, n) {
  if (!figure || figure.value === null) return h("span", {class: "tone-none"}, "–");
  return [
    h("span", {class: "big" + (source === "estimated" ? " estimate" : "")}, times(figure.value)),
    speedBar(figure, source, range, arm), h("small", {}, timesSpan(figure.low, figure.high) + otherN(figure, n))
  ];
}
const last = (list) => list[list.length - 1];

function leaderboard(run) {
  const {metrics} = run;
  const k = metrics.k;
  const percent = Math.round((1 - metrics.alpha) * 100);
  const sources = ["measured", "estimated"].filter(
    (source) => metrics.arms.some((arm) => arm.speed.some((speed) => speed.source === source)));
  const at = (list, wanted) => list.find((one) => one.k === wanted);
  const ofRow = (arm) => (at(arm.right, 1) ? standsOn(at(arm.right, 1)) : "");
  const ofSource = (arm, source) => arm.speed.find((speed) => speed.source === source);
  const means = metrics.arms.flatMap((arm) => arm.speed.map((speed) => last(speed.best_of_k))).filter(Boolean);
  const range =
    speedRange(means.flatMap((figure) => [figure.low, figure.value, Math.min(figure.high, figure.value * 3)]));
  const columns = [
    {
      title: "arm",
      sort: (arm) => run.arms[arm.arm].name,
      cell: (arm) => [armName(run, arm.arm), h("small", {}, armWords(run, arm))]
    },
    {
      title: "right, pass@1",
      kind: "",
      help: "share of samples found right by all gates that ran",
      sort: (arm) => (at(arm.right, 1) || {}).value,
      cell: (arm) => shareCell(at(arm.right, 1), arm.arm, ofRow(arm))
    },
  ];
  if (k > 1)
    columns.push({
      title: `right, pass@${k}`,
      help: `chance that one of ${k} samples is right (unbiased)`,
      sort: (arm) => (at(arm.right, k) || {}).value,
      cell: (arm) => shareCell(at(arm.right, k), arm.arm, ofRow(arm))
    });
  columns.push({
    title: "assembles, pass@1",
    help: "share of samples that ptxas takes",
    sort: (arm) => (at(arm.assembled, 1) || {}).value,
    cell: (arm) => shareCell(at(arm.assembled, 1), arm.arm, ofRow(arm))
  });
  for (const source of sources) {
    columns.push({
      title: [`fast₁@${k} `, sourceTag(source)],
      help:
        "share of tasks for which one of k samples is right and known to be faster: its whole interval lies beyond 1",
      sort: (arm) => (fastAt(ofSource(arm, source), 1, k) || {}).value,
      cell: (arm) => shareCell(fastAt(ofSource(arm, source), 1, k), arm.arm, ofRow(arm))
    });
    columns.push({
      title: [`best of ${k} `, sourceTag(source)],
      help: "geometric mean over tasks of the best right of k samples; 1 where none is right",
      sort: (arm) => (ofSource(arm, source) ? last(ofSource(arm, source).best_of_k) : {}).value,
      cell: (arm) =>
        speedCell(ofSource(arm, source) && last(ofSource(arm, source).best_of_k), source, range, arm.arm, ofRow(arm))
    });
  }
  columns.push({
    title: "cost a success",
    kind: "n",
    help: "all that was spent, divided by the samples that came out right",
    sort: (arm) => (arm.cost.usd_a_success ? arm.cost.usd_a_success.value : null),
    cell: costCell
  });
  return card("Leaderboard",
    `Below each figure: its ${
      percent} % interval over tasks (docs/bench.md). An arm's tasks × samples stand below its name. Fast and best count a task without a right answer as 1×. Choose an arm to see its tasks.`,
    "long", sortedTable({
      label: "Leaderboard",
      columns,
      items: metrics.arms,
      order: 1,
      open: (arm) => "#/tasks?arm=" + encodeURIComponent(run.arms[arm.arm].name)
    }),
    notes(run));
}
function fastAt(speed, p, k) { return speed ? speed.fast.find((one) => one.p === p && one.k === k) : null; }
function armWords(run, arm) {
  const first = arm.right.find((one) => one.k === 1);
  const words =
    [first && first.tasks ? `${plural(first.tasks, "task")} × ${digitsOf(first)}` : plural(arm.samples, "sample")];
  if (run.arms[arm.arm].language === "cuda") words.unshift("writes CUDA C");
  if (arm.missing) words.push(`${count(arm.missing)} missing`);
  return words.join(" · ");
}
function costCell(arm) {
  const {cost} = arm;
  const tokens = cost.asked + cost.answered;
  if (!tokens && !cost.requests)
    return [h("span", {}, "no model"), h("small", {}, seconds(cost.ask_seconds + cost.judge_seconds) + " in all")];
  const main = cost.usd === null
    ? h("span", {class: "tone-none", title: "the model's price is not in the data file"}, "price unknown")
    : cost.usd_a_success ? h("span", {class: "big"}, money(cost.usd_a_success.value))
                         : h("span", {}, money(cost.usd) + ", no success");
  const spans =
    cost.usd !== null && cost.usd_a_success ? span(cost.usd_a_success.low, cost.usd_a_success.high, money) : "";
  return [
    main, h("small", {}, spans),
    h("small", {class: "words"},
      `${cost.tokens_a_success ? short(cost.tokens_a_success.value) : "∞"} tokens${
        cost.tokens_estimated ? " (partly estimated)" : ""}`)
  ];
}

// The arm that is right most often; where several are, all of them.
function rightMost(run) {
  const all = run.metrics.arms.map((arm) => ({arm, figure: arm.right.find((one) => one.k === 1)}))
                .filter(({figure}) => figure && figure.tasks)
                .sort((a, b) => b.figure.value - a.figure.value);
  if (!all.length) return null;
  const first = all.filter(({figure}) => figure.value === all[0].figure.value);
  const name = shortened(run.arms[first[0].arm.arm].name, 40);
  return {figure: first[0].figure, names: first.length > 1 ? `${name} and ${count(first.length - 1)} more` : name};
}

// What stands at the top: one sentence's worth of figures.
function headline(run) {
  const tiles = [];
  const tile = (name, value, below) => tiles.push(
    h("dl", {class: "tile"}, h("dt", {}, name), h("dd", {}, value), below ? h("dd", {class: "small"}, below) : null));
  const right = [...Array(run.count).keys()].filter((row) => run.rows.right[row]);
  const leader = run.bench ? rightMost(run) : null;
  if (leader)
    tile(run.arms.length > 1 ? "right most often, pass@1" : "right, pass@1", share(leader.figure.value), [
      run.arms.length > 1 ? h("b", {}, leader.names) : null, run.arms.length > 1 ? " · " : "",
      `${shareSpan(leader.figure.low, leader.figure.high)} · ${plural(leader.figure.tasks, "task")} × ${
        digitsOf(leader.figure)}`
    ]);
  else
    tile("right", `${count(right.length)} of ${count(run.count)}`, "attempts found right by all gates that ran");
  const best = right.map((row) => ({row, speed: run.speed(row)})).filter((one) => one.speed);
  for (const source of ["measured", "estimated"]) {
    const top = best.filter((one) => one.speed.source === source).sort((a, b) => b.speed.value - a.speed.value)[0];
    if (top)
      tile([`best, `, sourceTag(source)], h("a", {href: "#/attempt/" + run.key(top.row)}, times(top.speed.value)),
        `${timesSpan(top.speed.low, top.speed.high)} · ${run.tasks[run.rows.task[top.row]].name}`);
  }
  const solved = run.byTask.filter((rows) => rows.some((row) => run.rows.right[row])).length;
  if (run.tasks.length > 1)
    tile("tasks solved", `${count(solved)} of ${count(run.tasks.length)}`,
      `by any arm, in any sample; ${count(right.length)} of ${plural(run.count, "turn")} right`);
  const spent = run.metrics.arms.reduce((sum, arm) => sum + arm.cost.asked + arm.cost.answered, 0);
  const clock = run.metrics.arms.reduce((sum, arm) => sum + arm.cost.ask_seconds + arm.cost.judge_seconds, 0);
  if (clock > 0)
    tile("work", seconds(clock),
      spent ? `asking and judging · ${short(spent)} tokens` : "asking and judging, all threads together");
  return h("div", {class: "tiles"}, tiles);
}

// Parts of the run side by side: families, levels, splits, tags.
function groups(run) {
  const order = ["family", "level", "split", "tag", "fact"];
  const keys = [...new Set(run.metrics.arms.flatMap((arm) => arm.groups.map((group) => group.key)))].sort(
    (a, b) => order.indexOf(a) - order.indexOf(b));
  if (!keys.length) return null;
  const box = h("div", {});
  const buttons =
    keys.map((key) => h("button", {type: "button", "aria-pressed": "false", on: {click: () => choose(key)}}, key));
  function choose(key) {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(keys[i] === key)));
    const values = [
      ...new Set(
        run.metrics.arms.flatMap((arm) => arm.groups.filter((group) => group.key === key).map((group) => group.value)))
    ].sort(compare);
    replace(box,
      scroller("Right by " + key,
        h("table", {class: "plain tight heat", "aria-label": "Right by " + key},
          h("thead", {},
            h("tr", {}, h("th", {scope: "col"}, key),
              run.metrics.arms.map((arm) => h("th", {scope: "col", class: "n"}, run.arms[arm.arm].name)))),
          h("tbody", {},
            values.map((value) => h("tr", {}, h("th", {scope: "row"}, value), run.metrics.arms.map((arm) => {
              const group = arm.groups.find((one) => one.key === key && one.value === value);
              if (!group) return h("td", {class: "cell"}, "–");
              const fill = h("i", {});
              fill.style.width = 100 * group.right.value + "%";
              return h("td", {
                class: "cell " + armClass(arm.arm),
                title: `${shareSpan(group.right.low, group.right.high)}; ${plural(group.right.tasks, "task")}, ${
                  plural(group.right.samples, "sample")}`
              },
                h("span", {}, share(group.right.value)),
                h("small", {}, `${group.right.low < group.right.high ? shareSpan(group.right.low, group.right.high) : "no draws: no interval"} · n ${
                  count(group.right.samples)}`),
                h("span", {class: "fill"}, fill));
            })))))));
  }
  choose(keys[0]);
  return card("Where it works", "Share of samples that are right (pass@1), by part of the task set.",
    run.arms.length > 2 ? "long" : "half",
    h("div", {class: "codebar"}, h("div", {class: "seg", role: "group", "aria-label": "Group by"}, buttons)), box);
}

function claims(run) {
  const arms = run.metrics.arms.filter((arm) => arm.claims && arm.claims.with_claims);
  if (!arms.length) return null;
  return card("Comments and code",
    "What a candidate's comments claim of its code, checked against the code, beside whether the candidate is right. The odds ratio is of being right, all claims true against some false.",
    "half",
    plainTable("Comments and code",
      ["arm", "claims that hold", "right, all true", "right, some false", "odds ratio", "p"], arms.map((arm) => {
        const c = arm.claims;
        const of = (a, b) => (a + b ? `${count(a)} of ${count(a + b)}` : "–");
        return [
          run.arms[arm.arm].name, `${count(c.hold)} of ${count(c.claims)}`, of(c.true_right, c.true_wrong),
          of(c.false_right, c.false_wrong), c.odds_ratio === null ? "–" : digits(c.odds_ratio, 2),
          c.p_value === null ? "–" : digits(c.p_value, 2)
        ];
      }),
      ["", "n", "n", "n", "n", "n"]));
}

function costs(run) {
  const arms = run.metrics.arms.filter((arm) => arm.cost.requests || arm.cost.ask_seconds + arm.cost.judge_seconds > 0);
  if (!arms.length) return null;
  const whole = (figure, format) =>
    (figure ? [format(figure.value), h("small", {}, span(figure.low, figure.high, format))] : "–");
  return card("Cost",
    "Totals, and what one right sample took of them. Time is that of all threads together; a price that is not known is never guessed.",
    "long",
    plainTable("Cost",
      ["arm", "requests", "tokens asked", "answered", "of it reasoning", "spent", "a success", "time a success"],
      arms.map((arm) => {
        const c = arm.cost;
        return [
          armName(run, arm.arm), count(c.requests), short(c.asked) + (c.tokens_estimated ? " ≈" : ""),
          short(c.answered), short(c.reasoning), c.requests ? money(c.usd) : "–", whole(c.usd_a_success, money),
          whole(c.seconds_a_success, seconds)
        ];
      }),
      ["", "n", "n", "n", "n", "n", "n", "n"]));
}

function overview(run) {
  const {metrics} = run;
  const arms = metrics.arms.map((_, i) => i);
  const parts = [runHead(run), missingSamples(run), headline(run)];
  const cards = [];
  if (run.bench || run.tasks.length > 1)
    cards.push(leaderboard(run));
  else
    cards.push(ranking(run));
  for (const source of ["measured", "estimated"]) {
    const with_ = arms.filter((arm) => metrics.arms[arm].speed.some(
                                (speed) => speed.source === source && speed.best.some((one) => one.row !== null)));
    if (!with_.length || run.tasks.length < 2) continue;
    cards.push(card("How fast, " + source,
      "The curve is fast_p of all samples: the share of tasks with an answer that is right and known to be more than p times as fast, its whole interval beyond p. It begins at the share of tasks solved.",
      "half", armLegend(run, with_), fastCurve(run, source, with_)));
    cards.push(card("Speed of each task, " + source,
      `The best right answer of each task${
        source === "estimated" ? "; estimated, so drawn hollow"
                               : ""}. The upright line is the geometric mean of the best of k.`,
      "half", speedStrips(run, source, with_)));
  }
  if (run.bench && metrics.k > 1)
    cards.push(card("Right by samples", "pass@k, unbiased, with intervals.", "half", armLegend(run, arms),
      shareLines(run, "pass@k by k", "k samples",
        metrics.arms.map((arm) => ({arm: arm.arm, points: arm.right.map((one) => ({at: one.k, ...one}))})))));
  if (run.turns > 1 && metrics.arms.some((arm) => arm.turns.length > 1))
    cards.push(card("Right by turns", "Share of samples right by the time of a turn: what repair and reflection add.",
      "half", armLegend(run, arms),
      shareLines(run, "Share right by turn", "turn",
        metrics.arms.map((arm) => ({arm: arm.arm, points: arm.turns.map((one) => ({at: one.turn, ...one.right}))})))));
  const told = run.bench || metrics.arms.some((arm) => arm.failures.some((one) => one.kind !== "none"));
  cards.push(told ? failureCard(run) : null, rooflineCard(run, "measured"), rooflineCard(run, "estimated"),
    run.tasks.length > 1 ? groups(run) : null, costs(run), run.bench ? claims(run) : null);
  return [parts, h("div", {class: "grid"}, paired(cards.filter(Boolean)))];
}
// Half cards stand two and two; one without a neighbour takes the whole width, so that no hole is left.
function paired(cards) {
  const half = (card) => card && card.classList.contains("half");
  for (let i = 0; i < cards.length; ++i) {
    if (!half(cards[i])) continue;
    if (half(cards[i + 1]))
      ++i;
    else
      cards[i].classList.replace("half", "long");
  }
  return cards;
}

// The speed-ups of one source, each with its interval on a common scale.
function speedColumn(run, rows, source) {
  const speed = (row) => {
    const three = run.rows[source][row];
    return three && {value: three[0], low: three[1], high: three[2]};
  };
  const known = rows.map(speed).filter(Boolean);
  const range = speedRange(known.flatMap((one) => [one.low, one.value, Math.min(one.high, 3 * one.value)]));
  const className = "big" + (source === "estimated" ? " estimate" : "");
  return {
    title: ["times as fast ", sourceTag(source)],
    sort: (row) => (speed(row) || {}).value,
    cell: (row) => {
      const one = speed(row);
      if (!one) return "–";
      const bar = speedBar(one, source, range, run.rows.arm[row]);
      return [h("span", {class: className}, times(one.value)), bar, h("small", {}, timesSpan(one.low, one.high))];
    }
  };
}

const MOST_RANKED = 200;

// A run of optimise: its attempts, best first, each speed with its interval.
function ranking(run) {
  const rows = [...Array(run.count).keys()];
  const order = (row) => (run.rows.right[row] ? 0 : 1);
  rows.sort((a, b) => order(a) - order(b) ||
      compare(-(run.speed(a) || {value: -1}).value, -(run.speed(b) || {value: -1}).value));
  const sources = ["measured", "estimated"].filter((source) => run.rows[source].some(Boolean));
  const left = rows.length - MOST_RANKED;
  return card("Attempts",
    "Right ones first, the fastest at the top. A filled point was measured on a GPU, a hollow one is an estimate, and a line is its interval." +
      (left > 0 ? ` These are the first ${count(MOST_RANKED)}; ${count(left)} more stand under Attempts.` : ""),
    "long", sortedTable({
      label: "Attempts",
      items: rows.slice(0, MOST_RANKED),
      order: 0,
      columns: [
        {
          title: "candidate",
          cell: (row) => [run.text("name", row) || "no candidate", h("small", {}, ellipsis(run.text("idea", row), 90))]
        },
        {title: "outcome", sort: (row) => run.outcome(row), cell: (row) => outcomeBadge(run.outcome(row))},
        ...sources.map((source) => speedColumn(run, rows, source)),
        {
          title: "registers",
          kind: "n",
          sort: (row) => run.rows.registers[row] || null,
          cell: (row) => (run.rows.registers[row] ? count(run.rows.registers[row]) : "–")
        },
        {title: "by", sort: (row) => run.arms[run.rows.arm[row]].name, cell: (row) => armName(run, run.rows.arm[row])},
        {title: "what was found", cell: (row) => ellipsis(run.text("reason", row), 160)},
      ],
      open: (row) => "#/attempt/" + run.key(row)
    }));
}
