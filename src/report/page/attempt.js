// One attempt, whole: what was asked, what came, what each gate said, where, and what it cost.
"use strict";

function firstError(gate) { return (gate.findings.find((one) => one.severity === "error") || {message: ""}).message; }

function gateStrip(verdict) {
  const shown = {passed: "tone-good", failed: "tone-bad", skipped: "tone-none", not_run: "tone-none"};
  return h("ol", {class: "gates", "aria-label": "Gates"},
    verdict.gates.map((gate) => h("li", {},
                        h("div", {class: "name"}, h("span", {class: shown[gate.status]}, sign(gate.status)),
                          h("span", {}, gate.name), h("span", {class: "unseen"}, gate.status),
                          gate.milliseconds && gate.status !== "skipped"
                            ? h("span", {class: "ms"}, nanoseconds(gate.milliseconds * 1e6))
                            : null),
                        h("div", {class: "why"},
                          gate.status === "passed"      ? gate.reason || "passed"
                            : gate.status === "failed"  ? gate.reason || firstError(gate) || "failed"
                            : gate.status === "skipped" ? "skipped: " + gate.reason
                                                        : "not run"))));
}

function attemptTiles(run, row, detail) {
  const {verdict} = detail;
  const tiles = [];
  const tile = (name, value, below) => tiles.push(
    h("dl", {class: "tile"}, h("dt", {}, name), h("dd", {}, value), below ? h("dd", {class: "small"}, below) : null));
  if (verdict.timing)
    tile(["times as fast, ", sourceTag("measured")], times(verdict.timing.speedup),
      [`${timesSpan(verdict.timing.low, verdict.timing.high)} on ${verdict.timing.device}`,
        againstText(run, row) ? [h("br"), againstText(run, row)] : ""]);
  const estimated = run.rows.estimated[row];
  if (estimated)
    tile(["times as fast, ", sourceTag("estimated")], h("span", {class: "estimate"}, times(estimated[0])),
      `${timesSpan(estimated[1], estimated[2])}${verdict.estimate ? " for " + verdict.estimate.device : ""}`);
  const cases = verdict.cases.length;
  if (cases)
    tile("cases right", `${count(verdict.cases.filter((one) => one.right).length)} of ${count(cases)}`,
      verdict.oracle ? "by " + verdict.oracle : "");
  if (verdict.resources.length) {
    const most = (key) => Math.max(...verdict.resources.map((one) => one[key]));
    const before = detail.brief && detail.brief.baseline_resources.length
      ? Math.max(...detail.brief.baseline_resources.map((one) => one.registers))
      : null;
    tile("registers a thread", count(most("registers")), [
      before === null ? "" : `${count(before)} of the baseline · `, `${bytes(most("shared"))} shared`,
      most("spill_stores") + most("spill_loads") ? ` · ${bytes(most("spill_stores") + most("spill_loads"))} spilled`
                                                 : ""
    ]);
  }
  const tokens = run.rows.asked[row] + run.rows.answered[row];
  if (tokens)
    tile("model", `${short(tokens)} tokens`,
      `${short(run.rows.asked[row])} asked, ${short(run.rows.answered[row])} answered · ${
        run.rows.usd[row] === null ? "price unknown"
                                   : money(run.rows.usd[row])} · ${seconds(run.rows.ask_seconds[row])}`);
  return tiles.length ? h("div", {class: "tiles"}, tiles) : null;
}

function section(id, title, note, ...content) {
  return h("section", {class: "card long section", id: "s-" + id, "aria-labelledby": "h-" + id},
    h("header", {}, h("h2", {id: "h-" + id}, title), note ? h("p", {}, note) : null), content);
}

const profileMap = (profile) => (profile ? new Map(profile.lines.map((counts) => [counts[0], counts])) : null);
const isPtx = (finding) => /\.ptx$/.test(finding.file);

