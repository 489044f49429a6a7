// The Huffman code of HTTP/2's headers (RFC 7541, appendix B): only its decoder, because a request needs no such code. The code is canonical: codes of one length are consecutive numbers in the order of
// their symbols, and each length begins where the shorter ones have ended. So the lengths say all.

const EOS = 256;
/** How many bits the code of each symbol has, for the 256 bytes and for the end of a string. */
const LENGTHS: readonly number[] = [
  [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28,
  ],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
    23, 23, 24,
  ],
  [
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23,
    22, 22, 23,
  ],
  [
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28,
    27, 27, 27,
  ],
  [
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26,
  ],
  [30],
].flat();
const LONGEST = 30;

/** For each length: its first code, how many codes it has, and where its symbols begin in `inOrder`. */
const first = new Int32Array(LONGEST + 1);
const count = new Int32Array(LONGEST + 1);
const begin = new Int32Array(LONGEST + 1);
const inOrder: number[] = [];
for (let length = 1; length <= LONGEST; length++) {
  first[length] = ((first[length - 1] ?? 0) + (count[length - 1] ?? 0)) << 1;
  begin[length] = inOrder.length;
  for (const [symbol, bits] of LENGTHS.entries()) if (bits === length) inOrder.push(symbol);
  count[length] = inOrder.length - (begin[length] ?? 0);
}

/** Throws on bytes that are no string of this code. */
export function readHuffman(bytes: Uint8Array): string {
  let text = "";
  let code = 0;
  let length = 0;
  for (const byte of bytes)
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      length++;
      const index = code - (first[length] ?? 0);
      if (index >= (count[length] ?? 0)) continue;
      const symbol = inOrder[(begin[length] ?? 0) + index] ?? EOS;
      if (symbol === EOS) throw new RangeError("the end of a string within a string");
      text += String.fromCharCode(symbol);
      code = 0;
      length = 0;
    }
  // The last byte is filled up with the first bits of the end's code, which are all 1.
  if (length > 7 || code !== (1 << length) - 1) throw new RangeError("a string with a wrong end");
  return text;
}
