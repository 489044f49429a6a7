// The module itself. Decorators are called as functions, because the sources are compiled without them.
import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from "@nestjs/common";
import { DiscoveryModule, DiscoveryService } from "@nestjs/core";
import { createCandidate } from "../election/candidate.ts";
import type { Candidate, CandidateOptions, Election } from "../election/face.ts";
import type { UnfencedTerm } from "../election/term.ts";
import type { Store } from "../stores/contract.ts";
import { openStore } from "../drivers/open-store.ts";
import { Explorer } from "./explorer.ts";
import {
  CONCLAVE_CANDIDATE,
  type ConclaveModuleOptions,
  ConfigurableModuleClass,
  electionToken,
  OPTIONS_TOKEN,
} from "./options.ts";

type AnyCandidate = Candidate<UnfencedTerm>;

/**
 * `ConclaveModule.forRoot({ store: "postgres://…" })` or `forRootAsync({ inject, useFactory })`, once in the application; `forFeature("billing")` where
 * elections are injected. It resigns in `onModuleDestroy`: call `app.enableShutdownHooks()`, or nobody hears of SIGTERM.
 */
export class ConclaveModule extends ConfigurableModuleClass implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #candidate: AnyCandidate;
  readonly #explorer: Explorer;

  constructor(candidate: AnyCandidate, discovery: DiscoveryService) {
    super();
    this.#candidate = candidate;
    this.#explorer = new Explorer(discovery, (name) => electionOf(candidate, name), new Logger("Conclave"));
  }

  /** Provides the elections of those names for `@InjectElection(name)`. */
  static forFeature(...names: readonly string[]): DynamicModule {
    const providers = names.map((name) => ({
      provide: electionToken(name),
      inject: [CONCLAVE_CANDIDATE],
      useFactory: (candidate: AnyCandidate) => electionOf(candidate, name),
    }));
    return { module: ConclaveFeatureModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  onApplicationBootstrap(): void {
    this.#explorer.start();
  }

  /** Resolves when the work has settled and every seat is given back. */
  async onModuleDestroy(): Promise<void> {
    await this.#explorer.close();
    await this.#candidate.close();
  }
}

// oxlint-disable-next-line typescript/no-extraneous-class -- Nest tells modules apart by their classes
class ConclaveFeatureModule {}

/** One for each name, so that what is injected is what the decorators lead. */
const elections = new WeakMap<AnyCandidate, Map<string, Election<UnfencedTerm>>>();

function electionOf(candidate: AnyCandidate, name: string): Election<UnfencedTerm> {
  const known = elections.get(candidate) ?? new Map<string, Election<UnfencedTerm>>();
  elections.set(candidate, known);
  const election = known.get(name) ?? candidate.election(name);
  known.set(name, election);
  return election;
}

async function makeCandidate(options: ConclaveModuleOptions): Promise<AnyCandidate> {
  const { store, onEvent, logger, unfenced, ...settings } = options;
  const isHeard = onEvent !== undefined || logger !== undefined;
  return createCandidate({
    ...settings,
    store: typeof store === "string" ? await openStore(store) : store,
    onEvent,
    logger: isHeard ? logger : nestLogger(),
    ...(unfenced === true ? { unfenced } : {}),
  } as CandidateOptions<Store>);
}

/** Nest's word for `info` is `log`. */
function nestLogger(): NonNullable<ConclaveModuleOptions["logger"]> {
  const logger = new Logger("Conclave");
  return {
    debug: (line) => logger.debug(line),
    info: (line) => logger.log(line),
    warn: (line) => logger.warn(line),
    error: (line) => logger.error(line),
  };
}

const candidateProvider = { provide: CONCLAVE_CANDIDATE, inject: [OPTIONS_TOKEN], useFactory: makeCandidate };

Module({ imports: [DiscoveryModule], providers: [candidateProvider], exports: [CONCLAVE_CANDIDATE] })(ConclaveModule);
Module({})(ConclaveFeatureModule);
Inject(CONCLAVE_CANDIDATE)(ConclaveModule, undefined, 0);
Inject(DiscoveryService)(ConclaveModule, undefined, 1);
