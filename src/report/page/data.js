// The run as the page holds it: a summary in columns, read at once, and the attempts' texts in blocks, each read when one of its
// attempts is opened. Blocks are base64 of raw deflate; the texts of one block are lists of lines that it keeps once.
"use strict";

async function inflated(raw) {
  let stream = null;
  try {
    stream = new DecompressionStream("deflate-raw");
  } catch {
    return new Inflater(raw).all();
  }
  return new Response(new Blob([raw]).stream().pipeThrough(stream)).arrayBuffer();
}

async function unpack(id) {
  const block = document.getElementById(id);
  if (!block) throw new Error("block " + id + " is missing from the page");
  const packed = atob(block.textContent.trim());
  const raw = new Uint8Array(packed.length);
  for (let i = 0; i < raw.length; ++i) raw[i] = packed.charCodeAt(i);
  return JSON.parse(new TextDecoder().decode(await inflated(raw)));
}

const RIGHT = new Set(["faster", "same", "slower", "unverified", "unstable"]);

class Run {
  constructor(summary) {
    Object.assign(this, summary);
    this.count = this.rows.arm.length;
    this.blocks = new Map();
    this.byKey = new Map();
    for (let row = 0; row < this.count; ++row) this.byKey.set(this.key(row), row);
    this.byTask = this.tasks.map(() => []);
    for (let row = 0; row < this.count; ++row) this.byTask[this.rows.task[row]].push(row);
  }

  // Of a comparison there are no rows: it is all in the summary.
  static async read() {
    const summary = await unpack("summary");
    return summary.compare ? {...summary, tasks: [], byKey: new Map()} : new Run(summary);
  }

  // What names a row in links: the archive's number, or its place where no candidate came.
  key(row) {
    const id = this.rows.id[row];
    return id && this.archived ? String(id) : "turn-" + (row + 1);
  }
  text(column, row) {
    const index = this.rows[column][row];
    return index < 0 ? "" : this.strings[index];
  }
  outcome(row) { return this.outcomes[this.rows.outcome[row]]; }
  // The one speed that stands for the row: measured where it was.
  speed(row) {
    const {measured, estimated} = this.rows;
    if (measured[row])
      return {source: "measured", value: measured[row][0], low: measured[row][1], high: measured[row][2]};
    if (estimated[row])
      return {source: "estimated", value: estimated[row][0], low: estimated[row][1], high: estimated[row][2]};
    return null;
  }
  taskIndex(name) { return this.tasks.findIndex((task) => task.name === name); }
  armIndex(name) { return this.arms.findIndex((arm) => arm.name === name); }

  // { verdict, texts ... } of a row, with `lines` of its block. The few blocks used last are kept.
  async detail(row) {
    const [block, slot] = [this.rows.block[row], this.rows.slot[row]];
    const unpacked = this.blocks.get(block) || unpack("block-" + block);
    this.blocks.delete(block);
    this.blocks.set(block, unpacked);  // as the last
    if (this.blocks.size > 6) this.blocks.delete(this.blocks.keys().next().value);
    const read = await unpacked;
    // A text is runs of lines: the first, and how many.
    const ids = (index) => {
      const list = [];
      if (index < 0) return list;
      const runs = read.texts[index];
      for (let i = 0; i < runs.length; i += 2)
        for (let line = 0; line < runs[i + 1]; ++line) list.push(runs[i] + line);
      return list;
    };
    const one = read.attempts[slot];
    const profile = (index) => (index === undefined || index < 0 ? null : read.profiles[index]);
    return {
      ...one,
      profile: profile(one.profile),
      baseline_profile: profile(one.baseline_profile),
      ids,
      line: (id) => read.lines[id],
      lines: (index) => (index < 0 ? null : ids(index).map((line) => read.lines[line]))
    };
  }
}
