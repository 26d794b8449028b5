// The difference of two lists of numbers (a text's lines, each by its number in the block's table): Myers' algorithm in its form
// that needs memory for the differences only, with what is equal at both ends set aside first.
"use strict";

// [[kind, i, j]]: kind 0 both, -1 only in a (at i), 1 only in b (at j), in order. Where more than `most` lines differ the middle is
// told as removed and added whole: true, if not the shortest.
function difference(a, b, most = 2000) {
  let [start, endA, endB] = [0, a.length, b.length];
  while (start < endA && start < endB && a[start] === b[start]) ++start;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) --endA, --endB;
  const steps = [];
  for (let i = 0; i < start; ++i) steps.push([0, i, i]);
  steps.push(...middle(a, b, start, endA, endB, most));
  for (let i = endA, j = endB; i < a.length; ++i, ++j) steps.push([0, i, j]);
  return steps;
}

function middle(a, b, start, endA, endB, most) {
  const [n, m] = [endA - start, endB - start];
  const limit = Math.min(n + m, most);
  const zero = limit + 1;  // the place of diagonal 0
  const reach = new Int32Array(2 * limit + 3).fill(-1);
  reach[zero + 1] = 0;
  const trace = [];  // after each round, what the diagonals -d ... d reach
  let found = false;
  for (let d = 0; d <= limit && !found; ++d) {
    for (let k = -d; k <= d && !found; k += 2) {
      if (k < -m || k > n) continue;
      let x = goesDown(reach, zero, k, d) ? reach[zero + k + 1] : reach[zero + k - 1] + 1;
      while (x < n && x - k < m && a[start + x] === b[start + x - k]) ++x;
      reach[zero + k] = x;
      found = x >= n && x - k >= m;
    }
    trace.push(reach.slice(zero - d - 1, zero + d + 2));
  }
  const steps = [];
  if (!found) {
    for (let i = 0; i < n; ++i) steps.push([-1, start + i, start]);
    for (let j = 0; j < m; ++j) steps.push([1, endA, start + j]);
    return steps;
  }
  // Back from the end, one round of differences at a time.
  let [x, y] = [n, m];
  for (let d = trace.length - 1; d > 0; --d) {
    const before = trace[d - 1];
    const k = x - y;
    const down = goesDown(before, d, k, d);
    const from = down ? k + 1 : k - 1;
    const [fromX, fromY] = [before[d + from], before[d + from] - from];
    while (x > fromX + (down ? 0 : 1) && y > fromY + (down ? 1 : 0)) steps.push([0, start + --x, start + --y]);
    if (down)
      steps.push([1, start + x, start + --y]);
    else
      steps.push([-1, start + --x, start + y]);
  }
  while (x > 0) steps.push([0, start + --x, start + --y]);
  return steps.reverse();
}
// Whether round d comes to diagonal k from the one above it (a line of b alone) and not from the one below (a line of a alone).
function goesDown(reach, zero, k, d) { return k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1]); }
