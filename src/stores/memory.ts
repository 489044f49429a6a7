// `memory:` is a store inside this process (inside this thread: another has its own). For tests and demonstrations, and for taking turns between
// parts of one program. Its sessions, seats and queues are those of the simulator, because it is the simulator's model with promises
// around it; a call is applied at once, answered in a later job, and never unknown unless its signal had aborted before.
//
// The default is a race that the store judges: most real stores are races, each hold costs one look-up, and no candidate has to wait for a ttl of silence.
// Clock: sessions run out on the monotonic hand of the clock it was made with, by default that of the process, never before their ttl.
import type { Clock } from "../base/clock.ts";
import { invalidConfig } from "../base/errors.ts";
import { problemsOfKeys } from "../base/option-keys.ts";
import { processWide } from "../base/process-wide.ts";
import type { Guarantee } from "../lease/guarantee.ts";
import { LineShelf } from "../simulator/models/line-shelf.ts";
import { RaceShelf } from "../simulator/models/race-shelf.ts";
import type { FencedStore, Reopenable } from "./contract.ts";
import { grantedMs } from "./granted-ttl.ts";
import { hostClock } from "./host-clock.ts";
import { guaranteeOf, type JudgedBy, type MemoryLayout, type MemoryShape } from "./memory/guarantee.ts";
import { MemoryPort } from "./memory/memory-port.ts";
import { MemoryStore } from "./memory/memory-store.ts";
import { processClock } from "./memory/process-clock.ts";
import { SharedShelf } from "./memory/shared-shelf.ts";
import { SwapStore } from "./swap/swap-store.ts";

/** Options of `memory`. */
export interface MemoryOptions {
  /** Stores of one name in one process are one store. A store without a name is shared with no other. */
  readonly name?: string | undefined;
  /** line: candidates are served in the order in which they came. race: the first swap wins. @default "race" */
  readonly shape?: MemoryShape | undefined;
  /** Who ends a silent session: the store by its own clock, or a rival that has watched it (races only). @default "store" */
  readonly judge?: JudgedBy | undefined;
  /**
   * swap: the records and the order of writes that stores without transactions get (src/stores/swap), judged by rivals that look from time to time.
   * @default "model"
   */
  readonly layout?: MemoryLayout | undefined;
  /** Also the clock of the candidates made with this store: for tests. @default the process's monotonic clock */
  readonly clock?: Clock | undefined;
}

const OPTIONS = ["name", "shape", "judge", "layout", "clock"] satisfies (keyof MemoryOptions)[];

/** A store in this process: by options, or by a URL such as `memory:`, `memory:jobs` or `memory:jobs?shape=line`. */
export function memory(options: MemoryOptions | string = {}): FencedStore & Reopenable {
  const problems = typeof options === "string" ? [] : problemsOfKeys(options, OPTIONS);
  if (problems.length > 0) throw invalidConfig("memory", problems);
  const asked = typeof options === "string" ? parseUrl(options) : (options ?? {});
  if (asked.layout !== undefined && asked.layout !== "model") return swapMemory(asked);
  const { name = "", clock } = asked;
  const shared = name === "" ? createShelf(asked) : findShelf(name, asked);
  const store = new MemoryStore(shared, urlOf(name, shared.guarantee));
  return clock === undefined ? store : Object.assign(store, { [hostClock]: clock });
}

/** A store of the layout "swap". It has no name, because the map behind its port is its own. */
function swapMemory({ layout, name, shape = "race", judge = "taker", clock }: MemoryOptions): FencedStore & Reopenable {
  const problems = [
    ...(layout === "swap" ? [] : [`layout ${JSON.stringify(layout)} is not known: "model" or "swap"`]),
    ...(shape === "race" ? [] : ["the layout swap is a race: leave shape out"]),
    ...(judge === "taker" ? [] : ["in the layout swap rivals judge: leave judge out"]),
    ...(name === undefined ? [] : ["a store of the layout swap has no name: leave it out"]),
  ];
  if (problems.length > 0) throw invalidConfig("memory", problems);
  const guarantee = {
    ...guaranteeOf("race", "taker", `memory-${crypto.randomUUID()}`),
    wakes: "poll" as const,
    memos: undefined,
    bans: undefined,
    invites: undefined,
  };
  const store = Object.assign(new SwapStore(new MemoryPort(), guarantee), { url: "memory:?layout=swap" });
  return clock === undefined ? store : Object.assign(store, { [hostClock]: clock });
}

