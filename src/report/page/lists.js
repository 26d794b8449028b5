// The tasks of the run, one task with its samples, and all attempts with filters.
"use strict";

function query() {
  const at = location.hash.indexOf("?");
  return new URLSearchParams(at < 0 ? "" : location.hash.slice(at + 1));
}

// What an arm came to at a task: from its rows.
function taskArm(run, task, arm) {
  const rows = run.byTask[task].filter((row) => run.rows.arm[row] === arm);
  const samples = new Map();
  for (const row of rows) {
    const number = run.rows.sample[row];
    if (!samples.has(number)) samples.set(number, []);
    samples.get(number).push(row);
  }
  const right = [...samples.values()].filter((turns) => turns.some((row) => run.rows.right[row])).length;
  const speeds =
    rows.filter((row) => run.rows.right[row]).map((row) => ({row, speed: run.speed(row)})).filter((one) => one.speed);
  const measured = speeds.filter((one) => one.speed.source === "measured");
  const best = (measured.length ? measured : speeds).sort((a, b) => b.speed.value - a.speed.value)[0] || null;
  const most = (source) => fastestRow(run, rows.filter((row) => run.rows.right[row]), source);
  return {rows, samples, right, best, measured: most("measured"), estimated: most("estimated")};
}

// Of these rows the fastest by this source; null: none of them has a speed by it.
function fastestRow(run, rows, source) {
  const speeds = run.rows[source];
  return rows.reduce(
    (best, row) => (row !== null && speeds[row] && (best === null || speeds[row][0] > speeds[best][0]) ? row : best),
    null);
}

// Which baseline a measured speed-up is against, where the task's first is not the strongest: "against triton.ptx; 2.43× over the first".
function againstText(run, row) {
  const first = run.rows.over_first[row];
  return first ? `against ${run.text("against", row)}; ${times(first[0])} over the first` : "";
}

function tasksView(run) {
  const wanted = query().get("arm");
  const chosen = wanted === null ? -1 : run.armIndex(wanted);
  const arms = chosen >= 0 ? [chosen] : run.arms.map((_, i) => i);
  const items = run.tasks.map((task, index) => ({task, index, arms: arms.map((arm) => taskArm(run, index, arm))}));
  const sources = ["measured", "estimated"].filter((source) => run.rows[source].some(Boolean));
  const best = (item, source) => fastestRow(run, item.arms.map((one) => one[source]), source);
  const columns = [
    {title: "task", sort: (item) => item.task.name, cell: (item) => parted(item.task.name)},
    {title: "level", kind: "n", sort: (item) => item.task.level, cell: (item) => count(item.task.level)},
    {title: "split", sort: (item) => item.task.split, cell: (item) => item.task.split || "–"},
    ...arms.map((arm, i) => ({
      title: h("span", {}, run.arms[arm].name),
      sort: (item) => item.arms[i].right / (item.arms[i].samples.size || 1),
      cell: (item) => rightCell(item.arms[i], arm)
    })),
    ...sources.map((source) => ({
      title: ["best ", sourceTag(source)],
      kind: "n",
      sort: (item) => (run.rows[source][best(item, source)] || [null])[0],
      cell: (item) => {
        const row = best(item, source);
        if (row === null) return "–";
        const speed = run.rows[source][row];
        const against = source === "measured" ? againstText(run, row) : "";
        return [
          h("span", {class: source === "estimated" ? "estimate" : null}, times(speed[0])),
          h("small", {}, timesSpan(speed[1], speed[2])), against ? h("small", {}, against) : null
        ];
      }
    })),
    ...(arms.length > 4 ? [] : [{
      title: "tags",
      cell: (item) => item.task.tags.slice(0, 4).map((tag) => [h("span", {class: "tag"}, tag), " "])
    }]),
  ];
  const suffix = chosen >= 0 ? "?arm=" + encodeURIComponent(run.arms[chosen].name) : "";
  const picker = h("select", {
    class: "choice",
    "aria-label": "Arm",
    on: {
      change: (event) =>
        (location.hash = "#/tasks" + (event.target.value ? "?arm=" + encodeURIComponent(event.target.value) : ""))
    }
  },
    h("option", {value: ""}, "all arms"),
    run.arms.map((arm, i) => h("option", {value: arm.name, selected: i === chosen}, arm.name)));
  const solved = items.filter((item) => item.arms.some((one) => one.right > 0)).length;
  return [
    h("div", {class: "head"}, h("h1", {tabindex: -1}, chosen >= 0 ? ["Tasks of ", run.arms[chosen].name] : "Tasks"),
      h("p", {class: "lead"},
        `${count(solved)} of ${
          plural(items.length,
            "task")} solved at least once. A bar is the share of right samples; choose a task to see each of them.`)),
    run.arms.length > 1 ? h("div", {class: "filters"}, picker) : null, h("div", {class: "card long"}, sortedTable({
      label: "Tasks",
      columns,
      items,
      order: 0,
      down: false,
      open: (item) => "#/task/" + encodeURIComponent(item.task.name) + suffix,
      className: "heat tight"
    }))
  ];
}
function rightCell(one, arm) {
  const n = one.samples.size;
  if (!n) return "–";
  const fill = h("i", {});
  fill.style.width = (100 * one.right) / n + "%";
  return h("span", {class: armClass(arm), title: `${count(one.right)} of ${plural(n, "sample")} right`},
    h("span", {class: "plainink"}, `${count(one.right)}/${count(n)}`), h("span", {class: "fill"}, fill));
}

