// The flaws that the suite must find, and the case that names each.
import type { Store } from "conclave/stores/contract";
import { memory } from "conclave/stores/memory";
import { change } from "./broken/change.ts";
import * as invitations from "./broken/invitations.ts";
import * as memos from "./broken/memos.ts";
import * as requests from "./broken/requests.ts";
import * as seats from "./broken/seats.ts";
import * as sessions from "./broken/sessions.ts";

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
    make: () => seats.tokensRestart(race()),
    caughtBy: "tokens grow from holder to holder, across release, re-claim and the end of a session",
  },
  {
    flaw: "a look shows a token without its domain",
    make: () => seats.tokenWithoutDomain(race()),
    caughtBy: "a look shows the holder's token with its domain",
  },
  {
    flaw: "versions of absence repeat",
    make: () => seats.versionsRepeat(race()),
    caughtBy: "versions of a name never repeat: not across release, re-claim and the end of a session",
  },
  {
    flaw: "a release ignores the bid",
    make: () => seats.releaseIgnoresBid(race()),
    caughtBy: "a release by another session or with another bid changes nothing",
  },
  {
    flaw: "a release ignores the session",
    make: () => seats.releaseIgnoresSession(line()),
    caughtBy: "a release by another session or with another bid changes nothing",
  },
  {
    flaw: "a release needs the version of the claim",
    make: () => seats.releaseNeedsVersion(race()),
    caughtBy: "a release counts although keeps have moved the version",
  },
  {
    flaw: "a keep revives an ended session",
    make: () => sessions.keepRevives(race()),
    caughtBy: "a keep of an ended session answers session-lost",
  },
  {
    flaw: "a keep renews for two copies of a process",
    make: () => sessions.keepIgnoresBeats(race()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "a line renews for two copies of a process",
    make: () => sessions.keepIgnoresBeats(line()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "beats are refused although the guarantee does not say so",
    make: () => sessions.declaresTheOtherWay(race()),
    caughtBy: "of two copies that keep one session the second is refused",
  },
  {
    flaw: "a keep that was not answered makes the next one fail",
    make: () => sessions.keepRenewsOverTheFirstBeatOnly(race()),
    caughtBy: "a keep renews over any beat that it names",
  },
  {
    flaw: "a keep renews over its own beat",
    make: () => sessions.keepRenewsOverItsOwnBeat(race()),
    caughtBy: "a keep does not renew over the beat that it leaves itself",
  },
  {
    flaw: "an opening is shared by two copies",
    make: () => sessions.openingIgnoresBeat(race()),
    caughtBy: "opening again with the same nonce and another beat answers session-lost",
  },
  {
    flaw: "a copy that was overtaken ends the session of the other",
    make: () => sessions.endIgnoresBeats(race()),
    caughtBy: "a copy that was overtaken ends nothing",
  },
  {
    flaw: "dead is not stable",
    make: () => sessions.deadIsNotStable(race()),
    caughtBy: "a silent session loses its seats, and its keeps and claims are refused for ever",
  },
  {
    flaw: "a claim sent again is another grant",
    make: () => seats.claimIsNotIdempotent(race()),
    caughtBy: "a claim sent again with its bid is the same grant",
  },
  {
    flaw: "a look extends what takers watch",
    make: () => sessions.lookExtends(race()),
    caughtBy: "looking extends nothing",
  },
  {
    flaw: "an opening sent again extends",
    make: () => sessions.openingExtends(race()),
    caughtBy: "opening again extends nothing",
  },
  {
    flaw: "a swap ignores the version",
    make: () => seats.swapIgnoresOver(race()),
    caughtBy: "an older version wins nothing in a race, and a line does not ask for one",
  },
  {
    flaw: "what is asked for as vacant is taken from its holder",
    make: () => seats.vacantIsAnything(race()),
    caughtBy: "a claim over VACANT is granted where the seat is vacant, to one, and nowhere else",
  },
  {
    flaw: "a claim over VACANT that comes late is granted again",
    make: () => seats.vacantComesTwice(race()),
    caughtBy: "a claim over VACANT is granted where the seat is vacant, to one, and nowhere else",
  },
  {
    flaw: "a keep moves no version",
    make: () => seats.keepMovesNoVersion(race()),
    caughtBy: "a keep moves the version that a taker watches, and no holder from its place",
  },
  {
    flaw: "an opening sent again is another session",
    make: () => sessions.opensTwice(race()),
    caughtBy: "opening twice with one nonce is one opening",
  },
  {
    flaw: "the end of a session is ignored",
    make: () => sessions.endIsIgnored(memory()),
    caughtBy: "ending a session frees all that it held",
  },
  {
    flaw: "a line serves the last first",
    make: () => seats.lineIsLastInFirstOut(line()),
    caughtBy: "rivals are served in turn: by joining in a line, by one swap a version in a race",
  },
  {
    flaw: "a session may stand twice in a line",
    make: () => seats.lineHasNoLeftovers(line()),
    caughtBy: "a session stands once at a name: another bid is a leftover in a line, a new term in a race",
  },
  {
    flaw: "a watch promises hints and gives none",
    make: () => seats.watchIsSilent(memory()),
    caughtBy: "an onlooker is woken by a change of leader, or the guarantee says poll",
  },
  {
    flaw: "an aborted call throws at once",
    make: () => seats.throwsOnAbort(memory()),
    caughtBy: "an aborted call throws nothing in the caller's face",
  },
  {
    flaw: "a seat is freed before its ttl",
    make: () => sessions.freesEarly(memory()),
    caughtBy: "no seat is freed before the ttl of its silent holder",
  },
  {
    flaw: "lost holds are not reported",
    make: () => sessions.keepReportsNo("lost", memory()),
    caughtBy: "a keep reports exactly the holds that are gone",
  },
  {
    flaw: "strays are not reported",
    make: () => sessions.keepReportsNo("strays", line()),
    caughtBy: "a keep reports what stands in its session and was not sent along",
  },
  {
    flaw: "answers to a batch come in another order",
    make: () => {
      const store = memory();
      return change(store, { claim: async (claims, call) => (await store.claim(claims, call)).toReversed() });
    },
    caughtBy: "claims of one batch are answered in their order, each for itself",
  },
  {
    flaw: "values are forgotten",
    make: () => {
      const store = memory();
      return change(store, {
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
      return change(store, {
        look: (questions, call) => store.look(questions.map(fold), call),
        claim: (claims, call) => store.claim(claims.map(fold), call),
      });
    },
    caughtBy: "odd names are kept apart and come back as they were",
  },
  {
    flaw: "tokens are given although it is unfenced",
    make: () => change(memory(), { guarantee: { ...memory().guarantee, fencing: "unfenced" } }),
    caughtBy: "tokens are given exactly if the guarantee says fenced",
  },
  {
    flaw: "a sentence of the guarantee is empty",
    make: () =>
      change(memory(), {
        guarantee: { ...memory().guarantee, under: { ...memory().guarantee.under, clockJump: "" } },
      }),
    caughtBy: "the guarantee has a sentence for every fault",
  },
  {
    flaw: "a request to hand over is kept for any term",
    make: () => requests.requestsUnchecked(race()),
    caughtBy: "a request to hand over that names another token, bid or domain is not kept",
  },
  {
    flaw: "a request to hand over outlives the next grant",
    make: () => requests.requestsOutliveGrants(race()),
    caughtBy: "a grant clears the request to hand over of the term before",
  },
  {
    flaw: "a request to hand over is shown to nobody",
    make: () => requests.requestsUnseen(line()),
    caughtBy: "a request to hand over is shown to the keeps of the term that it names, and ends nothing",
  },
  {
    flaw: "a request to hand over is kept where nobody leads",
    make: () => requests.requestsForNobody(line()),
    caughtBy: "a request to hand over is for a name that is held now",
  },
  {
    flaw: "a request to hand over looks like a sign of life",
    make: () => requests.requestsMoveVersions(race()),
    caughtBy: "a request to hand over moves no version",
  },
  {
    flaw: "invitations are declared and there is no method for them",
    make: () => change(race(), {}),
    caughtBy: "a store that passes invitations on is a fenced race that is watched",
  },
  ...[invitations.invitationsLost, invitations.invitationsWithoutPriority].map((broken) => ({
    flaw: `invitations do not arrive as they were sent (${broken.name})`,
    make: () => broken(race()),
    caughtBy: "an invitation reaches those who watch the name, and changes nothing else",
  })),
  {
    flaw: "an invitation asks the leader to leave",
    make: () => invitations.invitationsAsk(race()),
    caughtBy: "an invitation reaches those who watch the name, and changes nothing else",
  },
  {
    flaw: "an invitation looks like a sign of life",
    make: () => invitations.invitationsMoveVersions(race()),
    caughtBy: "an invitation reaches those who watch the name, and changes nothing else",
  },
  {
    flaw: "the first of a line is shown itself as the next",
    make: () => invitations.nextIsFirst(line()),
    caughtBy: "the second of a line is shown to the first, and to nobody else",
  },
  {
    flaw: "memos are declared and there is no method for them",
    make: () => change(race(), {}),
    caughtBy: "memos are kept exactly if the guarantee says how many and how large",
  },
  {
    flaw: "a memo is gone with its term",
    make: () => memos.goneWithTheTerm(race()),
    caughtBy: "a memo is read as it was written, and outlives its term",
  },
  {
    flaw: "a read of a memo shows an old copy",
    make: () => memos.readFromACopy(line()),
    caughtBy: "a memo is read as it was written, and outlives its term",
  },
  {
    flaw: "a memo is written for any token",
    make: () => memos.ofAnyToken(race()),
    caughtBy: "a memo is written only for the session, bid and token in the seat",
  },
  {
    flaw: "a memo is written for any token of a line",
    make: () => memos.ofAnyToken(line()),
    caughtBy: "a memo is written only for the session, bid and token in the seat",
  },
  {
    flaw: "a memo is written for any bid",
    make: () => memos.ofAnyBid(race()),
    caughtBy: "a memo is written only for the session, bid and token in the seat",
  },
  {
    flaw: "a memo is written for any session",
    make: () => memos.ofAnySession(race()),
    caughtBy: "a memo is written only for the session, bid and token in the seat",
  },
  {
    flaw: "a memo that is sent again finds itself in its way",
    make: () => memos.resentIsAConflict(race()),
    caughtBy: "a memo that is sent again is written once",
  },
  {
    flaw: "the memo of a copy counts as one sent again",
    make: () => memos.copyIsAResend(line()),
    caughtBy: "a memo that is sent again is written once",
  },
  {
    flaw: "a memo is written over anything",
    make: () => memos.overAnything(race()),
    caughtBy: "a memo that comes late changes nothing",
  },
  {
    flaw: "keys of memos differ by case only",
    make: () => memos.keysFolded(race()),
    caughtBy: "memos of other names and other keys are other memos",
  },
  {
    flaw: "the memos of a name are read with those of names below it",
    make: () => memos.readWithThoseBelow(race()),
    caughtBy: "memos of other names and other keys are other memos",
  },
  {
    flaw: "a memo that is too large is cut",
    make: () => memos.cutToFit(race()),
    caughtBy: "a memo that is too large, or one too many, is refused and changes nothing",
  },
  {
    flaw: "a memo that is one too many is acknowledged and not written",
    make: () => memos.oneTooManyAcknowledged(race()),
    caughtBy: "a memo that is too large, or one too many, is refused and changes nothing",
  },
  {
    flaw: "a name that is full of memos takes no write to any of them",
    make: () => memos.fullIsShut(race()),
    caughtBy: "a memo that is too large, or one too many, is refused and changes nothing",
  },
  {
    flaw: "a memo looks like a sign of life",
    make: () => memos.signsOfLife(race()),
    caughtBy: "a memo moves no version and extends nothing",
  },
  {
    flaw: "the change of a memo wakes nobody",
    make: () => memos.unheard(memory()),
    caughtBy: "a reader of a memo is woken by its change, or the guarantee says poll",
  },
];
