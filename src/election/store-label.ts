// The name of a store in messages: its kind and its address, never a user name or a password.
import type { Reopenable, Store } from "../stores/contract.ts";

/** For example `postgres (postgres://db-1:5432/app)`; for a store that uses a client of the user, only its kind. */
export function labelOf(store: Store): string {
  const { url } = store as Partial<Reopenable>;
  const { store: kind } = store.guarantee;
  return typeof url === "string" ? `${kind} (${withoutSecrets(url)})` : kind;
}

/**
 * Shows scheme, host and path. A password may hold any character that its owner forgot to escape. So a URL that is not plainly of this form, with at most
 * one `@` and none after it, is shown by its scheme only.
 */
export function withoutSecrets(url: string): string {
  const match = /^([a-z][a-z0-9+.-]*:)(\/\/)?(?:[^@/?#]*@)?([^@?#]*)(?:[?#][^@]*)?$/i.exec(url);
  if (match === null) return `${/^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? ""}…`;
  const [, scheme = "", slashes = "", rest = ""] = match;
  return `${scheme}${slashes}${rest}`;
}
