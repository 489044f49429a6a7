// A memo beside a seat, written in one step as docs/adr/0037-memos.md says: only the term in the seat writes, each number of a term is written once,
// and only over the version that the writer has seen.

export interface ModelMemo<Value> {
  readonly value: Value;
  /** The term that has written it. */
  readonly token: number;
  /** Which write of that term it was. */
  readonly n: number;
  readonly version: number;
}

export interface ModelMemoWrite<Value> {
  readonly token: number;
  readonly n: number;
  /** The version that the writer has seen; undefined: none. */
  readonly over: number | undefined;
  readonly value: Value;
}

export type MemoAnswer =
  /** `isApplied`: this request was applied, and not an earlier try of it. */
  | { readonly is: "written"; readonly version: number; readonly isApplied: boolean }
  | { readonly is: "conflict" }
  | { readonly is: "seat-lost" };

/** `seatToken`: the token of the term in the seat; undefined if nobody is in it. Returns what stands afterwards, and the answer to the writer. */
export function writeMemo<Value>(
  stands: ModelMemo<Value> | undefined,
  seatToken: number | undefined,
  { token, n, over, value }: ModelMemoWrite<Value>,
): { readonly memo: ModelMemo<Value> | undefined; readonly answer: MemoAnswer } {
  if (seatToken !== token) return { memo: stands, answer: { is: "seat-lost" } };
  if (stands?.token === token && stands.n === n)
    return { memo: stands, answer: { is: "written", version: stands.version, isApplied: false } };
  if (stands?.version !== over) return { memo: stands, answer: { is: "conflict" } };
  const version = (stands?.version ?? 0) + 1;
  return { memo: { value, token, n, version }, answer: { is: "written", version, isApplied: true } };
}