function ptxSection(detail, keep) {
  const all = detail.verdict.gates.flatMap((gate) => gate.findings);
  const view = new CodeView({
    a: detail.base_ptx < 0 ? null : detail.ids(detail.base_ptx),
    b: detail.ids(detail.ptx),
    line: detail.line,
    findings: all.filter((finding) => isPtx(finding) && finding.line > 0),
    label: "PTX of the candidate against the baseline",
    profile: profileMap(detail.profile),
    baseline: profileMap(detail.baseline_profile),
    never: new Set(detail.verdict.unexecuted_lines),
    mode: detail.base_ptx < 0 ? "candidate" : "diff",
    addresses: true
  });
  keep.code = view;
  const modes = detail.base_ptx < 0 ? [["candidate", "candidate"]]
                                    : [["diff", "difference"], ["candidate", "candidate"], ["baseline", "baseline"]];
  const buttons = modes.map(
    ([mode, name]) =>
      h("button", {type: "button", "aria-pressed": String(mode === view.mode), on: {click: () => choose(mode)}}, name));
  function choose(mode) {
    view.show(mode);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(modes[i][0] === mode)));
  }
  // Where the line is not in what is shown, it is in the whole text.
  keep.toLine = (line) => {
    if (view.mode !== "baseline" && view.toLine(line)) return;
    choose("candidate");
    view.toLine(line);
  };
  keep.nextMode = () => choose(modes[(modes.findIndex(([mode]) => mode === view.mode) + 1) % modes.length][0]);
  const what = detail.profile
    ? `Counted on the CPU engine: ${
        detail.profile
          .of}. Red where a request touches half as much again as it would have to, or half of a warp is idle.`
    : "No counts: the engine did not run it.";
  const left = "The difference is one of words: blanks, empty lines and .loc are left out of it.";
  return section("ptx", "PTX", what + " " + left,
    h("div", {class: "codebar"}, h("div", {class: "seg", role: "group", "aria-label": "What is shown"}, buttons),
      detail.verdict.unexecuted_lines.length
        ? h("span", {}, `${plural(detail.verdict.unexecuted_lines.length, "line")} that no case ran: grey`)
        : null,
      copyButton(() => view.whole())),
    view.element);
}

function planSection(detail) {
  const own = detail.plan < 0;
  const view = new CodeView({
    a: detail.base_plan < 0 ? null : detail.ids(detail.base_plan),
    b: detail.ids(own ? detail.base_plan : detail.plan),
    line: detail.line,
    label: "Launch plan",
    what: "plan",
    profile: null,
    baseline: null,
    never: new Set(),
    findings: detail.verdict.gates.flatMap((gate) => gate.findings)
                .filter((finding) => /\.toml$/.test(finding.file) && finding.line > 0),
    mode: own || detail.base_plan < 0 ? "candidate" : "diff"
  });
  return section("plan", "Launch plan", own ? "The baseline's: the candidate brought none." : "Against the baseline's.",
    view.element);
}

const MOST_FINDINGS = 60;  // of one gate in the list; all stand in the PTX

function findingsSection(detail, keep) {
  const order = {error: 0, warning: 1, note: 2};
  const gates = detail.verdict.gates.filter((gate) => gate.findings.length);
  if (!gates.length) return null;
  const to = {toPlace: (line) => keep.toLine && keep.toLine(line)};
  return section("findings", "Findings", "Those with a place in the PTX stand there too.",
    h("div", {class: "stack"}, gates.map((gate) => {
      const sorted = [...gate.findings].sort((a, b) => order[a.severity] - order[b.severity]);
      const left = sorted.length - MOST_FINDINGS;
      return h("div", {class: "stack"}, h("h3", {}, gate.name),
        sorted.slice(0, MOST_FINDINGS).map((finding) => findingBox(finding, to)),
        left > 0 ? h("p", {}, `and ${plural(left, "more finding")} of this gate`) : null);
    })));
}

function casesSection(verdict) {
  if (!verdict.cases.length) return null;
  const wrong = verdict.cases.filter((one) => !one.right);
  const table = (list) => plainTable("Cases", ["case", "", "what came of it"],
    list.map((one) => [h("code", {}, one.label),
               h("span", {class: one.right ? "tone-good" : "tone-bad"}, sign(one.right ? "passed" : "failed"),
                 h("span", {class: "unseen"}, one.right ? "right" : "wrong")),
               one.summary || (one.right ? "right" : "")]));
  return section("cases", "Cases", verdict.oracle ? "What is right was said by " + verdict.oracle + "." : "",
    wrong.length ? table(wrong) : null,
    h("details", {},
      h("summary", {}, wrong.length ? "All cases" : plural(verdict.cases.length, "case") + ", all right"),
      table(verdict.cases)));
}

