// The invariants of one world, sorted by the times at which they look, so that a look that no invariant takes costs nothing. The first breach ends the judging.
import { clonePlain } from "../../base/clone.ts";
import type { Violation } from "../kernel/hunt.ts";
import type { Message, NodeId } from "../../protocols/node.ts";
import type { AcceptedWrite, Hearing, HostEvent, Invariant, WorldView } from "./invariants/invariant.ts";
import type { Member } from "./member.ts";

interface InvariantJudge {
  readonly invariant: Invariant;
  readonly memory: object;
}

type JudgedMoment = "sent" | "announced" | "after" | "started" | "written" | "hosted" | "atRest";

interface Hearer extends InvariantJudge {
  readonly look: Hearing<object, object, Message, unknown>;
}

function byType(judges: readonly InvariantJudge[]): ReadonlyMap<string, readonly Hearer[]> {
  const hearers = new Map<string, Hearer[]>();
  for (const judge of judges)
    for (const [type, look] of Object.entries(judge.invariant.received ?? {}))
      if (look !== undefined) hearers.set(type, [...(hearers.get(type) ?? []), { ...judge, look }]);
  return hearers;
}

export class Judges {
  readonly violations: Violation[] = [];
  readonly #all: readonly InvariantJudge[];
  readonly #sent: readonly InvariantJudge[];
  /** Type of message → its judges. Most types concern one judge, or none. */
  readonly #received: ReadonlyMap<string, readonly Hearer[]>;
  readonly #announced: readonly InvariantJudge[];
  readonly #after: readonly InvariantJudge[];
  readonly #started: readonly InvariantJudge[];
  readonly #written: readonly InvariantJudge[];
  readonly #hosted: readonly InvariantJudge[];
  readonly #view: WorldView;

  constructor(view: WorldView, judges: readonly InvariantJudge[]) {
    const those = (moment: JudgedMoment): readonly InvariantJudge[] =>
      judges.filter(({ invariant }) => invariant[moment] !== undefined);
    this.#view = view;
    this.#all = judges;
    this.#sent = those("sent");
    this.#received = byType(judges);
    this.#announced = those("announced");
    this.#after = those("after");
    this.#started = those("started");
    this.#written = those("written");
    this.#hosted = those("hosted");
  }

  static of(view: WorldView, invariants: readonly Invariant[]): Judges {
    return new Judges(
      view,
      invariants.map((invariant) => ({ invariant, memory: invariant.remember(view.nodes) })),
    );
  }

  fork(view: WorldView): Judges {
    const fork = new Judges(
      view,
      this.#all.map(({ invariant, memory }) => ({ invariant, memory: clonePlain(memory) })),
    );
    fork.violations.push(...this.violations);
    return fork;
  }

  sent(from: NodeId, to: NodeId, message: Message): void {
    for (const { invariant, memory } of this.#sent)
      this.#hear(invariant, invariant.sent?.(memory, this.#view, from, to, message));
  }

  received(member: Member, from: NodeId, message: Message): void {
    const hearers = this.#received.get(message.type);
    if (hearers === undefined) return;
    for (const { invariant, memory, look } of hearers) {
      const story = look(memory, this.#view, member, from, message);
      if (story !== undefined) this.#hear(invariant, story);
    }
  }

  announced(member: Member): void {
    for (const { invariant, memory } of this.#announced)
      this.#hear(invariant, invariant.announced?.(memory, this.#view, member));
  }

  after(member: Member): void {
    for (const { invariant, memory } of this.#after)
      this.#hear(invariant, invariant.after?.(memory, this.#view, member));
  }

  started(member: Member): void {
    for (const { invariant, memory } of this.#started)
      this.#hear(invariant, invariant.started?.(memory, this.#view, member));
  }

  written(write: AcceptedWrite): void {
    for (const { invariant, memory } of this.#written)
      this.#hear(invariant, invariant.written?.(memory, this.#view, write));
  }

  hosted(member: Member, event: HostEvent): void {
    for (const { invariant, memory } of this.#hosted)
      this.#hear(invariant, invariant.hosted?.(memory, this.#view, member, event));
  }

  atRest(): void {
    for (const { invariant, memory } of this.#all) this.#hear(invariant, invariant.atRest?.(memory, this.#view));
  }

  /** One report per invariant is enough. */
  #hear({ name }: Invariant, story: string | undefined): void {
    if (story === undefined || this.violations.some(({ invariant }) => invariant === name)) return;
    this.violations.push({ invariant: name, story, atMs: this.#view.nowMs });
  }
}
