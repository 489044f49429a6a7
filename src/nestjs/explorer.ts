// Finds the decorated methods once every module is initialised, stands for the elections that they name, and resigns when the application closes.
import type { DiscoveryService } from "@nestjs/core";
import type { Election } from "../election/face.ts";
import type { UnfencedTerm } from "../election/term.ts";
import { ElectionSchedule, type SlotRun } from "../schedule/schedule.ts";
import { connect, type Marked, markedMethods, type RunInTerm } from "./decorators.ts";
import { Standing, type StandingOptions, type TermWork } from "./standing.ts";

interface Found extends Marked {
  readonly instance: object;
}

export class Explorer {
  readonly #discovery: DiscoveryService;
  readonly #electionOf: (name: string) => Election<UnfencedTerm>;
  readonly #log: StandingOptions["log"];
  readonly #standings = new Map<string, Standing>();
  readonly #schedules: ElectionSchedule<UnfencedTerm>[] = [];

  constructor(
    discovery: DiscoveryService,
    electionOf: (name: string) => Election<UnfencedTerm>,
    log: StandingOptions["log"],
  ) {
    this.#discovery = discovery;
    this.#electionOf = electionOf;
    this.#log = log;
  }

  start(): void {
    const found = this.#find();
    for (const name of new Set(found.map(({ election }) => election))) this.#prepare(name, found);
    const byName = new Map(
      Array.from(this.#standings.keys(), (name) => [
        name,
        (work: Parameters<RunInTerm>[0]) => this.#electionOf(name).ifLeading(work),
      ]),
    );
    for (const instance of new Set(found.map((each) => each.instance))) connect(instance, byName);
    for (const each of found)
      if (each.slots !== undefined) this.#schedules.push(scheduledBy(this.#electionOf(each.election), each));
    for (const schedule of this.#schedules) schedule.begin();
    for (const standing of this.#standings.values()) standing.start();
  }

  async close(): Promise<void> {
    await Promise.all(this.#schedules.map((schedule) => schedule.close()));
    await Promise.all(Array.from(this.#standings.values(), (standing) => standing.close()));
  }

  #find(): readonly Found[] {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()];
    const instances = new Set<object>();
    for (const wrapper of wrappers) {
      // Those that are made anew for each request have no one instance to call.
      const instance: unknown = wrapper.isDependencyTreeStatic() ? wrapper.instance : undefined;
      if (typeof instance === "object" && instance !== null) instances.add(instance);
    }
    return [...instances].flatMap((instance) => markedMethods(instance).map((marked) => ({ ...marked, instance })));
  }

  #prepare(name: string, found: readonly Found[]): void {
    const own = found.filter(({ election }) => election === name);
    const works = own.filter(({ kind }) => kind === "while").map(workOf);
    const isAsked = own.some(({ kind }) => kind !== "while");
    this.#standings.set(name, new Standing({ election: this.#electionOf(name), works, isAsked, log: this.#log }));
  }
}

/** The standing of its election leads it. */
function scheduledBy(
  election: Election<UnfencedTerm>,
  { instance, method, slots }: Found,
): ElectionSchedule<UnfencedTerm> {
  const { [method]: run } = instance as Readonly<Record<string, (run: SlotRun<UnfencedTerm>) => unknown>>;
  const work = async (slot: SlotRun<UnfencedTerm>): Promise<unknown> => await run?.call(instance, slot);
  const key = slots?.options.key ?? `${instance.constructor.name}.${method}`;
  return new ElectionSchedule(election, slots?.when ?? "", work, { ...slots?.options, key });
}

function workOf({ instance, method }: Found): TermWork {
  return {
    name: `${instance.constructor.name}.${method}`,
    run: async (term) => {
      const { [method]: run } = instance as Readonly<Record<string, (term: UnfencedTerm) => unknown>>;
      return await run?.call(instance, term);
    },
  };
}
