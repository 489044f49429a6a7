// What commands that run until they are stopped share: the signals that stop them, and events as lines.

/** SIGTERM and SIGINT stop it. */
export function stopSignal(): { readonly signal: AbortSignal; readonly name: () => string | undefined } {
  const controller = new AbortController();
  let name: string | undefined;
  for (const each of ["SIGTERM", "SIGINT"] as const)
    process.once(each, () => {
      name = each;
      controller.abort();
    });
  return { signal: controller.signal, name: () => name };
}

/** One event as a line: for people, or as JSON. Token values as decimal text. */
export function line(event: object, isJson: boolean): string {
  const at = new Date().toISOString();
  const plain = (_key: string, value: unknown): unknown => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Error ? { message: value.message } : value;
  };
  if (isJson) return `${JSON.stringify({ at, ...event }, plain)}\n`;
  const { type, is, ...facts } = unfolded(event as Facts);
  const words = Object.entries(facts).map(([key, value]) => `${key}=${JSON.stringify(forPeople(value), plain)}`);
  return `${at} ${[type, ...(is === undefined ? [] : [is]), ...words].join(" ")}\n`;
}

type Facts = Readonly<Record<string, unknown>>;

/** For people, what stands inside of `news`, and inside of its entry for the history, is told as facts of the event itself. */
function unfolded({ news, entry, wallMs: _wallMs, ...facts }: Facts): Facts {
  const inside = news ?? entry;
  return typeof inside === "object" && inside !== null ? unfolded({ ...facts, ...inside }) : facts;
}

function forPeople(value: unknown): unknown {
  return typeof value === "number" ? Math.round(value) : value;
}
