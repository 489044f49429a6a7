// Wall clocks that a test sets, and where Debian's package faketime has the library for them. The command of the same name would tell, but where several run at once it now and then says nothing.
import { existsSync, readdirSync, renameSync, writeFileSync } from "node:fs";

export function faketimeLibrary(): string {
  const places = readdirSync("/usr/lib").map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`);
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error("this test needs the Debian package faketime");
  return found;
}

/** A command whose wall clock is what `set` says, from now on; the monotonic clock stays the kernel's. */
export class WallClock {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.set("+0");
  }

  set(offset: string): void {
    writeFileSync(`${this.#file}~`, `${offset}\n`);
    renameSync(`${this.#file}~`, this.#file);
  }

  get under(): readonly string[] {
    const settings = ["FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1"];
    return ["env", `LD_PRELOAD=${faketimeLibrary()}`, `FAKETIME_TIMESTAMP_FILE=${this.#file}`, ...settings];
  }
}
