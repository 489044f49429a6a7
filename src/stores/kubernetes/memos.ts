// Memos in Kubernetes: annotations of the election's own Lease, one for each memo, named by the SHA-256 of its key. The text is a line of JSON (key,
// token, n), and below it the value as it is.
//
// ARGUMENT: an update names the version of the Lease that it replaces, so that no other write comes between the reading and the writing. The Lease that was read shows this session,
// bid and token as the holder, and the present memo. A memo changes nothing of the spec: it is no sign of life to anybody who watches the Lease.
// A Lease that is deleted loses its memos.
import { Refusal } from "../../base/refusal.ts";
import { sha256 } from "../../clients/sha256.ts";
import { asBid, type StoredMemo, type MemoWrite, type MemoWritten } from "../contract.ts";
import { memoVersion, tooLarge, tooMany } from "../memos.ts";
import { LEASE_MEMOS } from "./guarantee.ts";
import { annotated, currentNote, isHeldBy, type Lease, versionNumber } from "./lease.ts";
import { editedEarly } from "./refusals.ts";

const PREFIX = "conclave/memo-";

export function memoAnnotation(key: string): string {
  return `${PREFIX}${sha256(key).digest("hex").slice(0, 40)}`;
}

/** The memos in the order of their keys. */
export function memosOf(lease: Lease): readonly StoredMemo[] {
  const texts = Object.entries(lease.metadata.annotations ?? {}).filter(([annotation]) =>
    annotation.startsWith(PREFIX),
  );
  const memos = texts.map(([annotation, text]) => readMemo(lease, annotation, text));
  return memos.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function readMemo({ metadata }: Lease, annotation: string, text: string): StoredMemo {
  const cut = text.indexOf("\n");
  try {
    const { key, domain, token, bid, n } = JSON.parse(text.slice(0, cut)) as { readonly [field: string]: unknown };
    if (typeof key !== "string" || typeof domain !== "string" || typeof bid !== "string" || typeof n !== "number")
      throw new TypeError("not a memo");
    const of = { domain, value: BigInt(String(token)), bid: asBid(bid) };
    return { key, value: text.slice(cut + 1), token: of, n, version: memoVersion(of, n) };
  } catch {
    throw new Refusal(
      "STORE_FOREIGN_DATA",
      `kubernetes: the annotation ${annotation} of the Lease ${metadata.name} is no memo: somebody else has written it. Nothing was overwritten. Remove that annotation.`,
    );
  }
}

/** What to write over `lease`, or the answer if nothing is to be written. */
export function memoStep(lease: Lease | undefined, write: MemoWrite): { readonly next: object } | MemoWritten {
  const { session, hold, key, value, n, over } = write;
  const { token } = hold;
  if (lease === undefined || token === undefined || !isHeldBy(lease, session, hold)) return { kind: "seat-lost" };
  // The token is not recorded yet: then the grant was the last write, unless somebody has edited the Lease by hand.
  if (currentNote(lease)?.token === undefined && versionNumber(lease) !== token.value) {
    if (token.value > versionNumber(lease)) return { kind: "seat-lost" };
    throw editedEarly(lease.metadata.name);
  }
  const large = tooLarge("kubernetes", write, LEASE_MEMOS);
  if (large !== undefined) return large;
  const memos = memosOf(lease);
  const stands = memos.find((memo) => memo.key === key);
  const isSame = stands?.token.bid === hold.bid && stands.token.value === token.value && stands.n === n;
  if (stands !== undefined && isSame && stands.value === value) return { kind: "written", version: stands.version };
  if (stands?.version !== over) return { kind: "conflict", memo: stands };
  if (stands === undefined && memos.length >= LEASE_MEMOS.keys) return tooMany("kubernetes", hold.name, LEASE_MEMOS);
  const head = JSON.stringify({ key, domain: token.domain, token: `${token.value}`, bid: hold.bid, n });
  return { next: annotated(lease, token, { [memoAnnotation(key)]: `${head}\n${value}` }) };
}
