// What `dynamodb:` promises, as data: in its native layout, and in that of the Amazon DynamoDB Lock Client, where it is what that client promises and no more.
import type { Guarantee } from "../../lease/guarantee.ts";
import { MEMOS } from "./memos.ts";

/** How many seats one request can read. */
const HOLDS_PER_KEEP = 100;

export const GUARANTEE: Guarantee<"fenced"> = {
  store: "dynamodb",
  scope: "network",
  quorum: true,
  ttl: {
    minMs: 500,
    maxMs: 86_400_000,
    stepMs: 1,
    why: "whole milliseconds, long enough for a few requests to a region, up to a day",
  },
  wakes: "poll",
  tellsFew: true,
  cap: "CP within one region: a conditional write is decided once. While the region or the way to it is away nobody is elected. Fit for services on AWS that have no database of their own, and for functions.",
  fencing: "fenced",
  token: {
    source: "a number in the seat's item, raised by the write that grants",
    domain: "the id of the table, which AWS draws when the table is made; a restored table has another one",
    survivesDeletion: true,
    survivesRestore: true,
  },
  shape: "race",
  judge: "taker",
  keepProves: "this-send",
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  earlyEnds: [],
  keep: "one-request",
  holdsPerSession: Infinity,
  holdsPerKeep: HOLDS_PER_KEEP,
  refusesClones: true,
  memos: MEMOS,
  under: {
    processPause:
      "A stopped holder is waited for until a rival has watched it in silence for its ttl; when it wakes it finds its term over. What it had under way elsewhere may still arrive: only a token stops its effect.",
    partition:
      "A holder that is cut off from DynamoDB ends its term at its own deadline; a rival takes over no earlier than a ttl of silence.",
    storeLeaderChange:
      "DynamoDB moves a partition between its machines by itself, and keeps every write that it has answered. Nobody notices but by a slow request.",
    storeRestart:
      "Nobody is elected while the service is away or the table is throttled; a throttled renewal is tried again until the deadline, and is no loss before it.",
    clockJump:
      "No wall clock is used, neither of the candidates nor of AWS; but requests are signed, and AWS refuses those of a host whose clock is wrong by more than minutes.",
    clockDrift: "Rivals watch silence on their own monotonic clocks, with margins for drift up to rho.",
    recordDeleted:
      "A deleted seat or session is waited for as if it were held, and its holder loses the term with one of its next three renewals; if these get no answer either, two may lead for up to a ttl, and the token orders them. The tokens go on above all earlier ones. Memos of a deleted seat are gone. If the name's item is deleted as well, or the whole table, the tokens begin again.",
    machineCloned:
      "Both copies have the same session and the same tokens. The first to renew goes on; the second is refused at its next renewal, and loses its terms. Until then, for up to a third of the ttl, both may lead.",
  },
};

export const LOCK_CLIENT_GUARANTEE: Guarantee<"unfenced"> = {
  store: "dynamodb (lock-client)",
  scope: "network",
  quorum: true,
  ttl: {
    minMs: 500,
    maxMs: 86_400_000,
    stepMs: 1,
    why: "whole milliseconds, long enough for a few requests to a region, up to a day",
  },
  wakes: "poll",
  cap: "CP within one region: as safe as the lock client. Fit for fleets that are mixed with Java candidates, and for work that may be done twice.",
  fencing: "unfenced",
  token: {
    source: "none: the lock client replaces and deletes items, and any counter in them",
    domain: "none",
    survivesDeletion: false,
    survivesRestore: false,
  },
  shape: "race",
  judge: "taker",
  keepProves: "this-send",
  proofWithinMs: Infinity,
  extraMarginMs: 0,
  earlyEnds: [],
  keep: "per-hold",
  holdsPerSession: Infinity,
  under: {
    processPause:
      "A stopped holder is waited for until a rival has watched its item in silence for its lease; when it wakes it finds its term over. What it had under way may still arrive, and there is no token that would stop it.",
    partition:
      "A holder that is cut off from DynamoDB ends its term at its own deadline; a rival takes over no earlier than a lease of silence.",
    storeLeaderChange: "DynamoDB keeps every write that it has answered. Nobody notices but by a slow request.",
    storeRestart:
      "Nobody is elected while the service is away or the table is throttled; a throttled renewal is tried again until the deadline.",
    clockJump:
      "No wall clock is used; but AWS refuses signed requests of a host whose clock is wrong by more than minutes.",
    clockDrift:
      "Conclave's candidates watch silence with margins for drift up to rho. A Java candidate has no such margin: between the two, it is as safe as the Java client.",
    recordDeleted:
      "A deleted item looks as if it had been given back: another may lead at once, and two lead until the old holder's next renewal. Nothing orders the two.",
    machineCloned: "Both copies renew the same item, and both lead. Nothing tells them apart.",
  },
};
