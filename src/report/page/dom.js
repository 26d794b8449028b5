// Elements are made here and nowhere else, and text goes in as text: nothing that a run brings with it (answers of models, PTX,
// names) is ever read as markup. Characters that would hide or reorder what is shown are drawn as small labels instead.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

// C0 and C1 controls but tab and newline, zero-width and bidirectional controls, line separators, tags, variation selectors and
// halves of pairs: what a reader cannot see, or what makes him see something else.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;
const HIDDEN_NAMES = {
  "\u0000": "NUL",
  "\u0007": "BEL",
  "\u0008": "BS",
  "\u000c": "FF",
  "\r": "CR",
  "\u001b": "ESC",
  "\u007f": "DEL",
  "\u00ad": "SHY",
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u2028": "LSEP",
  "\u2029": "PSEP",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};
function hiddenName(character) {
  return HIDDEN_NAMES[character] || "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// For attributes and the window's title, where no labels can stand.
function plain(text) { return String(text).replace(HIDDEN, (character) => "‹" + hiddenName(character) + "›"); }

function appendText(node, text) {
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) node.append(text.slice(from, match.index));
    const label = document.createElement("span");
    label.className = "ctl";
    label.title = "U+" + match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    label.textContent = hiddenName(match[0]);
    node.append(label);
    from = match.index + match[0].length;
  }
  if (from === 0)
    node.append(text);
  else if (from < text.length)
    node.append(text.slice(from));
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child))
      append(node, child);
    else if (child instanceof Node)
      node.append(child);
    else
      appendText(node, String(child));
  }
  return node;
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (name === "vars") {
      for (const [property, set] of Object.entries(value)) node.style.setProperty("--" + property, set);
    } else if (name === "href" && !String(value).startsWith("#")) {
      throw new Error("a link may only lead within the page");
    } else if (name.startsWith("on") || name === "style" || name === "srcdoc" || name === "src") {
      throw new Error("no attribute " + name + " is ever set from here");
    } else {
      node.setAttribute(name, value === true ? "" : name === "value" ? value : plain(value));
    }
  }
  return append(node, children);
}

// h("a", { href: "#/", class: "x", on: { click } }, "text", node, [more])
function h(tag, attributes, ...children) { return build(document.createElement(tag), attributes || {}, children); }
// The same for SVG.
function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes || {}, children);
}

function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

// Said to those who listen to the page instead of looking at it.
function say(text) { replace(document.getElementById("said"), text); }

// A button that puts a text where it can be pasted from. The old way, which asks for no permission and works in files.
function copyButton(text) {
  const button = h("button", {
    type: "button",
    class: "copy",
    on: {
      click: () => {
        const take = (event) => {
          event.clipboardData.setData("text/plain", text());
          event.preventDefault();
          event.stopImmediatePropagation();
        };
        document.addEventListener("copy", take, true);
        const done = document.execCommand("copy");
        document.removeEventListener("copy", take, true);
        say(done ? "copied" : "this browser does not let the page copy");
        replace(button, done ? "copied" : "not copied");
        setTimeout(() => replace(button, "copy"), 1500);
      }
    }
  },
    "copy");
  return button;
}

// Words in which `...` stands for code.
function marked(words) { return String(words).split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part)); }

// A box that scrolls aside where its content is wider than it: then its edges say so, and it can be reached by keys.
function scroller(label, ...content) {
  const box = h("div", {class: "scroller"}, content);
  new ResizeObserver(() => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("more", wide);
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", plain(label)]])
      wide ? box.setAttribute(name, value) : box.removeAttribute(name);
  }).observe(box);
  return box;
}

// A name of several parts, which may be parted there and nowhere else: "norm/rmsnorm_bf16".
function parted(name) { return name.split(/(?<=[/_,@])/).flatMap((part, i) => (i ? [h("wbr", {}), part] : [part])); }

// A box that is drawn for its width, and drawn anew when that changes.
function drawn(draw) {
  const box = h("div", {});
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now === width || now < 40) return;
    width = now;
    replace(box, draw(width));
  }).observe(box);
  return box;
}
