import { openStore, type Reopenable, type Store } from "../index.ts";
// placeholder until merged
export async function chooseStore(url: string | undefined): Promise<Store & Partial<Reopenable>> {
  const store = await openStore(url ?? process.env["CONCLAVE_STORE"] ?? "sqlite:");
  process.stderr.write(`store ${(store as Partial<Reopenable>).url ?? store.guarantee.store} — this host only\n`);
  return store;
}
