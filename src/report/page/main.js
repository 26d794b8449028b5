// What is shown follows from the address alone, so that back, forward, reload and links work as everywhere.
"use strict";

const page = {
  run: null,
  places: new Map(),  // what each address was left as

  async start() {
    document.getElementById("theme").addEventListener("click", () => this.theme());
    // To the content, not to another view.
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main").focus();
    });
    this.themeButton();
    this.run = await Run.read();
    const {run} = this;
    const tabs = [
      ["#/", "Overview"], ...(run.tasks.length > 1 ? [["#/tasks", "Tasks"]] : []), ["#/attempts", "Attempts"],
      ["#/about", "How it was made"]
    ];
    this.tabs = run.compare
      ? run.compare.map((one, i) => ["#/pair/" + i, one.a.arm === one.b.arm ? one.a.arm : `${one.a.arm}, ${one.b.arm}`])
      : run.alone ? [["#/", "Attempt"], ["#/about", "How it was made"]]
                  : tabs;
    replace(
      document.getElementById("views"), this.tabs.map(([target, name]) => h("li", {}, h("a", {href: target}, name))));
    replace(document.getElementById("foot"),
      `ptxlab ${run.program}${run.id ? " · run " + run.id : ""} · page made ${
        instant(run.made)}. Everything is in this file; it asks nobody for anything.`);
    startKeys(this);
    addEventListener("hashchange", (event) => this.show(new URL(event.oldURL).hash || "#/"));
    addEventListener("beforeprint", () => this.tables().forEach((table) => table.expand()));
    addEventListener("afterprint", () => this.tables().forEach((table) => table.collapse()));
    history.scrollRestoration = "manual";
    await this.show(null);
    performance.mark("ready");
  },

  tables() {
    return [this.run.listed, this.run.keep && this.run.keep.code].filter((one) => one && one.element.isConnected);
  },

  async show(from) {
    const {run} = this;
    const hash = location.hash || "#/";
    const list = run.listed && run.listed.element.isConnected ? run.listed : null;
    if (from) this.places.set(from, {y: scrollY, list: list && list.place()});
    const [path] = hash.slice(1).split("?");
    const [, view, name] = path.split("/").map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
    const main = document.getElementById("main");
    main.setAttribute("aria-busy", "true");
    run.keep = null;
    let [content, title, trail] = [[], run.name || run.id, []];
    const overviewStep = [run.alone ? "Attempt" : "Overview", "#/"];
    try {
      if (run.compare)
        [content, title] = [compareView(run, Number(name) || 0), "comparison"];
      else if (!view && run.alone)
        content = await attemptView(run, run.key(0));
      else if (!view)
        content = overview(run);
      else if (view === "tasks")
        [content, title, trail] = [tasksView(run), "Tasks", [overviewStep, ["Tasks", null]]];
      else if (view === "task")
        [content, title, trail] = [
          taskView(run, name), name,
          [overviewStep, ...(run.tasks.length > 1 ? [["Tasks", "#/tasks"]] : []), [name, null]]
        ];
      else if (view === "attempts")
        [content, title, trail] = [attemptsView(run), "Attempts", [overviewStep, ["Attempts", null]]];
      else if (view === "about")
        [content, title, trail] = [aboutView(run), "How it was made", [overviewStep, ["How it was made", null]]];
      else if (view === "attempt") {
        content = await attemptView(run, name);
        const row = run.byKey.get(name);
        title = row === undefined ? "Not here" : `${run.text("name", row) || "attempt " + name} (${run.outcome(row)})`;
        if (row !== undefined)
          trail = [
            overviewStep, ...(run.tasks.length > 1 ? [["Tasks", "#/tasks"]] : []),
            [run.tasks[run.rows.task[row]].name, "#/task/" + encodeURIComponent(run.tasks[run.rows.task[row]].name)],
            [
              run.rows.id[row] && run.archived ? "attempt " + run.rows.id[row]
                                               : run.text("name", row) || "sample " + run.rows.sample[row],
              null
            ]
          ];
      } else
        content = missing("This page has no such view.");
    } catch (error) {
      content = h("div", {class: "notice", role: "alert"}, "This part of the page cannot be shown: " + error.message);
      console.error(error);
    }
    if ((location.hash || "#/") !== hash) return;  // somebody was faster
    document.documentElement.classList.toggle(
      "wide", view === "attempt" || view === "attempts" || (!view && Boolean(run.alone)));
    replace(main, content);
    main.setAttribute("aria-busy", "false");
    document.title = plain(title + " · ptxlab report");
    document.querySelector(".trail").hidden = trail.length === 0;
    replace(document.getElementById("trail"), trail.map(([text,
      target]) => h("li", {}, target ? h("a", {href: target}, text) : h("span", {"aria-current": "page"}, text))));
    const chosen = run.compare ? "#/pair/" + (Number(name) || 0)
      : !view                  ? "#/"
      : view === "task"        ? "#/tasks"
      : view === "attempt"     ? "#/attempts"
                               : "#/" + view;
    for (const link of document.querySelectorAll("#views a"))
      if (link.getAttribute("href") === chosen) {
        link.setAttribute("aria-current", "page");
        const bar = link.closest("ul");  // which scrolls aside on narrow screens
        bar.scrollLeft = link.offsetLeft - bar.offsetLeft - 40;
      } else {
        link.removeAttribute("aria-current");
      }
    const line = Number(query().get("line"));
    if (from === null) {
      if (line && run.keep && run.keep.toLine) run.keep.toLine(line);
      return;
    }
    const heading = main.querySelector("h1");
    if (heading) heading.focus({preventScroll: true});
    const place = this.places.get(hash) || {y: 0, list: null};
    if (place.list && run.listed && run.listed.element.isConnected) run.listed.goBack(place.list);
    scrollTo(0, place.y);
    if (line && !this.places.has(hash) && run.keep && run.keep.toLine) run.keep.toLine(line);
  },

  up() {
    const links = document.querySelectorAll("#trail a");
    if (links.length)
      location.hash = links[links.length - 1].getAttribute("href");
    else
      location.hash = "#/";
  },
  // Along the list that was looked at last, else along the rows of the same task.
  sideways(step) {
    const {run} = this;
    const row = run.byKey.get(location.hash.replace("#/attempt/", "").split("?")[0]);
    if (row === undefined) return;
    let rows = run.listed && run.listed.rows.includes(row) ? run.listed.rows : run.byTask[run.rows.task[row]];
    const next = rows[rows.indexOf(row) + step];
    if (next !== undefined) location.hash = "#/attempt/" + run.key(next);
  },
  search() {
    const focus = () => document.querySelector("main input[type=search]")?.focus();
    if (document.querySelector("main input[type=search]")) return focus();
    addEventListener("hashchange", () => setTimeout(focus), {once: true});
    location.hash = "#/attempts";
  },
  theme() {
    const now = Theme.next();
    this.themeButton();
    say("colours: " + (now === "auto" ? "as the system has them" : now));
  },
  themeButton() {
    const shapes = {
      auto: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
      light: "M8 5.2a2.8 2.8 0 1 0 .01 0M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
      dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z"
    };
    const names = {auto: "as the system has it", light: "light", dark: "dark"};
    const button = document.getElementById("theme");
    button.setAttribute("aria-label", "Colours: " + names[Theme.wanted]);
    replace(button, s("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"}, s("path", {d: shapes[Theme.wanted]})));
  },
};

page.start().catch((error) => {
  replace(document.getElementById("main"),
    h("p", {class: "notice", role: "alert"}, "The page's data cannot be read: " + error.message));
  console.error(error);
});
