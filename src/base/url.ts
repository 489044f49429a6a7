// What can be read from the URL of any store. A URL may carry a password: only `withoutPassword` and `passwordHidden` of it are ever shown.

/** `etcd` for etcd://…; undefined if it begins with no scheme. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

/** What a variable of the environment becomes that is not set, in a template or by itself. */
export function looksUnset(url: unknown): boolean {
  return url === undefined || url === null || url === "" || url === "undefined" || url === "null";
}

/** The path in `sqlite:PATH` or `file:PATH`, with or without two slashes before it, and without its query. */
export function fileOf(url: string): string {
  return decodeURIComponent(url.replace(/^[a-z][a-z0-9+.-]*:(?:\/\/)?/i, "").replace(/\?.*$/s, ""));
}

/** The opposite: a path as a URL, whatever signs are in its name. */
export function urlOfFile(scheme: string, file: string): string {
  return `${scheme}:${file.replaceAll(/[%?#]/g, encodeURIComponent)}`;
}

/** For a command that somebody may copy: with PASSWORD where the password is. */
export function passwordHidden(url: string): string {
  return url.replace(/^([^:]+:\/\/[^:@/?#]*):[^/?#]*@/, "$1:PASSWORD@");
}

/** Of a URL with a server only the scheme, and what follows the last `@` up to the query. */
export function withoutPassword(url: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || rest === undefined || scheme.toLowerCase() === "sqlite://") return url;
  return `${scheme}${rest.slice(rest.lastIndexOf("@") + 1).replace(/[?#].*$/s, "")}`;
}
