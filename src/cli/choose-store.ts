// Which store a command means, and the line that says so.
import { openStore, type Reopenable, type Store } from "../index.ts";
export async function chooseStore(url: string | undefined): Promise<Store & Partial<Reopenable>> {
  const store = await openStore(url ?? process.env["CONCLAVE_STORE"] ?? "sqlite:");
  process.stderr.write(`store ${(store as Partial<Reopenable>).url ?? store.guarantee.store} — this host only\n`);
  return store;
}