function taskView(run, name) {
  const index = run.taskIndex(name);
  if (index < 0) return missing("There is no task of this name in the run.");
  const task = run.tasks[index];
  const wanted = query().get("arm");
  const arms = run.arms.map((_, i) => i)
                 .filter((arm) => run.byTask[index].some((row) => run.rows.arm[row] === arm) &&
                     (wanted === null || run.arms[arm].name === wanted));
  const parts = [h("div", {class: "head"}, h("h1", {tabindex: -1}, task.name),
    task.origin ? h("p", {class: "lead"}, task.origin) : null,
    h("ul", {class: "facts"}, h("li", {}, "family ", h("b", {}, task.family)),
      h("li", {}, "level ", h("b", {}, count(task.level))),
      task.split ? h("li", {}, "split ", h("b", {}, task.split)) : null,
      task.objective ? h("li", {}, "for ", h("b", {}, task.objective)) : null,
      h("li", {}, "version ", h("b", {}, count(task.version))),
      [...task.tags, ...task.facts].map((tag) => h("li", {}, h("span", {class: "tag"}, tag)))))];
  const matrix =
    h("div", {class: "matrix"}, arms.map((arm) => {
      const one = taskArm(run, index, arm);
      return h("div", {class: "line"},
        h("div", {}, armName(run, arm), h("small", {}, ` ${count(one.right)} of ${count(one.samples.size)} right`)),
        h("div", {class: "cells"},
          [
            ...one.samples
          ].map(([number, rows]) => h("span", {class: "sample", role: "group", "aria-label": "sample " + number},
                  rows.map((row) => h("a", {
                    href: "#/attempt/" + run.key(row),
                    class: tone(run.outcome(row)) + (one.best && one.best.row === row ? " best" : ""),
                    title: `sample ${number}, turn ${run.rows.turn[row]}: ${run.outcome(row)}${
                      run.speed(row) ? ", " + times(run.speed(row).value) + " " + run.speed(row).source : ""}`,
                    "aria-label": `sample ${number}, turn ${run.rows.turn[row]}: ${run.outcome(row)}`
                  },
                             sign(run.outcome(row))))))));
    }));
  const rows = run.byTask[index].filter((row) => arms.includes(run.rows.arm[row]));
  const table = attemptTable(run, rows, {task: false});
  run.listed = table;
  return [
    parts,
    h("div", {class: "grid"},
      card("Samples and turns", "A box is a sample, a sign in it a turn; the shaded one is the arm's best. ", "long",
        outcomeLegend(run, rows), matrix)),
    h("h2", {class: "sub"}, "Attempts"), table.element
  ];
}
function outcomeLegend(run, rows) {
  const seen = [...new Set(rows.map((row) => run.outcome(row)))];
  return h("ul", {class: "legend"},
    Object.keys(OUTCOMES)
      .filter((name) => seen.includes(name))
      .map((name) => h("li", {title: OUTCOMES[name].what, class: tone(name)},
             h("span", {class: "badge " + tone(name)}, sign(name), name))));
}
function missing(words) {
  return h("div", {class: "head"}, h("h1", {tabindex: -1}, "Not here"), h("p", {class: "lead"}, words),
    h("p", {}, h("a", {href: "#/"}, "Back to the overview")));
}

