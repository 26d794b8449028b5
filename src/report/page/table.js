// Two kinds of tables: small ones whose rows can be sorted and walked by keys, and one for ten thousand rows, of which only those
// in sight exist as elements.
"use strict";

const NAMES =
  new Intl.Collator("en", {numeric: true});  // made once: a new one for each pair takes a second for 10,000 rows
const lacks = (value) => value === null || value === undefined || Number.isNaN(value);
function compare(a, b) {
  if (a === b) return 0;
  if (lacks(a) || lacks(b)) return lacks(a) - lacks(b);
  return typeof a === "string" ? NAMES.compare(a, b) : a - b;
}

// columns: [{ title, kind: "n" or "", help, sort: (item) => value, cell: (item) => content }]; `open(item)` gives the link of a
// row, which stands in its first cell.
function sortedTable({label, columns, items, open, order = 0, down = true, className = ""}) {
  let [by, falling] = [order, down];
  const body = h("tbody", {});
  const heads =
    columns.map((column, i) => h("th", {scope: "col", class: column.kind, title: column.help},
                  column.sort ? h("button", {type: "button", class: "sort", on: {click: () => sortBy(i)}}, column.title)
                              : column.title));
  function sortBy(i) {
    falling = i === by ? !falling : columns[i].kind === "n";
    by = i;
    fill();
  }
  function fill() {
    heads.forEach((head, i) => {
      head.classList.toggle("order", i === by && Boolean(columns[i].sort));
      head.classList.toggle("up", i === by && !falling);
      if (columns[i].sort) head.setAttribute("aria-sort", i === by ? (falling ? "descending" : "ascending") : "none");
    });
    const sort = columns[by].sort;
    // What has no value stays last, whichever way.
    const sorted = sort ? items.map((item) => [sort(item), item])
                            .sort(([a], [b]) => (lacks(a) || lacks(b) ? compare(a, b)
                                      : falling                       ? -compare(a, b)
                                                                      : compare(a, b)))
                            .map(([, item]) => item)
                        : items;
    replace(body, sorted.map((item) => {
      const target = open ? open(item) : null;
      return h("tr", {class: target ? "opens" : null, on: target ? {click: (event) => followRow(event, target)} : {}},
        columns.map((column, i) => {
          const content = column.cell(item);
          return i === 0 && target ? h("th", {scope: "row", class: column.kind}, h("a", {href: target}, content))
                                   : h("td", {class: column.kind}, content);
        }));
    }));
  }
  const table = h("table", {class: "plain rows " + className, "aria-label": label, on: {keydown: walkRows}},
    h("thead", {}, h("tr", {}, heads)), body);
  fill();
  return scroller(label, table);
}
function followRow(event, target) {
  if (event.target.closest("a, button, summary") || event.ctrlKey || event.metaKey || String(getSelection())) return;
  location.hash = target;
}
// Up and down among the rows' links.
function walkRows(event) {
  const step = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1}[event.key];
  const here = event.target.closest("tbody tr");
  if (!step || !here || event.ctrlKey || event.metaKey || event.altKey) return;
  let row = here;
  do row = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  while (row && !row.querySelector("a"));
  if (!row) return;
  row.querySelector("a").focus();
  event.preventDefault();
}

const ROW = 34;    // pixels, as .vrow has it
const SPARE = 12;  // rows drawn above and below those in sight

// columns: [{ title, track, kind, sort: (row) => value, cell: (row) => content }]; rows are numbers. `open(row)` is the link of one,
// `sorted()` is told of another order.
class VirtualTable {
  constructor({label, columns, rows, open, least = 900, sorted = () => {}}) {
    Object.assign(this, {columns, open, order: null, label, sorted});
    this.current = 0;
    this.pool = [];
    this.id = "v" + VirtualTable.made++;
    this.heads = columns.map(
      (column, i) => h("span", {role: "columnheader", class: column.kind, title: column.help},
        column.sort ? h("button", {type: "button", on: {click: () => this.sortBy(i)}}, column.title) : column.title));
    this.head = h("div", {class: "vhead", role: "row", "aria-rowindex": 1}, this.heads);
    this.body = h("div", {class: "vbody", role: "rowgroup"});
    this.nothing = h("p", {class: "none", hidden: true}, rows.length ? "None fits." : "There are none yet.");
    this.scroll = h("div", {
      class: "vscroll",
      role: "grid",
      tabindex: 0,
      "aria-label": label,
      "aria-colcount": columns.length,
      "aria-readonly": "true",
      on: {scroll: () => this.soon(), keydown: (event) => this.key(event)}
    },
      h("div", {role: "rowgroup"}, this.head), this.body, this.nothing);
    this.element =
      h("div", {class: "vtable", vars: {tracks: columns.map((column) => column.track).join(" "), least: least + "px"}},
        this.scroll);
    this.resized = new ResizeObserver(() => this.soon());
    this.resized.observe(this.scroll);
    this.show(rows);
  }

