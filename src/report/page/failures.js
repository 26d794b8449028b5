// Why attempts fail, as a tree: stage, kind, and the codes that decided. It can be walked by the arrow keys as trees are.
"use strict";

function failureCard(run) {
  const arms = run.metrics.arms;
  const kinds = run.kinds
                  .map((kind, index) => (
                         {...kind, index, arms: arms.map((arm) => arm.failures.find((one) => one.kind === kind.name))}))
                  .filter((kind) => kind.arms.some(Boolean));
  const total = arms.map((arm) => arm.failures.reduce((sum, one) => sum + one.turns, 0));
  const all = total.reduce((a, b) => a + b, 0);
  if (!all) return null;
  const turns = (kind) => kind.arms.map((one) => (one ? one.turns : 0));
  const stages = [...new Set(kinds.map((kind) => kind.stage))].map((stage) => {
    const own = kinds.filter((kind) => kind.stage === stage);
    return {stage, kinds: own, turns: arms.map((_, i) => own.reduce((sum, kind) => sum + turns(kind)[i], 0))};
  });
  const most = Math.max(...stages.map((stage) => sum(stage.turns)));
  const tree =
    h("ul", {class: "tree", role: "tree", "aria-label": "Failures by stage, kind and code", on: {keydown: walkTree}},
      stages.map((stage) => {
        const children = stage.kinds.map((kind) => kindItem(run, kind, turns(kind), most, all));
        return treeItem("stage", stage.stage, stage.turns, most, all, null, children, stage.stage !== "right");
      }));
  tree.querySelector('[role="treeitem"]').tabIndex = 0;
  return card("How turns ended",
    `All ${
      count(
        all)} turns, by the gate that ended them and what came of them; coloured by arm. Arrow keys open and walk the tree, Enter lists the attempts.`,
    "half", arms.length > 1 ? armLegend(run, arms.map((arm) => arm.arm)) : null, tree);
}
const sum = (list) => list.reduce((a, b) => a + b, 0);

function kindItem(run, kind, turns, most, all) {
  const codes = new Map();
  for (const one of kind.arms)
    if (one)
      for (const [code, n] of one.codes) codes.set(code, (codes.get(code) || 0) + n);
  const sorted = [...codes].sort((a, b) => b[1] - a[1]);
  const rest = sorted.slice(12);
  const children = sorted.slice(0, 12).map(
    ([code, n]) => treeItem("code", code || "(no code)", [n], most, all,
      "#/attempts?failure=" + kind.name + (code ? "&q=" + encodeURIComponent(code) : ""), [], false));
  if (rest.length)
    children.push(treeItem("code", `${plural(rest.length, "other code")}`, [sum(rest.map(([, n]) => n))], most, all,
      "#/attempts?failure=" + kind.name, [], false));
  return treeItem("kind", kind.words, turns, most, all, "#/attempts?failure=" + kind.name, children, false, kind.name);
}

function treeItem(level, words, turns, most, all, target, children, open, name = "") {
  const n = sum(turns);
  const bar = h("span", {class: "segments", "aria-hidden": "true"}, turns.map((value, i) => {
    if (!value) return null;
    const part = h("i", {class: turns.length > 1 ? armClass(i) : "tone-none"});
    part.style.width = (100 * value) / most + "%";
    return part;
  }));
  const label =
    h("span", {class: "label"}, h("span", {class: "turn", "aria-hidden": "true"}, children.length ? "▸" : ""),
      target ? h("a", {href: target, tabindex: -1, title: name}, words) : h("span", {}, words));
  const item = h("li", {
    role: "treeitem",
    class: level,
    tabindex: -1,
    "aria-expanded": children.length ? String(open) : null,
    "aria-label": `${words}: ${plural(n, "turn")}, ${share(n / all)}`
  },
    h("div", {
      class: "node",
      on: {
        click: (event) => {
          if (!event.target.closest("a") && children.length) toggle(item);
        }
      }
    },
      label, bar, h("span", {class: "n"}, `${count(n)} · ${share(n / all)}`)),
    children.length ? h("ul", {role: "group"}, children) : null);
  return item;
}
function toggle(item, open = item.getAttribute("aria-expanded") !== "true") {
  if (item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", String(open));
}
function walkTree(event) {
  const item = event.target.closest('[role="treeitem"]');
  if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
  const shown = [...event.currentTarget.querySelectorAll('[role="treeitem"]')].filter(
    (one) => !one.parentElement.closest('[aria-expanded="false"]'));
  const here = shown.indexOf(item);
  let next = null;
  if (event.key === "ArrowDown" || event.key === "j")
    next = shown[here + 1];
  else if (event.key === "ArrowUp" || event.key === "k")
    next = shown[here - 1];
  else if (event.key === "Home")
    next = shown[0];
  else if (event.key === "End")
    next = shown[shown.length - 1];
  else if (event.key === "ArrowRight")
    item.getAttribute("aria-expanded") === "false" ? toggle(item, true)
                                                   : (next = item.querySelector('[role="treeitem"]'));
  else if (event.key === "ArrowLeft")
    item.getAttribute("aria-expanded") === "true" ? toggle(item, false)
                                                  : (next = item.parentElement.closest('[role="treeitem"]'));
  else if (event.key === "Enter") {
    const link = item.querySelector(":scope > .node a");
    if (link)
      location.hash = link.getAttribute("href");
    else
      toggle(item);
  } else
    return;
  event.preventDefault();
  event.stopPropagation();
  if (next) {
    for (const one of shown) one.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
