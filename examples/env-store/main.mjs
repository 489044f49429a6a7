// The store comes from the environment, so what it promises is known only at run time. Ask once, at the start: either the store can fence, or you say in words that you
// can live without.
//
//   npm run build && node examples/env-store/main.mjs        CONCLAVE_STORE is memory: if it is not set
import { elect, openStore, requireFenced } from "conclave";

const store = await openStore(process.env["CONCLAVE_STORE"] ?? "memory:");
requireFenced(store); // throws STORE_UNSUPPORTED, with the store's own sentence
await elect("reports", { store, logger: { ...console, info() {}, debug() {} } }).lead(async (term) => {
  console.log(`leading with token ${term.token.value}`);
});

const other = await openStore(process.env["CACHE_STORE"] ?? "memory:");
await elect("cache-warmer", { store: other, unfenced: true }).lead(async (term) => {
  console.log(`${term.candidate} warms the cache`);
});
