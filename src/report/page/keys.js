// The keyboard: everything that the mouse can do. Keys that a field or a list takes for itself come there first.
"use strict";

const KEYS = [
  ["1 2 3 4", "overview, tasks, attempts, how it was made"],
  ["↑ ↓ or k j", "up and down in the list that has the focus"],
  ["Enter", "open what is chosen"],
  ["u or Backspace", "up: from an attempt to its task, from there to the overview"],
  ["[ ]", "the attempt before and after this one in the list"],
  ["n p", "next and previous finding in the PTX"],
  ["d", "difference, candidate, baseline"],
  ["/", "search the attempts"],
  ["t", "light, dark, as the system has it"],
  ["?", "this list"],
  ["Esc", "close it"],
];

function keysDialog() {
  const dialog = document.getElementById("keys");
  replace(dialog, h("h2", {id: "keys-title"}, "Keys"),
    h("dl", {},
      KEYS.map(
        ([keys,
          what]) => [h("dt", {}, keys.split(" ").map((key) => (key === "or" ? " or " : [h("kbd", {}, key), " "]))),
          h("dd", {}, what)])),
    h("button", {
      type: "button",
      class: "button",
      on: {click: () => (dialog.close ? dialog.close() : dialog.removeAttribute("open"))}
    },
      "Close"));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && dialog.close) dialog.close();
  });
  return dialog;
}

// Where there are no dialogs it stands at the page's end.
function openKeys(dialog) {
  if (dialog.showModal)
    dialog.showModal();
  else
    dialog.toggleAttribute("open");
}

function startKeys(page) {
  const dialog = keysDialog();
  document.getElementById("help").addEventListener("click", () => openKeys(dialog));
  document.addEventListener("keydown", (event) => {
    if (dialog.hasAttribute("open") && !dialog.showModal && event.key === "Escape") openKeys(dialog);
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog.hasAttribute("open")) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (handle(page, event, dialog)) event.preventDefault();
  });
}

function handle(page, event, dialog) {
  const {run} = page;
  if (run.compare && "1234u[]npd/".includes(event.key)) return false;
  switch (event.key) {
    case "1": location.hash = "#/"; return true;
    case "2": location.hash = "#/tasks"; return true;
    case "3": location.hash = "#/attempts"; return true;
    case "4": location.hash = "#/about"; return true;
    case "u":
    case "Backspace": page.up(); return true;
    case "[": page.sideways(-1); return true;
    case "]": page.sideways(1); return true;
    case "n": return Boolean(run.keep && run.keep.code && run.keep.code.findingFrom(1));
    case "p": return Boolean(run.keep && run.keep.code && run.keep.code.findingFrom(-1));
    case "d":
      if (run.keep && run.keep.nextMode) run.keep.nextMode();
      return true;
    case "t": page.theme(); return true;
    case "?": openKeys(dialog); return true;
    case "/": page.search(); return true;
    case "j":
    case "ArrowDown": return firstRow(event);
    default: return false;
  }
}
// From nowhere in particular into the page's first list.
function firstRow(event) {
  if (event.target.closest("a, button, .codebox, .prose, [role=treeitem]")) return false;
  const list = document.querySelector("main .vscroll, main table.rows tbody a");
  if (!list) return false;
  list.focus();
  return true;
}
