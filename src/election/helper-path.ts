// Finds the files of helper processes and threads. They are in a folder beside the folder of this file, or, where the code was joined into shared chunks, beside an entry.
// They are ES modules, whichever build of the package asks for them: the CommonJS build lies one folder deeper and finds the same files.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Returns undefined where the package was bundled into another program without this file. */
export function helperPath(folder: "election" | "keeper" | "supervisor", name: string): string | undefined {
  // A bundler that turns an ES module into CommonJS removes its URL.
  const here = import.meta.url as string | undefined;
  if (here === undefined) return undefined;
  const places = ["./", `./${folder}/`, `../${folder}/`, `../../${folder}/`];
  return places.map((place) => fileURLToPath(new URL(`${place}${name}.js`, here))).find(existsSync);
}