// --- attempts -------------------------------------------------------------------------------------------------------------
function attemptTable(run, rows, {task = true, sorted} = {}) {
  const {rows: columns} = run;
  const has = (source) => columns[source].some(Boolean);
  // As wide as the names are, within reason.
  const track = (least, names, most) =>
    `minmax(${least}px, ${8 * Math.min(most, 1 + Math.max(...names.map((one) => one.length)))}px)`;
  const severalTurns = run.turns > 1 || columns.turn.some((turn) => turn > 1);
  const made = new VirtualTable({
    label: "Attempts",
    rows,
    open: (row) => "#/attempt/" + run.key(row),
    least: task ? 1120 : 940,
    sorted,
    columns: [
      {
        title: "attempt",
        track: "84px",
        kind: "n",
        sort: (row) => columns.id[row] || null,
        cell: (row) => h("a", {href: "#/attempt/" + run.key(row), tabindex: -1},
          columns.id[row] && run.archived ? String(columns.id[row]) : "–")
      },
      {
        title: "outcome",
        track: "128px",
        sort: (row) => run.outcome(row),
        cell: (row) => outcomeBadge(run.outcome(row))
      },
      ...(task ? [{
        title: "task",
        track: track(150, run.tasks.map((one) => one.name), 36),
        sort: (row) => run.tasks[columns.task[row]].name,
        cell: (row) => run.tasks[columns.task[row]].name
      }]
               : []),
      {
        title: "arm",
        track: track(130, run.arms.map((one) => one.name + "swatch"), 30),
        sort: (row) => run.arms[columns.arm[row]].name,
        cell: (row) => armName(run, columns.arm[row])
      },
      {
        title: "sample",
        track: "62px",
        kind: "n",
        sort: (row) => columns.sample[row],
        cell: (row) => String(columns.sample[row])
      },
      ...(severalTurns ? [{
        title: "turn",
        track: "48px",
        kind: "n",
        sort: (row) => columns.turn[row],
        cell: (row) => String(columns.turn[row])
      }]
                       : []),
      ...(has("measured") ? [{
        title: "measured",
        track: "78px",
        kind: "n",
        help: "times as fast, timed on a GPU",
        sort: (row) => (columns.measured[row] ? columns.measured[row][0] : null),
        cell: (row) => (columns.measured[row] ? speedText({
          source: "measured",
          value: columns.measured[row][0],
          low: columns.measured[row][1],
          high: columns.measured[row][2]
        })
                                              : "")
      }]
                          : []),
      ...(has("estimated") ? [{
        title: "estimate",
        track: "78px",
        kind: "n",
        help: "times as fast, by the engine's counts; never measured",
        sort: (row) => (columns.estimated[row] ? columns.estimated[row][0] : null),
        cell: (row) => (columns.estimated[row] ? speedText({
          source: "estimated",
          value: columns.estimated[row][0],
          low: columns.estimated[row][1],
          high: columns.estimated[row][2]
        })
                                               : "")
      }]
                           : []),
      {
        title: "regs",
        track: "48px",
        kind: "n",
        help: "registers a thread",
        sort: (row) => columns.registers[row] || null,
        cell: (row) => (columns.registers[row] ? String(columns.registers[row]) : "")
      },
      {
        title: "idea, or why not",
        track: "minmax(220px, 1fr)",
        sort: (row) => words(run, row),
        cell: (row) => words(run, row)
      },
    ]
  });
  return made;
}
function words(run, row) {
  return run.rows.right[row] ? run.text("idea", row) || run.text("name", row) : run.text("reason", row);
}

