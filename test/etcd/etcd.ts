// What the tests on etcd share.
import type { Servers } from "../servers.ts";

/** The URL of all members. */
export function urlOf({ urls }: Servers): string {
  return `etcd://${urls.map((url) => new URL(url).host).join(",")}`;
}
