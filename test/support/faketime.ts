// Where Debian's package faketime has its library. The command of the same name would tell, but where several run at once it now and then says nothing.
import { existsSync, readdirSync } from "node:fs";

export function faketimeLibrary(): string {
  const places = readdirSync("/usr/lib").map((folder) => `/usr/lib/${folder}/faketime/libfaketime.so.1`);
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error("this test needs the Debian package faketime");
  return found;
}