function resourcesSection(detail) {
  const {verdict, brief} = detail;
  if (!verdict.resources.length) return null;
  const row = (who, one) => [who, h("code", {}, one.entry), count(one.registers), bytes(one.shared), bytes(one.stack),
    bytes(one.spill_stores) + " / " + bytes(one.spill_loads), count(one.barriers), bytes(one.code_bytes)];
  const parts = [plainTable("Resources",
    ["of", "entry", "registers", "shared", "stack", "spilled, stores / loads", "barriers", "code"],
    [
      ...verdict.resources.map((one) => row("candidate", one)),
      ...(brief ? brief.baseline_resources.map((one) => row("baseline", one)) : [])
    ],
    ["", "", "n", "n", "n", "n", "n", "n"])];
  if (verdict.sass && verdict.sass.length) {
    const names = [...new Set(verdict.sass.flatMap((one) => Object.keys(one.mix)))];
    parts.push(h("details", {}, h("summary", {}, "Machine code by class"),
      plainTable("Machine code by class", ["entry", "instructions", "in loops", ...names],
        verdict.sass.map((one) => [h("code", {}, one.entry), count(one.instructions), count(one.in_loops),
                           ...names.map((name) => count(one.mix[name] || 0))]),
        ["", "n", "n", ...names.map(() => "n")])));
  }
  if (verdict.counters)
    parts.push(h("h3", {}, `Hardware counters at ${verdict.counters.size}`),
      plainTable("Hardware counters", ["counter", "candidate", "baseline", "unit"],
        verdict.counters.list.map((one) => [one.name, digits(one.candidate, 4),
                                    one.baseline === null ? "–" : digits(one.baseline, 4), one.unit]),
        ["", "n", "n", ""]));
  return section("resources", "Resources", "By ptxas, for the judged target.", h("div", {class: "stack"}, parts));
}

function textSection(id, title, note, lines) {
  if (!lines || !lines.length || (lines.length === 1 && !lines[0])) return null;
  const text = lines.join("\n");
  const most = 200000;
  return section(id, title, note, h("div", {class: "codebar"}, copyButton(() => text)),
    h("div", {class: "prose", tabindex: 0, role: "region", "aria-label": title}, text.slice(0, most)),
    text.length > most ? h("p", {}, `… and ${count(text.length - most)} more characters, in the archive`) : null);
}

function briefSection(detail) {
  const {brief} = detail;
  const prompt = textSection("brief", "Brief", "All that the model was asked.", detail.lines(detail.prompt));
  if (prompt || !brief) return prompt;
  const limits = Object.entries(brief.constraints).filter(([, value]) => value !== null);
  const facts = [
    ["task", `${brief.task.name}, version ${brief.task.version}`], ["target", brief.target],
    ["seed", String(brief.seed)], ...limits.map(([name, value]) => [name.replaceAll("_", " "), count(value)]),
    ["earlier attempts told", count(brief.earlier.length)]
  ];
  const source = detail.lines(detail.source);
  return section("brief", "Brief", "What the proposer was told, beside the baseline's PTX and plan above.",
    h("div", {class: "stack"}, plainTable("Brief", ["", ""], facts),
      brief.earlier.length ? plainTable("Earlier attempts", ["earlier", "outcome", "reason"],
                               brief.earlier.map((one) => [one.name, outcomeBadge(one.outcome), one.reason]))
                           : null,
      source && source.join("").trim()
        ? h("details", {}, h("summary", {}, "CUDA source"),
            h("div", {class: "prose", tabindex: 0, role: "region", "aria-label": "CUDA source"}, source.join("\n")))
        : null));
}

function claimsSection(detail) {
  if (!detail.claims || !detail.claims.length) return null;
  return section("claims", "Comments and code", "What the comments claim, held against the code.",
    plainTable("Comments and code", ["claim", "", "comment"],
      detail.claims.map((claim) => [claim.what,
                          h("span", {class: "oneline " + (claim.holds ? "tone-good" : "tone-bad")},
                            sign(claim.holds ? "passed" : "failed"), claim.holds ? " holds" : " does not hold"),
                          h("code", {}, claim.line)])));
}

