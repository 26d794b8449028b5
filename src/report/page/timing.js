// What the stopwatch measured, and what the estimate says: two sections that never mix.
"use strict";

function timingSection(timing) {
  return h("div", {class: "stack"},
    h("p", {}, sourceTag("measured"), " on ", timing.device,
      `, whose driver supports CUDA ${timing.driver}. Over the sizes `, h("b", {}, times(timing.speedup)),
      ` as fast${timing.first ? " as " + timing.against : ""} (${timesSpan(timing.low, timing.high)})`,
      timing.first ? `, and ${times(timing.first.speedup)} as fast as ${timing.first.name}, the task's first baseline (${
        timesSpan(timing.first.low, timing.first.high)}).` : "."),
    timing.sizes.map((size) => sizeFigure(size)));
}

function sizeFigure(size) {
  const facts = [
    `${size.candidate_us ? microseconds(size.candidate_us) : "?"} against ${microseconds(size.baseline_us)} of ${
      size.baseline}`,
    `${count(size.epochs)} epochs of ${count(size.pairs)} pairs, ${count(size.dropped)} dropped`,
    `${count(size.checked)} timed executions checked`,
    `middle half of the launches within ${share(size.candidate_spread)} and ${share(size.baseline_spread)}`,
    size.candidate_mhz ? `SM clock ${Math.round(size.candidate_mhz)} and ${Math.round(size.baseline_mhz)} MHz` : null,
    size.celsius !== null ? `${size.celsius} °C` : null, size.watts !== null ? `${size.watts} W` : null,
    `identical kernels differ by up to ${share(size.delta)} here (${size.delta_source})`,
    size.floor_us ? `no kernel can be faster than ${microseconds(size.floor_us)}` : null,
    size.bytes ? rate(size.bytes / size.candidate_us / 1e3) +
        (size.roofline_gbs
            ? `, ${share(size.bytes / size.candidate_us / 1e3 / size.roofline_gbs)} of what the device does`
            : "")
               : null
  ].filter(Boolean);
  return h("div", {},
    h("div", {class: "codebar"}, h("h3", {}, size.size || "the only size"), outcomeBadge(size.outcome),
      h("b", {}, times(size.speedup)), h("span", {}, timesSpan(size.low, size.high))),
    size.reason ? h("p", {}, size.reason) : null,
    size.samples && size.samples.length
      ? epochChart(size)
      : h("p", {class: "tone-none"}, "The epochs themselves were not kept by the version that judged it."),
    size.samples && size.samples.length
      ? h("p", {class: "tone-none small"},
          `A point is an epoch, hollow where it was dropped; the band is the interval, the grey one what identical kernels differ by.${
            epochRange(size)[0] > 1 || epochRange(size)[1] < 1
              ? " The axis shows what the epochs range over: 1× lies off it."
              : ""}`)
      : null,
    h("ul", {class: "facts"}, facts.map((fact) => h("li", {}, fact))),
    size.rivals.length ? plainTable("Other baselines", ["other baseline", "its time", "times as fast as it"],
                           size.rivals.map((rival) => [rival.name, microseconds(rival.us),
                                             `${times(rival.speedup)} (${timesSpan(rival.low, rival.high)})`]),
                           ["", "n", "n"])
                       : null);
}

