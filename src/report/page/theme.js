// Light, dark, or as the system has it. In the head, so that the first thing painted has the right colours.
"use strict";

const Theme = {
  names: ["auto", "light", "dark"],
  media: matchMedia("(prefers-color-scheme: dark)"),
  wanted: "auto",

  start() {
    try {
      this.wanted = localStorage.getItem("ptxlab-theme") || "auto";
    } catch {
      // A browser that keeps nothing for files: the system's theme, then.
    }
    if (!this.names.includes(this.wanted)) this.wanted = "auto";
    this.media.addEventListener("change", () => this.apply());
    this.apply();
  },
  apply() {
    const dark = this.wanted === "dark" || (this.wanted === "auto" && this.media.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  },
  next() {
    this.wanted = this.names[(this.names.indexOf(this.wanted) + 1) % this.names.length];
    try {
      localStorage.setItem("ptxlab-theme", this.wanted);
    } catch {
      // as above
    }
    this.apply();
    return this.wanted;
  },
};
Theme.start();
