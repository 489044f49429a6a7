// @ts-check
// src without a defence: the files of a patch as the patch leaves them, served in place of those on the disk. So a mutant needs no copy of the repository and
// no compiler. The tests have this plugin in vitest.config.ts and wherever they bundle src for a process; which patch it is, the environment says.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { applyToText, parsePatch } from "./apply-patch.mjs";
import { isText, textModule } from "./sql-text.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Where the path of the patch stands. Not set: src as it is. */
export const WITHOUT = "CONCLAVE_WITHOUT";

/**
 * The files that a patch changes, by their absolute path, as it leaves them.
 * @param {string} patch its text
 * @returns {Map<string, string>}
 */
export function textsWithout(patch) {
  return new Map(
    parsePatch(patch).map((change) => {
      const file = path.join(root, change.file);
      return [file, applyToText(readFileSync(file, "utf8"), change)];
    }),
  );
}

/** A plugin of rolldown and of vite, before any other that loads files of src. */
export function withoutDefence() {
  /** @type {[file: string, texts: Map<string, string>]} */
  let [file, texts] = ["", new Map()];
  return {
    name: "without a defence",
    enforce: /** @type {const} */ ("pre"),
    load: (/** @type {string} */ id) => {
      const wanted = process.env[WITHOUT] ?? "";
      if (wanted !== file)
        [file, texts] = [wanted, wanted === "" ? new Map() : textsWithout(readFileSync(wanted, "utf8"))];
      const text = texts.get(id.replace(/\?.*$/, ""));
      if (text === undefined) return null;
      return isText(id) ? textModule(id, text) : text;
    },
  };
}
