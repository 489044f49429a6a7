// conclave/fastify: a candidate as `fastify.conclave`. It resigns before the server closes its connections (`preClose`), so that another process can lead
// while this one still answers the requests that have begun. Its events go to Fastify's logger unless others are asked for.
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { createCandidate } from "../election/candidate.ts";
import type { Candidate, CandidateOptions, CandidateSettings } from "../election/face.ts";
import type { Store } from "../stores/contract.ts";
import { openStore } from "../drivers/open-store.ts";

declare module "fastify" {
  /** What the plugin adds to a server. */
  interface FastifyInstance {
    /** The candidate of this process: `fastify.conclave.election("billing").lead(work)`. */
    readonly conclave: Candidate;
  }
}

/** Options of `createCandidate`, and a URL in the place of a store, which the plugin then opens. */
export interface FastifyConclaveOptions extends CandidateSettings {
  readonly store: Store | string;
  /** Accepts a store without tokens. */
  readonly unfenced?: boolean | undefined;
}

const plugin: FastifyPluginAsync<FastifyConclaveOptions> = async (fastify, options) => {
  const { store, onEvent, logger, unfenced, ...settings } = options;
  const isHeard = onEvent !== undefined || logger !== undefined;
  const candidate = createCandidate({
    ...settingsOf(settings),
    store: typeof store === "string" ? await openStore(store) : store,
    onEvent,
    logger: isHeard ? logger : fastify.log,
    ...(unfenced === true ? { unfenced } : {}),
  } as CandidateOptions<Store>) as Candidate;
  fastify.decorate("conclave", candidate);
  // Idempotent: `onClose` serves those who close a server that never listened.
  fastify.addHook("preClose", () => candidate.close());
  fastify.addHook("onClose", () => candidate.close());
};

/** Fastify hands a plugin its own options too, such as `prefix`. */
function settingsOf(options: CandidateSettings): CandidateSettings {
  const { id, ttlMs, drainMs, renewal, stallAfterMs, keeper, onOverstay } = options;
  return { id, ttlMs, drainMs, renewal, stallAfterMs, keeper, onOverstay };
}

/** `await fastify.register(conclave, { store: "postgres://…" })`. What it adds is seen by the whole server, not only by its own plugins. */
export const conclave: FastifyPluginAsync<FastifyConclaveOptions> = Object.assign(plugin, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "conclave",
  [Symbol.for("plugin-meta")]: { name: "conclave", fastify: "5.x" },
});

export type { FastifyInstance };
