// The flaws that the suite must find, and the case that names each.
import type { Store } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import * as broken from "./broken-stores.ts";

interface Breaker {
  /** "a store in which …" */
  readonly flaw: string;
  readonly make: () => Store;
  readonly caughtBy: string;
}

const race = (): Store => memory({ judge: "taker" });
const line = (): Store => memory({ shape: "line" });

export const BREAKERS: readonly Breaker[] = [
  {
    flaw: "tokens restart after a release",
    make: () => broken.tokensRestart(race()),
    caughtBy: "tokens grow from holder to holder, across release, re-claim and the end of a session",
  },
  {
    flaw: "a look shows a token without its domain",
    make: () => broken.tokenWithoutDomain(race()),
    caughtBy: "a look shows the holder's token with its domain",
  },
  {
    flaw: "versions of absence repeat",
    make: () => broken.versionsRepeat(race()),
    caughtBy: "versions of a name never repeat: not across release, re-claim and the end of a session",
  },
  {
    flaw: "a release ignores the bid",
    make: () => broken.releaseIgnoresBid(race()),
    caughtBy: "a release by another session or with another bid changes nothing",
  },
  {
    flaw: "a release ignores the session",
    make: () => broken.releaseIgnoresSession(line()),
    caughtBy: "a release by another session or with another bid changes nothing",
  },
  {
    flaw: "a release needs the version of the claim",
    make: () => broken.releaseNeedsVersion(race()),
    caughtBy: "a release counts although keeps have moved the version",
  },
  {
    flaw: "a keep revives an ended session",
    make: () => broken.keepRevives(race()),
    caughtBy: "a keep of an ended session answers session-lost",
  },
  {
    flaw: "a keep renews for two copies of a process",
    make: () => broken.keepIgnoresBeats(race()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "a line renews for two copies of a process",
    make: () => broken.keepIgnoresBeats(line()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "beats are refused although the guarantee does not say so",
    make: () => broken.declaresTheOtherWay(race()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "a keep that was not answered makes the next one fail",
    make: () => broken.keepRenewsOverTheFirstBeatOnly(race()),
    caughtBy: "a keep renews over any beat that it names",
  },
  {
    flaw: "a keep renews over its own beat",
    make: () => broken.keepRenewsOverItsOwnBeat(race()),
    caughtBy: "a keep does not renew over the beat that it leaves itself",
  },
  {
    flaw: "an opening is shared by two copies",
    make: () => broken.openingIgnoresBeat(race()),
    caughtBy: "opening again with the same nonce and another beat answers session-lost",
  },
  {
    flaw: "a copy that was overtaken ends the session of the other",
    make: () => broken.endIgnoresBeats(race()),
    caughtBy: "a copy that was overtaken ends nothing",
  },
  {
    flaw: "dead is not stable",
    make: () => broken.deadIsNotStable(race()),
    caughtBy: "a silent session loses its seats, and its keeps and claims are refused for ever",
  },
  {
    flaw: "a claim sent again is another grant",
    make: () => broken.claimIsNotIdempotent(race()),
    caughtBy: "a claim sent again with its bid is the same grant",
  },
  {
    flaw: "a look extends what takers watch",
    make: () => broken.lookExtends(race()),
    caughtBy: "looking extends nothing",
  },
  {
    flaw: "an opening sent again extends",
    make: () => broken.openingExtends(race()),
    caughtBy: "opening again extends nothing",
  },
  {
    flaw: "a swap ignores the version",
    make: () => broken.swapIgnoresOver(race()),
    caughtBy: "an older version wins nothing in a race, and a line does not ask for one",
  },
  {
    flaw: "what is asked for as vacant is taken from its holder",
    make: () => broken.vacantIsAnything(race()),
    caughtBy: "a claim over VACANT is granted where the seat is vacant, to one, and nowhere else",
  },
  {
    flaw: "a claim over VACANT that comes late is granted again",
    make: () => broken.vacantComesTwice(race()),
    caughtBy: "a claim over VACANT is granted where the seat is vacant, to one, and nowhere else",
  },
  {
    flaw: "a keep moves no version",
    make: () => broken.keepMovesNoVersion(race()),
    caughtBy: "a keep moves the version that a taker watches, and no holder from its place",
  },
  {
    flaw: "an opening sent again is another session",
    make: () => broken.opensTwice(race()),
    caughtBy: "opening twice with one nonce is one opening",
  },
  {
    flaw: "the end of a session is ignored",
    make: () => broken.endIsIgnored(memory()),
    caughtBy: "ending a session frees all that it held",
  },
  {
    flaw: "a line serves the last first",
    make: () => broken.lineIsLastInFirstOut(line()),
    caughtBy: "rivals are served in turn: by joining in a line, by one swap a version in a race",
  },
  {
    flaw: "a session may stand twice in a line",
    make: () => broken.lineHasNoLeftovers(line()),
    caughtBy: "a session stands once at a name: another bid is a leftover in a line, a new term in a race",
  },
  {
    flaw: "a watch promises hints and gives none",
    make: () => broken.watchIsSilent(memory()),
    caughtBy: "an onlooker is woken by a change of leader, or the guarantee says poll",
  },
  {
    flaw: "an aborted call throws at once",
    make: () => broken.throwsOnAbort(memory()),
    caughtBy: "an aborted call throws nothing in the caller's face",
  },
  {
    flaw: "a seat is freed before its ttl",
    make: () => broken.freesEarly(memory()),
    caughtBy: "no seat is freed before the ttl of its silent holder",
  },
  {
    flaw: "lost holds are not reported",
    make: () => broken.keepReportsNo("lost", memory()),
    caughtBy: "a keep reports exactly the holds that are gone",
  },
  {
    flaw: "strays are not reported",
    make: () => broken.keepReportsNo("strays", line()),
    caughtBy: "a keep reports what stands in its session and was not sent along",
  },
  {
    flaw: "answers to a batch come in another order",
    make: () => {
      const store = memory();
      return broken.change(store, { claim: async (claims, call) => (await store.claim(claims, call)).toReversed() });
    },
    caughtBy: "claims of one batch are answered in their order, each for itself",
  },
  {
    flaw: "values are forgotten",
    make: () => {
      const store = memory();
      return broken.change(store, {
        claim: (claims, call) =>
          store.claim(
            claims.map((claim) => ({ ...claim, value: "" })),
            call,
          ),
      });
    },
    caughtBy: "a claim by the bid that holds the name records its value and nothing else",
  },
  {
    flaw: "names differ by case only",
    make: () => {
      const store = memory();
      const fold = <N extends { readonly name: string }>(named: N): N => ({ ...named, name: named.name.toLowerCase() });
      return broken.change(store, {
        look: (questions, call) => store.look(questions.map(fold), call),
        claim: (claims, call) => store.claim(claims.map(fold), call),
      });
    },
    caughtBy: "odd names are kept apart and come back as they were",
  },
  {
    flaw: "tokens are given although it is unfenced",
    make: () => broken.change(memory(), { guarantee: { ...memory().guarantee, fencing: "unfenced" } }),
    caughtBy: "tokens are given exactly if the guarantee says fenced",
  },
  {
    flaw: "a sentence of the guarantee is empty",
    make: () =>
      broken.change(memory(), {
        guarantee: { ...memory().guarantee, under: { ...memory().guarantee.under, clockJump: "" } },
      }),
    caughtBy: "the guarantee has a sentence for every fault",
  },
  {
    flaw: "a request to hand over is kept for any term",
    make: () => broken.requestsUnchecked(race()),
    caughtBy: "a request to hand over that names another token, bid or domain is not kept",
  },
  {
    flaw: "a request to hand over outlives the next grant",
    make: () => broken.requestsOutliveGrants(race()),
    caughtBy: "a grant clears the request to hand over of the term before",
  },
  {
    flaw: "a request to hand over is shown to nobody",
    make: () => broken.requestsUnseen(line()),
    caughtBy: "a request to hand over is shown to the keeps of the term that it names, and ends nothing",
  },
  {
    flaw: "a request to hand over is kept where nobody leads",
    make: () => broken.requestsForNobody(line()),
    caughtBy: "a request to hand over is for a name that is held now",
  },
  {
    flaw: "a request to hand over looks like a sign of life",
    make: () => broken.requestsMoveVersions(race()),
    caughtBy: "a request to hand over moves no version",
  },
];
