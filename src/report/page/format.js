// Numbers as people read them: with unit, and no more digits than they bear.
"use strict";

function digits(value, significant) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "?";
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude >= 1e6 || magnitude < 1e-3))
    return value.toExponential(significant - 1).replace("e+", "e");
  const before = magnitude === 0 ? significant : Math.floor(Math.log10(magnitude)) + 1;
  return value.toFixed(Math.max(0, significant - before)).replace("-", "−");
}

// 2.45 → "2.45×": how many times as fast.
function times(value) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return "∞";
  return (value >= 100      ? value.toFixed(0)
             : value >= 10  ? value.toFixed(1)
             : value >= 0.1 ? value.toFixed(2)
                            : digits(value, 2)) +
    "×";
}
function timesSpan(low, high) {
  if (low === null || low === undefined) return "";
  return times(low).slice(0, -1) + " to " + (high === null ? "∞" : times(high));
}
// The ends of any other figure: one without an end is null.
function span(low, high, format) { return format(low) + " to " + (high === null ? "∞" : format(high)); }

// 0.4321 → "43 %"
function share(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const percent = value * 100;
  if (percent >= 0.1 && percent < 0.995) return percent.toFixed(2) + " %";
  // Never rounded to all or none.
  if (percent > 99.9 && percent < 100) return "> 99.9 %";
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return (percent === 0 || percent === 100 || (percent >= 9.95 && percent <= 99) ? percent.toFixed(0)
                                                                                 : percent.toFixed(1)) +
    " %";
}
function shareSpan(low, high) {
  if (low === null || low === undefined) return "";
  return share(low).replace(" %", "") + " to " + share(high);
}

function scaled(value, steps, significant = 3) {
  for (const [size, unit] of steps)
    if (Math.abs(value) >= size) return digits(value / size, significant) + " " + unit;
  const [size, unit] = steps[steps.length - 1];
  return digits(value / size, significant) + " " + unit;
}
function nanoseconds(value) { return scaled(value, [[60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]); }
const microseconds = (value) => nanoseconds(value * 1e3);
const seconds = (value) => (value >= 5400 ? digits(value / 3600, 3) + " h" : nanoseconds(value * 1e9));
const bytes = (value) =>
  (value < 1000 ? Math.round(value) + " B" : scaled(value, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]));
const rate = (gbs) => scaled(gbs * 1e9, [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1, "B/s"]]);
const flops = (gflops) =>
  scaled(gflops * 1e9, [[1e15, "PFLOP/s"], [1e12, "TFLOP/s"], [1e9, "GFLOP/s"], [1e6, "MFLOP/s"], [1, "FLOP/s"]]);

// 12345 → "12,345"
function count(value) { return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ","); }
// 12345 → "12.3 k"
function short(value) { return value < 10000 ? count(value) : scaled(value, [[1e9, "G"], [1e6, "M"], [1e3, "k"]]); }
function money(usd) {
  if (usd === null || usd === undefined) return "unknown";
  if (usd === 0) return "$0";
  return "$" + (usd >= 100 ? count(usd) : usd >= 0.1 ? usd.toFixed(2) : digits(usd, 2));
}
function plural(n, one, many) { return count(n) + " " + (n === 1 ? one : many || one + "s"); }
function instant(ms) { return ms ? new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : "–"; }