// Each epoch's ratio in order, the interval as a band, and the strip around 1 within which identical kernels lie.
function epochRange(size) {
  const values = size.samples.filter((epoch) => epoch.speedup > 0)
                   .map((epoch) => epoch.speedup)
                   .concat(Math.max(size.low, size.speedup / 3), Math.min(size.high, size.speedup * 3));
  // 1 and what surrounds it belong into the picture where the epochs would not shrink to a line for it.
  const spread = Math.max(...values) - Math.min(...values) || 0.01;
  if (Math.abs(size.speedup - 1) < 6 * spread) values.push(1 + size.delta, 1 - size.delta);
  const pad = (Math.max(...values) - Math.min(...values)) * 0.12 || 0.01;
  return [Math.min(...values) - pad, Math.max(...values) + pad];
}
function epochChart(size) {
  const [low, high] = epochRange(size);
  return figure(`Speed-up of each epoch at ${size.size}, measured: ${times(size.speedup)}, interval ${
                  timesSpan(size.low, size.high)}`,
    (width) => {
      const [left, right, top, bottom] = [58, width - 16, 20, 170];
      const x = linear(0.5, size.samples.length + 0.5, left, right);
      const y = linear(low, high, bottom, top);
      const clamp = (value) => y(Math.max(low, Math.min(high, value)));
      return [
        bottom + 40, yAxis(y, left, {
          ticks: 4,
          format: (value) => value.toFixed(high - low < 0.05 ? 3 : 2) + "×",
          grid: right - left,
          title: "times as fast"
        }),
        s("rect", {
          class: "band delta",
          x: left,
          width: right - left,
          y: clamp(1 + size.delta),
          height: Math.max(0, clamp(1 - size.delta) - clamp(1 + size.delta))
        }),
        s("rect", {
          class: "band",
          x: left,
          width: right - left,
          y: clamp(size.high),
          height: Math.max(1, clamp(size.low) - clamp(size.high))
        }),
        low < 1 && high > 1 ? s("path", {class: "unit", d: `M${left} ${y(1)}H${right}`}) : null,
        s("g", {class: "arm-0"}, s("path", {class: "whisker", d: `M${left} ${y(size.speedup)}H${right}`}),
          size.samples.map(
            (epoch, i) => (epoch.speedup > 0
                ? s("g", {class: epoch.counted ? null : "faint"},
                    s("title", {},
                      `epoch ${i + 1}: ${epoch.speedup.toFixed(4)}× (${microseconds(epoch.candidate_us)} against ${
                        microseconds(epoch.baseline_us)})${epoch.counted ? "" : ", dropped"}`),
                    s("circle", {class: epoch.counted ? "solid" : "hollow", cx: x(i + 1), cy: y(epoch.speedup), r: 4}))
                : null))),
        xAxis(Object.assign((value) => x(value),
                {ticks: () => linear(1, size.samples.length, 0, 1).ticks(8).filter(Number.isInteger)}),
          bottom, {format: count, from: left, to: right, title: "epoch"})
      ];
    },
    plainTable("Epochs", ["epoch", "candidate", "baseline", "times as fast", ""],
      size.samples.map((epoch, i) => [count(i + 1), microseconds(epoch.candidate_us), microseconds(epoch.baseline_us),
                         epoch.speedup ? epoch.speedup.toFixed(4) : "–", epoch.counted ? "" : "dropped"]),
      ["n", "n", "n", "n", ""]));
}

function estimateSection(verdict) {
  const [own, base] = [verdict.estimate, verdict.baseline_estimate];
  const both = (name, value, format) => [name, format(value(own)), base ? format(value(base)) : "–"];
  const rows = [
    ...(own.size_ns && own.size_ns !== own.nanoseconds
        ? [both("time, mean of the timed sizes", (one) => one.nanoseconds, nanoseconds)]
        : []),
    [
      own.size ? "time at " + own.size : "time", nanoseconds(own.size_ns || own.nanoseconds),
      base && base.size === own.size ? nanoseconds(base.size_ns || base.nanoseconds) : "–"
    ],
    both("bound by", (one) => one.bound_by, String), both("occupancy", (one) => one.occupancy, share),
    both("CTAs an SM", (one) => one.resident_ctas || 0, count),
    both("limited by", (one) => one.occupancy_limit || "–", String),
    both("DRAM traffic", (one) => one.dram_bytes || 0, bytes), both("L2 traffic", (one) => one.l2_bytes || 0, bytes),
    both("bank conflicts", (one) => one.bank_conflicts || 0, short),
    both("scattered passes", (one) => one.scattered_passes || 0, short),
    both("waves", (one) => one.waves || 0, (value) => digits(value, 3)),
    both("lost to the tail", (one) => one.tail || 0, share)
  ];
  const parts = (list, format, key) =>
    (list || []).filter((part) => part[key] > 0).slice(0, 8).map((part) => [part.name, format(part[key])]);
  return h("div", {class: "stack"},
    h("p", {}, sourceTag("estimated"),
      ` for ${own.device}, from what a few CTAs did on the CPU engine${
        own.size ? ", in detail at " + own.size
                 : ""}. Two estimates that differ by less than ${share(own.uncertainty)} say nothing.`),
    h("div", {class: "pair"}, plainTable("Estimate", ["figure", "candidate", "baseline"], rows, ["", "n", "n"]),
      h("div", {class: "stack"},
        plainTable("Time by resource", ["if nothing else took time", "candidate"],
          parts(own.limits, nanoseconds, "nanoseconds"), ["", "n"]),
        plainTable(
          "What warps wait for", ["what warps wait for", "share"], parts(own.waits, share, "share"), ["", "n"]))),
    own.assumptions && own.assumptions.length ? h("p", {class: "tone-none"}, "Assumed: " + own.assumptions.join("; "))
                                              : null);
}
