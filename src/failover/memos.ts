// Decides which of two watched memos is the later one. A watch may show an old memo after a new one was read.
import type { Memo } from "../election/memo.ts";

export function isLater(memo: Memo, than: Memo | undefined): boolean {
  if (than === undefined) return true;
  if (memo.token.value !== than.token.value) return memo.token.value > than.token.value;
  return memo.n > than.n;
}
