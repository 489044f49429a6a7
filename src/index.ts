// The public face of conclave. Stores, the testing kit and the simulator have subpaths of their own.
export { ConclaveError, type ErrorCode, isConclaveError, type LossReason, TermLostError } from "./base/errors.ts";
export { createCandidate, elect, semaphore } from "./election/candidate.ts";
export type {
  CampaignOptions,
  Candidate,
  CandidateOptions,
  CandidateSettings,
  CloseOptions,
  Election,
  ElectOptions,
  KeeperOptions,
  Leader,
  LeadOptions,
  LockOptions,
  LookOptions,
  TermOf,
  Transfer,
  TransferAnswer,
  TransferOptions,
} from "./election/face.ts";
export type { Ban } from "./election/bans.ts";
export type { Memo } from "./election/memo.ts";
export type { Permit, PermitHolder, Semaphore, SemaphoreOptions } from "./election/permit.ts";
export { type ShutdownOptions, shutdownSignal } from "./election/shutdown.ts";
export type { Term, UnfencedTerm } from "./election/term.ts";
export { type Fenced, type FencingToken, formatToken, parseToken } from "./fencing/token.ts";
export type { Listener, Logger } from "./election/voice.ts";
export type { ConclaveEvent, Doing, TermState, WarningCode } from "./lease/events.ts";
export type { Fencing, Guarantee, MemoBounds } from "./lease/guarantee.ts";
export {
  type FencedStore,
  isFenced,
  type Reopenable,
  requireFenced,
  type Store,
  type UnfencedStore,
} from "./stores/contract.ts";
export { openStore } from "./drivers/open-store.ts";