function attemptsView(run) {
  const wanted = query();
  const all = [...Array(run.count).keys()];
  const table = attemptTable(run, all, {sorted: () => remember()});
  table.orderBy(wanted.get("sort") || "");
  table.element.querySelector(".vscroll").dataset.autofocus = "yes";
  const counted = h("span", {class: "count", role: "status"});
  const pick = (name, label, values) =>
    h("select", {name, "aria-label": label, on: {change: () => filter(true)}}, h("option", {value: ""}, label),
      values.map(([value, text]) => h("option", {value, selected: wanted.get(name) === value}, text)));
  const search = h("input", {
    type: "search",
    name: "q",
    placeholder: "task, idea, reason, code …",
    "aria-label": "Search",
    value: wanted.get("q") || "",
    on: {input: () => filter(true)}
  });
  const selects = [
    run.arms.length > 1 ? pick("arm", "any arm", run.arms.map((arm) => [arm.name, arm.name])) : null,
    pick("outcome", "any outcome",
      run.outcomes.filter((_, i) => run.rows.outcome.includes(i)).map((name) => [name, name])),
    pick("failure", "any kind of failure",
      run.kinds.filter((_, i) => run.rows.failure.includes(i)).map((kind) => [kind.name, kind.words])),
    run.tasks.length > 1 ? pick("task", "any task", run.tasks.map((task) => [task.name, task.name])) : null,
  ].filter(Boolean);
  // What is searched, in small letters, made once.
  let haystack = null;
  function filter(typed) {
    const chosen = Object.fromEntries(selects.map((select) => [select.name, select.value]));
    const words_ = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words_.length && !haystack)
      haystack = all.map((row) => `${run.tasks[run.rows.task[row]].name} ${run.text("name", row)} ${
                           run.text("idea", row)} ${run.text("reason", row)} ${run.text("code", row)} ${
                           run.rows.id[row] ||
                           ""}`.toLowerCase());
    const [arm, task, outcome, kind] = [
      chosen.arm ? run.armIndex(chosen.arm) : -1, chosen.task ? run.taskIndex(chosen.task) : -1,
      chosen.outcome ? run.outcomes.indexOf(chosen.outcome) : -1,
      chosen.failure ? run.kinds.findIndex((one) => one.name === chosen.failure) : -1
    ];
    const rows = all.filter((row) => (arm < 0 || run.rows.arm[row] === arm) &&
        (task < 0 || run.rows.task[row] === task) && (outcome < 0 || run.rows.outcome[row] === outcome) &&
        (kind < 0 || run.rows.failure[row] === kind) && words_.every((word) => haystack[row].includes(word)));
    table.show(rows);
    run.listed = table;
    replace(counted,
      rows.length === all.length ? plural(all.length, "attempt")
                                 : `${count(rows.length)} of ${plural(all.length, "attempt")}`);
    if (typed) remember();
  }
  // In the address, so that it can be kept, sent and come back to.
  function remember() {
    const parts = new URLSearchParams();
    for (const {name, value} of [...selects, search, {name: "sort", value: table.orderWord()}])
      if (value) parts.set(name, value);
    const text = parts.toString();
    history.replaceState(null, "", "#/attempts" + (text ? "?" + text : ""));
  }
  filter(false);
  return [
    h("div", {class: "head"}, h("h1", {tabindex: -1}, "Attempts")),
    h("div", {class: "filters", role: "search"}, search, selects, counted), table.element
  ];
}

// --- what the run was locked to --------------------------------------------------------------------------------------------
function aboutView(run) {
  const facts = [
    ["run", run.id || "not in an archive"], ...(run.command ? [["command", h("code", {}, run.command)]] : []),
    ["made by", "ptxlab " + run.program], ["target", run.target],
    ["device", run.device ? `${run.device}, driver ${run.driver}` : "none"], ...run.toolchain, ["seed", run.seed],
    ["page made", instant(run.made)]
  ];
  return [
    h("div", {class: "head"}, h("h1", {tabindex: -1}, "How it was made")), h("div", {class: "grid"}, paired([
      card("Run", "", "half", plainTable("Run", ["", ""], facts)),
      card("Arms", "", run.arms.some((arm) => arm.settings) ? "long" : "half",
        plainTable("Arms", ["arm", "proposer", "writes", "settings"],
          run.arms.map((arm, i) => [armName(run, i), parted(arm.proposer), arm.language === "cuda" ? "CUDA C" : "PTX",
                         arm.settings ? parted(arm.settings) : "–"]))),
      run.lock
        ? card("Locked spec", "What the run was held to, with the hashes of everything it depends on.", "long",
            h("details", {}, h("summary", {}, "Show"), h("pre", {class: "prose"}, JSON.stringify(run.lock, null, 2))))
        : null,
      card("How to read this page", "", "long",
        h("div", {class: "stack lead"},
          h("p", {}, sourceTag("measured"),
            " figures were timed on a GPU side by side with the baseline, every timed launch checked; points are filled. ",
            sourceTag("estimated"),
            " ones come from counts of the CPU engine; points are hollow, numbers in italics, whiskers dashed. The two never share a mean, a column or an axis."),
          h("p", {},
            `Intervals are ${Math.round((1 - run.metrics.alpha) * 100)} %, by ${
              count(
                run.metrics
                  .draws)} bootstrap draws over tasks and then over the samples of a task. pass@k is the unbiased estimate; fast_p@k counts a sample only where it is right and known to be more than p times as fast, its whole interval beyond p.`),
          h("p", {},
            "A verdict's word “checked” means: passed every gate that ran. Which ran stands on each attempt's page."),
          h("dl", {class: "outcomes"},
            Object.entries(OUTCOMES).map(([name, one]) => [h("dt", {}, outcomeBadge(name)), h("dd", {}, one.what)]))))
    ].filter(Boolean)))
  ];
}