const named = processWide("memory-stores.1", () => new Map<string, SharedShelf>());

/** The shelf of that name, which later openers take as it is: options that contradict it are refused. */
function findShelf(name: string, asked: MemoryOptions): SharedShelf {
  const found = named.get(name);
  if (found === undefined) {
    const made = createShelf(asked);
    named.set(name, made);
    return made;
  }
  const { shape, judge } = found.guarantee;
  const problems = [
    ...(asked.shape === undefined || asked.shape === shape
      ? []
      : [`it is a ${shape}, and a ${asked.shape} was asked for`]),
    ...(asked.judge === undefined || (asked.judge === "taker") === (judge === "taker")
      ? []
      : [`it is judged by the ${judge === "taker" ? "taker" : "store"}`]),
    ...(asked.clock === undefined || asked.clock === found.clock ? [] : ["it lives by another clock"]),
  ];
  if (problems.length > 0) throw invalidConfig(`a store named ${JSON.stringify(name)} exists`, problems);
  return found;
}

function createShelf({ shape = "race", judge = "store", clock = processClock }: MemoryOptions): SharedShelf {
  const problems = [
    ...(["line", "race"].includes(shape) ? [] : [`shape ${JSON.stringify(shape)} is not known: "line" or "race"`]),
    ...(["store", "taker"].includes(judge) ? [] : [`judge ${JSON.stringify(judge)} is not known: "store" or "taker"`]),
    ...(shape === "line" && judge === "taker" ? ["in a line the store judges: leave judge out, or use a race"] : []),
  ];
  if (problems.length > 0) throw invalidConfig("memory", problems);
  const domain = `memory-${crypto.randomUUID()}`;
  const { ttl } = guaranteeOf(shape, judge, domain);
  const grant = (askedMs: number): number => grantedMs(askedMs, ttl);
  const shelf =
    shape === "line"
      ? new LineShelf({ domain, judge, grant, refusesClones: true })
      : new RaceShelf({ domain, judge, grant, refusesClones: true, layout: "session" });
  return new SharedShelf(shelf, guaranteeOf(shape, judge, domain), clock);
}

function parseUrl(url: string): MemoryOptions {
  const match = /^memory:(?:\/\/)?([^?]*)\??(.*)$/is.exec(url);
  if (match === null) throw invalidConfig("memory", ["the URL does not begin with memory:"]);
  const [, path = "", query = ""] = match;
  const { shape, judge, layout, ...others } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>;
  const unknowns = Object.keys(others).map(
    (key) => `${JSON.stringify(key)} is not a setting of it: shape, judge and layout are`,
  );
  if (unknowns.length > 0) throw invalidConfig("memory", unknowns);
  return {
    name: path === "" ? undefined : decodeName(path),
    shape: shape as MemoryShape | undefined,
    judge: judge as JudgedBy | undefined,
    layout: layout as MemoryLayout | undefined,
  };
}

function decodeName(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalidConfig("memory", [
      "a % in the name of a URL begins an escape of two hexadecimal digits; write %25 for the sign itself",
    ]);
  }
}

function urlOf(name: string, { shape, judge }: Guarantee): string {
  const query = [...(shape === "line" ? ["shape=line"] : []), ...(judge === "taker" ? ["judge=taker"] : [])].join("&");
  return `memory:${encodeURIComponent(name)}${query === "" ? "" : `?${query}`}`;
}
