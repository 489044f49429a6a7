// Optional peers: clients of stores that a user may or may not have installed. They are loaded at first use and only then, so that importing conclave needs none.
import { createRequire } from "node:module";
import path from "node:path";

/** Returns the module, or undefined if it is not installed. Throws if it is installed and does not load: the user must hear of that. */
export function loadPeer(name: string): unknown {
  try {
    return createRequire(here())(name);
  } catch (cause) {
    const code = (cause as { readonly code?: unknown }).code;
    if (code === "ERR_UNKNOWN_BUILTIN_MODULE" || (code === "MODULE_NOT_FOUND" && isAbout(cause, name)))
      return undefined;
    throw new Error(`${name} is installed but does not load (${firstLine(cause)})`, { cause });
  }
}

/** The place from which modules are searched for. A bundler that turns an ES module into CommonJS leaves no `import.meta.url` behind: then it is the file of the bundle. */
function here(): string {
  const address = import.meta.url as string | undefined;
  return address ?? (typeof __filename === "string" ? __filename : path.join(process.cwd(), "index.js"));
}

/** The error is about this module, and not about one that it needs itself. */
function isAbout(cause: unknown, name: string): boolean {
  return messageOf(cause).includes(`'${name}'`);
}

function firstLine(cause: unknown): string {
  return messageOf(cause).split("\n")[0] ?? "";
}

/** The message is read as a property, because a test runner throws errors of another realm, which are no `instanceof Error` here. */
function messageOf(cause: unknown): string {
  const message = (cause as { readonly message?: unknown } | undefined)?.message;
  return typeof message === "string" ? message : String(cause);
}
