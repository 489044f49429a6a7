// A store as a message names it: its kind and where it is, never who logs in or with what.
import type { Reopenable, Store } from "../stores/contract.ts";

/** `postgres (postgres://db-1:5432/app)`; of a store around a client of the user's only its kind. */
export function labelOf(store: Store): string {
  const { url } = store as Partial<Reopenable>;
  const { store: kind } = store.guarantee;
  return typeof url === "string" ? `${kind} (${withoutSecrets(url)})` : kind;
}

/**
 * Scheme, host and path. A password may hold any character that its owner forgot to escape, so that a URL which is not plainly of this form, with at most
 * one `@` and none after it, is shown by its scheme only.
 */
export function withoutSecrets(url: string): string {
  const match = /^([a-z][a-z0-9+.-]*:)(\/\/)?(?:[^@/?#]*@)?([^@?#]*)(?:[?#][^@]*)?$/i.exec(url);
  if (match === null) return `${/^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? ""}…`;
  const [, scheme = "", slashes = "", rest = ""] = match;
  return `${scheme}${slashes}${rest}`;
}