async function attemptView(run, key) {
  const row = run.byKey.get(key);
  if (row === undefined) return [missing("There is no such attempt in this page.")];
  const detail = await run.detail(row);
  const [task, arm] = [run.tasks[run.rows.task[row]], run.rows.arm[row]];
  const keep = {code: null, nextMode: null, toLine: null};
  const verdict = detail.verdict;
  // A model's candidates are called by sample and turn, which stand below anyway.
  const name = run.text("name", row);
  const heading = name && !/^[\d.]+$/.test(name) ? name : verdict ? "Attempt " + run.key(row) : "No candidate";
  const head = h("div", {class: "head"}, h("h1", {tabindex: -1}, heading),
    h("p", {class: "lead"}, outcomeBadge(run.outcome(row)), " ", run.text("reason", row)),
    run.text("idea", row) ? h("p", {class: "lead"}, "Idea: " + run.text("idea", row)) : null,
    h("ul", {class: "facts"}, h("li", {}, h("a", {href: "#/task/" + encodeURIComponent(task.name)}, task.name)),
      h("li", {}, armName(run, arm)),
      h("li", {}, "sample ", h("b", {}, String(run.rows.sample[row])), ", turn ",
        h("b", {}, String(run.rows.turn[row]))),
      verdict ? h("li", {}, "target ", h("b", {}, verdict.target || run.target)) : null,
      h("li", {}, instant(run.rows.at[row])),
      run.rows.id[row] && run.archived ? h("li", {}, h("code", {}, `ptxlab repro ${run.rows.id[row]}`)) : null),
    siblings(run, row));
  if (!verdict)
    return [
      head, h("p", {class: "notice"}, "No candidate came of this turn, so there is nothing to judge."),
      textSection("answer", "Answer", "All that the model said.", detail.lines(detail.answer)),
      textSection("brief", "Brief", "All that the model was asked.", detail.lines(detail.prompt))
    ];
  const sections = [
    findingsSection(detail, keep), detail.ptx >= 0 && detail.ids(detail.ptx).length ? ptxSection(detail, keep) : null,
    detail.plan >= 0 || (detail.base_plan >= 0 && detail.ptx >= 0) ? planSection(detail) : null,
    verdict.timing ? section("timing", "Timing", "", timingSection(verdict.timing)) : null,
    verdict.estimate ? section("estimate", "Estimate", "", estimateSection(verdict)) : null, casesSection(verdict),
    resourcesSection(detail), claimsSection(detail),
    textSection("cuda", "CUDA C", "What the model wrote; nvcc made the PTX of it.", detail.lines(detail.cuda)),
    textSection("answer", "Answer", "All that the model said, as text.", detail.lines(detail.answer)),
    briefSection(detail)
  ].filter(Boolean);
  const jump = h("nav", {class: "jump", "aria-label": "On this page"}, sections.map((one) => {
    const title = one.querySelector("h2");
    return h("a", {
      href: location.hash || "#/",
      on: {
        click: (event) => {
          event.preventDefault();
          one.scrollIntoView();
          title.tabIndex = -1;
          title.focus({preventScroll: true});
        }
      }
    },
      title.textContent);
  }));
  run.keep = keep;
  return [head, gateStrip(verdict), attemptTiles(run, row, detail), jump, h("div", {class: "grid"}, sections)];
}

// The turns of the same sample, in a line: how it went from one to the next.
function siblings(run, row) {
  const same = run.byTask[run.rows.task[row]].filter(
    (other) => run.rows.arm[other] === run.rows.arm[row] && run.rows.sample[other] === run.rows.sample[row]);
  if (same.length < 2) return null;
  return h("div", {class: "codebar"}, "turns of this sample:",
    same.map((other) => h("a", {
      href: "#/attempt/" + run.key(other),
      class: "badge " + tone(run.outcome(other)),
      "aria-current": other === row ? "true" : null,
      title: run.text("reason", other)
    },
               sign(run.outcome(other)), String(run.rows.turn[other]), " ", run.outcome(other))));
}
