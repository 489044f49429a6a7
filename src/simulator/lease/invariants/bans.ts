// BANS. From the step that writes a ban until the step that writes its lift, the store grants nothing to a session of that node: no term, no memo, no renewal that was asked for since. A ban frees no
// seat; EXCLUSION judges that.
// Source: lease/ban-rule.ts. Not checked across a failover that forgot: a ban may be gone with it. Renewals are not checked where the store answers some that it has not heard.
import type { MemoWrite, Name } from "../../../lease/exchange.ts";
import type { Ears, LeaseInvariant, Judgement, ObservationOf, Who } from "../observation.ts";

interface Renewal {
  readonly node: string;
  /** The number of bans of the node that had ended when the request was sent; undefined: the node was not banned then. */
  readonly lifts: number | undefined;
}

export class Bans implements LeaseInvariant {
  readonly name = "bans";
  readonly hears: Ears = {
    sent: (observation) => this.#sent(observation),
    noted: ({ write }) => this.#noted(write),
    granted: ({ election, token }) => this.#check(this.#nodeOf.get(token.bid), `"${election}" was granted`),
    answer: (observation) => this.#answered(observation),
    meddled: ({ act }) => {
      if (act === "forgot") this.#isJudged = false;
    },
    died: ({ who }) => void this.#renewals.delete(who),
    awaited: () => this.#standing.clear(),
  };
  readonly #judgement: Judgement;
  /** Node → the elections that have banned it. */
  readonly #standing = new Map<string, Set<Name>>();
  readonly #lifts = new Map<string, number>();
  readonly #nodeOf = new Map<string, string>();
  readonly #renewals = new Map<Who, Map<number, Renewal>>();
  #isJudged = true;

  constructor(judgement: Judgement) {
    this.#judgement = judgement;
  }

  #sent({ who, errand, request }: ObservationOf<"sent">): void {
    if (request.method === "claim")
      for (const { bid, session } of request.claims)
        if (session.node !== undefined) this.#nodeOf.set(bid, session.node);
    if (request.method !== "keep" || !("id" in request.session) || request.session.node === undefined) return;
    const { node } = request.session;
    const renewals = this.#renewals.get(who) ?? new Map<number, Renewal>();
    const lifts = this.#standing.has(node) ? (this.#lifts.get(node) ?? 0) : undefined;
    this.#renewals.set(who, renewals.set(errand, { node, lifts }));
  }

  #noted({ session, hold, ban }: MemoWrite): void {
    this.#check(session.node, `a memo of "${hold.name}" was written for it`);
    if (ban === undefined) return;
    const by = this.#standing.get(ban.node) ?? new Set<Name>();
    if (ban.stands) this.#standing.set(ban.node, by.add(hold.name));
    else if (by.delete(hold.name) && by.size === 0) {
      this.#standing.delete(ban.node);
      this.#lifts.set(ban.node, (this.#lifts.get(ban.node) ?? 0) + 1);
    }
  }

  #answered({ who, errand, answer }: ObservationOf<"answer">): void {
    const renewal = this.#renewals.get(who)?.get(errand);
    this.#renewals.get(who)?.delete(errand);
    if (renewal?.lifts === undefined || answer.kind !== "kept" || answer.proves === false) return;
    if (this.#judgement.promises.proofWithinMs !== Infinity || this.#lifts.get(renewal.node) !== renewal.lifts) return;
    this.#check(renewal.node, "a renewal that was sent since was answered as kept");
  }

  #check(node: string | undefined, what: string): void {
    if (node === undefined || !this.#isJudged || !this.#standing.has(node)) return;
    this.#judgement.violate(this.name, `${node} is banned, and ${what}`);
  }
}
