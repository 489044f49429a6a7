// @ts-check
// Valkey, for `npm run test:newer -- valkey`: the tests of Redis on it.
import { another } from "./redis.mjs";

export const newer = another("Valkey", "bookworm-backports", ["valkey-server", "valkey-tools"], "valkey-server");
