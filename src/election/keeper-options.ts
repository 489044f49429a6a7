// Checks the option `keeper`: whether a process beside this one can give its seats back, and what the user has to say for that.
import { show } from "../base/show.ts";
import { markThisProcess } from "../keeper/mark.ts";
import type { Reopenable, Store } from "../stores/contract.ts";
import type { KeeperOptions } from "./face.ts";
import { problemOfPlace } from "./kept-store.ts";

/** A keeper ends ten seconds after its app. The rest of that time is for finding children, and for the store. */
const QUIET_MOST_MS = 8000;
const KNOWN = ["effectsAreFenced", "quietMs", "noChildren"];

/** Returns undefined if there is no keeper. Marks this process, so that processes that it starts from now on can be found. */
export function quietMsOf(keeper: KeeperOptions | undefined): number | undefined {
  if (keeper === undefined) return undefined;
  markThisProcess();
  return keeper.effectsAreFenced === true ? 0 : keeper.quietMs;
}

export function problemsOfKeeper(keeper: unknown, store: unknown, platform: string = process.platform): string[] {
  if (typeof keeper !== "object" || keeper === null)
    return [
      `keeper ${show(keeper)} is not { effectsAreFenced: true } or { quietMs: … }: docs/KEEPER.md says which of them fits`,
    ];
  const { place, rest } = { place: problemsHere(keeper, platform), rest: problemsOfStore(store, keeper) };
  return [...problemsOfWords(keeper), ...rest, ...place];
}

function problemsOfWords(keeper: Readonly<Record<string, unknown>> | object): string[] {
  const { effectsAreFenced, quietMs } = keeper as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(keeper)
    .filter((key) => !KNOWN.includes(key))
    .map((key) => `keeper.${key} is not an option: ${KNOWN.join(", ")} are`);
  if (effectsAreFenced !== true && quietMs === undefined)
    return [
      ...unknown,
      `keeper: what this process sent before it died may still arrive. Say effectsAreFenced: true if all that it and its children write to compares tokens (docs/FENCING.md), or quietMs: how long such a request may take`,
    ];
  if (effectsAreFenced === true && quietMs !== undefined)
    return [...unknown, "keeper has both effectsAreFenced and quietMs: with the first, nothing is waited for"];
  const isTime = typeof quietMs === "number" && quietMs >= 0 && quietMs <= QUIET_MOST_MS;
  if (effectsAreFenced === true || isTime) return unknown;
  return [
    ...unknown,
    `keeper.quietMs ${show(quietMs)} is not a number of milliseconds from 0 to ${QUIET_MOST_MS}: a keeper outlives its process by 10 s at most. If requests may take longer, leave keeper out, and let the ttl decide`,
  ];
}

function problemsOfStore(store: unknown, keeper: object): string[] {
  const { url, isBorrowed, guarantee } = (store ?? {}) as Partial<Reopenable & Store>;
  if (guarantee === undefined) return []; // this is no store, which is reported already
  if (guarantee.scope === "process")
    return [
      `keeper: ${guarantee.store} is inside this process and ends with it, so that there is nothing to give back`,
    ];
  if (typeof url !== "string" || isBorrowed === true)
    return [
      `keeper needs a store that was opened from a URL, because it opens the store again when this process is dead; this one is around ${isBorrowed === true ? "a database that you opened" : "a client that you made, or has no url"}. Pass await openStore(url), or leave keeper out`,
    ];
  if (guarantee.fencing === "unfenced" && "effectsAreFenced" in keeper && keeper.effectsAreFenced === true)
    return [
      `keeper: ${guarantee.store} gives no tokens, so that nothing can compare them, and effects are not fenced. Say quietMs instead: how long a request of a dead process may take`,
    ];
  return [];
}

function problemsHere(keeper: object, platform: string): string[] {
  if (!process.getBuiltinModule("node:worker_threads").isMainThread)
    return ["keeper belongs to the process: make this candidate in the main thread"];
  if (platform === "win32")
    return [
      "keeper cannot work on Windows, which does not say when a process was started. Leave it out: the ttl decides",
    ];
  if (platform !== "linux" && !("noChildren" in keeper && keeper.noChildren === true))
    return [
      `keeper: ${platform} does not show what a dead process has started, and a child may act on. Say noChildren: true if this process starts none`,
    ];
  const problem = problemOfPlace();
  return problem === undefined ? [] : [problem];
}
