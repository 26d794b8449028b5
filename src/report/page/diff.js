// The difference of two lists of numbers (a text's lines, each by its number in the block's table): Myers' algorithm in its form
// that needs memory for the differences only, with what is equal at both ends set aside first.
"use strict";

// [[kind, i, j]]: kind 0 both, -1 only in a (at i), 1 only in b (at j), in order. Where more than `most` lines differ, lines that each
// text has once part the middle first; a part without any is told as removed and added whole: true, if not the shortest.
function difference(a, b, most = 2000) {
  let [start, endA, endB] = [0, a.length, b.length];
  while (start < endA && start < endB && a[start] === b[start]) ++start;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) --endA, --endB;
  const steps = [];
  for (let i = 0; i < start; ++i) steps.push([0, i, i]);
  middle(a, b, [start, start], [endA, endB], most, steps);
  for (let i = endA, j = endB; i < a.length; ++i, ++j) steps.push([0, i, j]);
  return steps;
}

// Of a[fromA ... endA) and b[fromB ... endB), appended to `told`.
function middle(a, b, [fromA, fromB], [endA, endB], most, told) {
  const [n, m] = [endA - fromA, endB - fromB];
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
      while (x < n && x - k < m && a[fromA + x] === b[fromB + x - k]) ++x;
      reach[zero + k] = x;
      found = x >= n && x - k >= m;
    }
    trace.push(reach.slice(zero - d - 1, zero + d + 2));
  }
  const steps = [];
  if (!found) {
    apart(a, b, [fromA, fromB], [endA, endB], most, told);
    return;
  }
  // Back from the end, one round of differences at a time.
  let [x, y] = [n, m];
  for (let d = trace.length - 1; d > 0; --d) {
    const before = trace[d - 1];
    const k = x - y;
    const down = goesDown(before, d, k, d);
    const from = down ? k + 1 : k - 1;
    const [fromX, fromY] = [before[d + from], before[d + from] - from];
    while (x > fromX + (down ? 0 : 1) && y > fromY + (down ? 1 : 0)) steps.push([0, fromA + --x, fromB + --y]);
    if (down)
      steps.push([1, fromA + x, fromB + --y]);
    else
      steps.push([-1, fromA + --x, fromB + y]);
  }
  while (x > 0) steps.push([0, fromA + --x, fromB + --y]);
  for (let i = steps.length - 1; i >= 0; --i) told.push(steps[i]);
}

// Parted at the longest row of lines that both have once, in the same order.
function apart(a, b, [fromA, fromB], [endA, endB], most, told) {
  const anchors = anchored(a, b, [fromA, fromB], [endA, endB]);
  let [i, j] = [fromA, fromB];
  if (!anchors.length) {
    for (; i < endA; ++i) told.push([-1, i, j]);
    for (; j < endB; ++j) told.push([1, i, j]);
    return;
  }
  for (const [atA, atB] of anchors) {
    middle(a, b, [i, j], [atA, atB], most, told);
    told.push([0, atA, atB]);
    [i, j] = [atA + 1, atB + 1];
  }
  middle(a, b, [i, j], [endA, endB], most, told);
}
function anchored(a, b, [fromA, fromB], [endA, endB]) {
  const places = (list, from, end) => {
    const once = new Map();
    for (let i = from; i < end; ++i) once.set(list[i], once.has(list[i]) ? -1 : i);
    return once;
  };
  const inB = places(b, fromB, endB);
  const pairs = [...places(a, fromA, endA)]
                  .map(([line, i]) => [i, inB.has(line) ? inB.get(line) : -1])
                  .filter(([i, j]) => i >= 0 && j >= 0)
                  .sort((p, q) => p[0] - q[0]);
  const ends = [];  // of a rising row of each length the pair with the lowest place in b
  for (const [i, j] of pairs) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const at = (low + high) >> 1;
      if (ends[at].j < j)
        low = at + 1;
      else
        high = at;
    }
    ends[low] = {i, j, before: low ? ends[low - 1] : null};
  }
  const row = [];
  for (let one = ends[ends.length - 1]; one; one = one.before) row.push([one.i, one.j]);
  return row.reverse();
}
// Whether round d comes to diagonal k from the one above it (a line of b alone) and not from the one below (a line of a alone).
function goesDown(reach, zero, k, d) { return k === -d || (k !== d && reach[zero + k - 1] < reach[zero + k + 1]); }
