// Where the files of helper processes and threads are: in their folder beside this one's, or, where the code was joined into shared chunks, beside an entry.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Undefined where the package was joined into another program without it. */
export function helperPath(folder: "election" | "supervisor", name: string): string | undefined {
  const places = ["./", `./${folder}/`, `../${folder}/`];
  return places.map((place) => fileURLToPath(new URL(`${place}${name}.js`, import.meta.url))).find(existsSync);
}
