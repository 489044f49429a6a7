// conclave/fencing: guards that make a stale leader harmless where its writes land. rule.ts has the rule and the argument why it suffices. Each adapter has one file.
export { durableFence } from "./durable.ts";
export { type FileContent, type FileFence, fileFence } from "./file.ts";
export type { Waiting } from "./flights.ts";
export type { Adopted, Lowering, Move } from "./guard.ts";
export { fencedHandler, type FencedHandler, fencingHeaders, type HttpFenceOptions } from "./http.ts";
export { type Fence, memoryFence } from "./memory.ts";
export { fencedListener, type FencedListener, type ListenerOptions } from "./node-http.ts";
export { StaleTokenError } from "./refusals.ts";
export { keyId, type TokenKey } from "./keys.ts";
export {
  type SignOptions,
  signToken,
  type Verification,
  type Verified,
  type Verifying,
  verifyToken,
} from "./signed.ts";
export { type SqliteConnection, type SqliteFence, sqliteFence, type SqliteFenceOptions } from "./sqlite.ts";
export { type Fenced, type FencingToken, formatToken, parseToken, type Signed } from "./token.ts";
