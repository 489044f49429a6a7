// Where the files of helper processes and threads are: in their folder beside this one's, or, where the code was joined into shared chunks, beside an entry.
// They are ES modules, whichever build of the package asks for them: the CommonJS build lies one folder deeper and finds the same files.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Undefined where the package was joined into another program without it. */
export function helperPath(folder: "election" | "keeper" | "supervisor", name: string): string | undefined {
  // A bundler that makes CommonJS of an ES module leaves no address behind.
  const here = import.meta.url as string | undefined;
  if (here === undefined) return undefined;
  const places = ["./", `./${folder}/`, `../${folder}/`, `../../${folder}/`];
  return places.map((place) => fileURLToPath(new URL(`${place}${name}.js`, here))).find(existsSync);
}
