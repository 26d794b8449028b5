// Raw deflate (RFC 1951), for browsers that have no stream for it: a report is opened years later, on whatever a machine has.
"use strict";

const LENGTH_BASE =
  [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const ORDER =
  [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];  // of the lengths of the codes of lengths

// A canonical code: how many words of each length it has, and what they stand for in order.
function canonical(lengths) {
  const counts = new Uint16Array(16);
  for (const length of lengths) ++counts[length];
  counts[0] = 0;
  const symbols = [];
  for (let length = 1; length < 16; ++length) lengths.forEach((own, symbol) => own === length && symbols.push(symbol));
  return {counts, symbols};
}

class Inflater {
  constructor(packed) {
    this.packed = packed;
    this.out = new Uint8Array(Math.max(1 << 16, packed.length * 5));
    [this.bit, this.size] = [0, 0];
  }
  bits(wanted) {
    let value = 0;
    for (let i = 0; i < wanted; ++i, ++this.bit) {
      if (this.bit >= this.packed.length * 8) throw new Error("packed data end too early");
      value |= ((this.packed[this.bit >> 3] >> (this.bit & 7)) & 1) << i;
    }
    return value;
  }
  symbol({counts, symbols}) {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length < 16; ++length) {
      code |= this.bits(1);
      if (code - first < counts[length]) return symbols[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error("packed data hold no such code");
  }
  room(more) {
    if (this.size + more <= this.out.length) return;
    const larger = new Uint8Array(2 * (this.size + more));
    larger.set(this.out);
    this.out = larger;
  }
  stored() {
    const at = (this.bit + 7) >> 3;
    const length = this.packed[at] | (this.packed[at + 1] << 8);
    this.room(length);
    this.out.set(this.packed.subarray(at + 4, at + 4 + length), this.size);
    this.size += length;
    this.bit = (at + 4 + length) * 8;
  }
  codes() {
    const [words, places, own] = [this.bits(5) + 257, this.bits(5) + 1, this.bits(4) + 4];
    const lengths = new Array(19).fill(0);
    for (let i = 0; i < own; ++i) lengths[ORDER[i]] = this.bits(3);
    const code = canonical(lengths);
    const all = [];
    while (all.length < words + places) {
      const symbol = this.symbol(code);
      if (symbol < 16) {
        all.push(symbol);
        continue;
      }
      const value = symbol === 16 ? all[all.length - 1] : 0;
      for (let n = symbol === 16 ? 3 + this.bits(2) : symbol === 17 ? 3 + this.bits(3) : 11 + this.bits(7); n; --n)
        all.push(value);
    }
    return [canonical(all.slice(0, words)), canonical(all.slice(words))];
  }
  block(words, places) {
    for (let symbol; (symbol = this.symbol(words)) !== 256;) {
      this.room(258);
      if (symbol < 256) {
        this.out[this.size++] = symbol;
        continue;
      }
      const length = LENGTH_BASE[symbol - 257] + this.bits(LENGTH_BITS[symbol - 257]);
      const place = this.symbol(places);
      const extra = place < 2 ? 0 : (place >> 1) - 1;
      const back = place < 2 ? place + 1 : 1 + ((2 + (place & 1)) << extra) + this.bits(extra);
      for (let i = 0; i < length; ++i, ++this.size) this.out[this.size] = this.out[this.size - back];
    }
  }
  all() {
    const range = (n, length) => new Array(n).fill(length);
    const fixed =
      [canonical([...range(144, 8), ...range(112, 9), ...range(24, 7), ...range(8, 8)]), canonical(range(30, 5))];
    for (let last = 0; !last;) {
      last = this.bits(1);
      const kind = this.bits(2);
      if (kind === 0)
        this.stored();
      else if (kind === 3)
        throw new Error("packed data have no such block");
      else
        this.block(...(kind === 1 ? fixed : this.codes()));
    }
    return this.out.subarray(0, this.size);
  }
}
