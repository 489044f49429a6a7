// @ts-check
// The oldest Redis that is supported, for `npm run test:newer -- redis-six`.
import { another } from "./redis.mjs";

/** With the libraries that Debian stable has no more. */
const PACKAGES = ["redis-server", "redis-tools", "liblua5.1-0", "lua-cjson", "lua-bitop", "libssl1.1"];

export const newer = another("Redis", "bullseye", PACKAGES, "redis-server");
