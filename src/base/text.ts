// Texts that are kept elsewhere: names, ids, values, what a guard guards. Two kinds cannot be kept as they are, and must not pass any door:
//   half of a surrogate pair   is no character. UTF-8 cannot write it: some stores write U+FFFD in its place, so that two names become one, and some clients end
//                              the process
//   NUL                        ends a text for some clients, and other stores refuse it

const HALF = /\p{Surrogate}/u;

/** What is wrong with `text`, as the end of a sentence; undefined if every store keeps it as it is. */
export function flawOf(text: string): string | undefined {
  if (HALF.test(text)) return "it has half of a surrogate pair in it, which is no character";
  if (text.includes("\0")) return "it has a NUL character in it, which not every store can keep";
  return undefined;
}

/** How many bytes it has as UTF-8. */
export function bytesOf(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
