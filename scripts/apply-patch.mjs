// A small strict applier of unified diffs, so that mutants need neither git nor patch. Lines must match exactly; a hunk may have moved, as long as
// there is one place only where it fits. Lines before the first `---` are a comment.

/**
 * @typedef {object} FilePatch
 * @property {string} file as written after `---`
 * @property {{ before: string[], after: string[] }[]} hunks
 */

/**
 * @param {string} text
 * @returns {FilePatch[]}
 */
export function parsePatch(text) {
  /** @type {FilePatch[]} */
  const files = [];
  const lines = text.split("\n");
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ ")) {
      files.push({ file: fileOf(line), hunks: [] });
      index++;
    } else if (line.startsWith("@@ ")) {
      const { hunk, next } = parseHunk(lines, index);
      const file = files.at(-1);
      if (file === undefined) throw new Error(`line ${index + 1}: a hunk before any file`);
      file.hunks.push(hunk);
      index = next - 1;
    }
  }
  if (files.length === 0) throw new Error("no file in this patch");
  return files;
}

/** `--- a/src/x.ts` and `--- src/x.ts`, with or without a date. @param {string} line */
function fileOf(line) {
  return (line.slice(4).split("\t")[0] ?? "").trim().replace(/^[ab]\//, "");
}

/**
 * @param {string[]} lines
 * @param {number} at where the hunk's head is
 */
function parseHunk(lines, at) {
  const head = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at] ?? "");
  if (head === null) throw new Error(`line ${at + 1}: not the head of a hunk`);
  const sizes = { before: Number(head[1] ?? 1), after: Number(head[2] ?? 1) };
  const hunk = { before: /** @type {string[]} */ ([]), after: /** @type {string[]} */ ([]) };
  let next = at + 1;
  while (hunk.before.length < sizes.before || hunk.after.length < sizes.after) {
    const line = lines[next++];
    const [sign, rest] = [line?.[0] ?? " ", line?.slice(1) ?? ""];
    if (line === undefined || !" +-".includes(sign)) throw new Error(`line ${next}: a hunk ends too soon`);
    if (sign !== "+") hunk.before.push(rest);
    if (sign !== "-") hunk.after.push(rest);
  }
  return { hunk, next };
}

/**
 * @param {string} text of the file
 * @param {FilePatch} patch
 * @returns {string}
 */
export function applyToText(text, { file, hunks }) {
  const lines = text.split("\n");
  hunks.forEach(({ before, after }, index) => {
    const places = lines.flatMap((_, place) =>
      before.every((line, offset) => lines[place + offset] === line) ? [place] : [],
    );
    const [place] = places;
    if (place === undefined || places.length > 1)
      throw new Error(
        `${file}: hunk ${index + 1} fits in ${places.length} places; the source has changed under this patch`,
      );
    lines.splice(place, before.length, ...after);
  });
  return lines.join("\n");
}