  // Other rows, in their own order until they are sorted.
  show(rows, keep = null) {
    this.given = rows;
    this.sort();
    this.current = Math.max(0, keep === null ? 0 : this.rows.indexOf(keep));
    this.scroll.setAttribute("aria-rowcount", this.rows.length + 1);
    this.body.style.height = this.rows.length * ROW + "px";
    this.nothing.hidden = this.rows.length > 0;
    // A short list needs no tall box.
    this.scroll.style.height = this.rows.length < 18 ? Math.max(3, this.rows.length) * ROW + 52 + "px" : "";
    this.reveal();
    this.draw(true);
  }
  sortBy(i) {
    const down = this.order && this.order.by === i ? !this.order.down : this.columns[i].kind === "n";
    const keep = this.rows[this.current];
    this.order = {by: i, down};
    this.show(this.given, keep);
    this.sorted();
    say(`sorted by ${this.columns[i].title}, ${down ? "falling" : "rising"}`);
  }
  // What somebody comes back to: the order, the row that was chosen and how far it was scrolled; the order alone as a word of the
  // address, "-title" where it falls.
  place() { return {order: this.order, row: this.rows[this.current], top: this.scroll.scrollTop}; }
  goBack({order, row, top}) {
    this.order = order;
    this.show(this.given, row);
    this.scroll.scrollTop = top;
    this.draw(true);
  }
  orderWord() { return this.order ? (this.order.down ? "-" : "") + this.columns[this.order.by].title : ""; }
  orderBy(word) {
    const down = word.startsWith("-");
    const by = this.columns.findIndex((column) => column.sort && column.title === word.slice(down ? 1 : 0));
    this.order = by < 0 ? null : {by, down};
  }
  sort() {
    this.rows = this.given.slice();
    this.heads.forEach((head, i) => {
      const chosen = Boolean(this.order) && this.order.by === i;
      head.classList.toggle("order", chosen);
      head.classList.toggle("up", chosen && !this.order.down);
      if (this.columns[i].sort)
        head.setAttribute("aria-sort", chosen ? (this.order.down ? "descending" : "ascending") : "none");
    });
    if (!this.order) return;
    const value = this.columns[this.order.by].sort;
    const keyed = this.rows.map((row) => [value(row), row]);
    const sign = this.order.down ? -1 : 1;
    keyed.sort(([a, p], [b, q]) => (lacks(a) || lacks(b) ? compare(a, b) : sign * compare(a, b)) || p - q);
    this.rows = keyed.map(([, row]) => row);
  }
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw(false);
    });
  }
  draw(anew) {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - SPARE);
    const last =
      Math.min(this.rows.length, Math.ceil((this.scroll.scrollTop + (this.scroll.clientHeight || 800)) / ROW) + SPARE);
    const wanted = new Set();
    for (let i = first; i < last; ++i) wanted.add(i);
    const free = [];
    for (const slot of this.pool) {
      if (!anew && wanted.has(slot.at))
        wanted.delete(slot.at);
      else
        free.push(slot);
    }
    for (const at of wanted) {
      let slot = free.pop();
      if (!slot) {
        slot = {node: h("div", {class: "vrow", role: "row"})};
        slot.node.addEventListener("click", (event) => this.clicked(slot.at, event));
        this.pool.push(slot);
        this.body.append(slot.node);
      }
      this.fill(slot, at);
    }
    for (const slot of free) {
      slot.at = -1;
      slot.node.hidden = true;
    }
    this.mark();
  }
  fill(slot, at) {
    const row = this.rows[at];
    slot.at = at;
    slot.node.hidden = false;
    slot.node.id = this.id + "-" + at;
    slot.node.setAttribute("aria-rowindex", at + 2);
    slot.node.style.transform = `translateY(${at * ROW}px)`;
    replace(slot.node, this.columns.map((column) => {
      const content = column.cell(row);
      return h("span", {
        role: "gridcell",
        class: column.kind,
        title: typeof content === "string" && content.length > 12 ? content : null
      },
        content);
    }));
  }
  mark() {
    for (const {node, at} of this.pool) {
      node.className = "vrow" + (at % 2 ? " even" : "") + (at === this.current ? " current" : "");
      node.setAttribute("aria-selected", at === this.current);
    }
    if (this.rows.length)
      this.scroll.setAttribute("aria-activedescendant", this.id + "-" + this.current);
    else
      this.scroll.removeAttribute("aria-activedescendant");
  }
  reveal() {
    const top = this.current * ROW;
    const room = (this.scroll.clientHeight || 600) - 36 - ROW;
    if (top < this.scroll.scrollTop)
      this.scroll.scrollTop = top;
    else if (top > this.scroll.scrollTop + room)
      this.scroll.scrollTop = top - room;
  }
  clicked(at, event) {
    this.current = at;
    this.mark();
    if (!event.target.closest("a") && !event.ctrlKey && !event.metaKey && !String(getSelection()))
      location.hash = this.open(this.rows[at]);
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / ROW) - 2);
    const step = {ArrowDown: 1,
      j: 1,
      ArrowUp: -1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity}[event.key];
    if (event.key === "Enter" && this.rows.length && event.target === this.scroll) {
      location.hash = this.open(this.rows[this.current]);
    } else if (step !== undefined) {
      this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + step));
      this.reveal();
      this.draw(false);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
  // On paper there is no scrolling: all rows, up to as many as a printer should be asked for.
  expand() {
    this.scroll.style.height = "auto";
    const most = Math.min(this.rows.length, 3000);
    replace(this.body);
    for (let at = 0; at < most; ++at) {
      const slot = {node: h("div", {class: "vrow", role: "row"})};
      this.fill(slot, at);
      this.body.append(slot.node);
    }
    if (most < this.rows.length)
      this.body.append(h("p", {class: "none"}, `and ${count(this.rows.length - most)} more`));
  }
  collapse() {
    replace(this.body);
    this.pool = [];
    this.show(this.given, this.rows[this.current]);
  }
}
VirtualTable.made = 0;
