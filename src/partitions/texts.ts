// What stands in the memos of a group beside the chunks, as text: the index, what a member says of itself, and the registry. JSON with a version; what cannot be read is STORE_FOREIGN_DATA.
import { foreign } from "./chunk.ts";
import type { OperatorWishes } from "./controller.ts";
import type { Ack } from "./member.ts";
import type { Revision } from "./revision.ts";

const VERSION = 1;

/** Tells members which chunks have changed, and everybody how the group is cut. Written after the chunks. */
export interface Index {
  readonly count: number;
  readonly chunkSize: number;
  /** The domain of the store's tokens; the domain of the epochs follows from it. */
  readonly domain: string;
  /** For each chunk that was ever written: token and n. */
  readonly revisions: readonly ((Pick<Revision, "n"> & { readonly token: bigint }) | undefined)[];
}

export function formatIndex({ count, chunkSize, domain, revisions }: Index): string {
  const pairs = revisions.map((revision) => (revision === undefined ? 0 : [`${revision.token}`, revision.n]));
  return JSON.stringify({ v: VERSION, count, chunkSize, domain, revisions: pairs });
}

export function parseIndex(text: string): Index {
  return read("the index of the partitions", text, (written) => {
    const revisions = (written["revisions"] as readonly (0 | readonly [string, number])[]).map((pair) =>
      pair === 0 ? undefined : { token: BigInt(pair[0]), n: pair[1] },
    );
    return {
      count: whole(written["count"]),
      chunkSize: whole(written["chunkSize"]),
      domain: String(written["domain"]),
      revisions,
    };
  });
}

/** What a member says of itself, in its own term. */
export interface Statement {
  readonly weight: number;
  readonly zone: string | undefined;
  readonly acks: readonly Ack[];
}

export function formatStatement({ weight, zone, acks }: Statement): string {
  const said = acks.map(({ chunk, seen: { term, n }, stopping }) => [chunk, `${term.token}`, term.bid, n, stopping]);
  return JSON.stringify({ v: VERSION, weight, zone, acks: said });
}

export function parseStatement(text: string): Statement {
  return read("what a member says of itself", text, (written) => {
    const weight = Number(written["weight"]);
    if (!(weight > 0)) throw new RangeError(`a weight of ${weight}`);
    const acks = (written["acks"] as readonly [number, string, string, number, number[]][]).map(
      ([chunk, token, bid, n, stopping]): Ack => ({
        chunk: whole(chunk),
        seen: { term: { token: BigInt(token), bid }, n: whole(n) },
        stopping: stopping.map(whole),
      }),
    );
    const zone = written["zone"];
    return { weight, zone: typeof zone === "string" ? zone : undefined, acks };
  });
}

/** How many partitions the group has, which ids there are, and what operators have asked for. */
export interface Registry extends OperatorWishes {
  /** As the first member was told. Undefined in what earlier versions have written: they looked only into the index, which is not there before the first controller. */
  readonly count: number | undefined;
  readonly ids: ReadonlySet<string>;
}

export const EMPTY_REGISTRY: Registry = { count: undefined, ids: new Set(), draining: new Set(), transfers: new Map() };

export function formatRegistry({ count, ids, draining, transfers }: Registry): string {
  return JSON.stringify({ v: VERSION, count, ids: [...ids], draining: [...draining], transfers: [...transfers] });
}

export function parseRegistry(text: string): Registry {
  return read("the registry of the partitions", text, (written) => ({
    count: written["count"] === undefined ? undefined : whole(written["count"]),
    ids: new Set((written["ids"] as readonly unknown[]).map(String)),
    draining: new Set((written["draining"] as readonly unknown[]).map(String)),
    transfers: new Map(
      (written["transfers"] as readonly [number, string][]).map(([partition, id]) => [whole(partition), id]),
    ),
  }));
}

function read<T>(what: string, text: string, parse: (written: Readonly<Record<string, unknown>>) => T): T {
  try {
    const written = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (written["v"] !== VERSION) throw new RangeError(`version ${String(written["v"])} is not known`);
    return parse(written);
  } catch (cause) {
    throw foreign(`${what} cannot be read: ${text.slice(0, 80)}`, cause);
  }
}

function whole(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${String(value)} is no whole number`);
  return value;
}
