// Where the files of helper processes are: beside this one, or, where the code was joined into shared chunks, beside its entry.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PLACES = ["./", "./supervisor/", "../supervisor/"];

export function helperPath(name: "keeper" | "releaser"): string {
  const found = PLACES.map((place) => fileURLToPath(new URL(`${place}${name}.js`, import.meta.url))).find(existsSync);
  if (found === undefined) throw new Error(`conclave is incomplete: ${name}.js is missing. Install it again.`);
  return found;
}
