// What an app and its keeper say to each other, as lines of JSON on the keeper's stdin and stdout. A URL may hold a password, so it travels here and never in arguments.
import type { ProcessId } from "./processes.ts";

/** The part of a session that a store needs to end it (`Session` of the contract). */
export interface KeptSession {
  readonly id: string;
  readonly candidate: string;
  readonly ttlMs: number;
  readonly secret?: string | undefined;
  readonly beats?: readonly string[] | undefined;
}

export interface KeptHold {
  readonly name: string;
  readonly bid: string;
}

/** `key` is one session of one candidate; a new session has a new key. */
export type ToAppKeeper =
  | {
      readonly word: "hello";
      readonly app: ProcessId;
      readonly mark: string;
      /** false: this system shows no environments, and the user has said that there are no children. */
      readonly looksForChildren: boolean;
      /** The descriptors from 3 on, each as the file under which rivals find it. */
      readonly lives: readonly string[];
      /** Another keeper of the same app, whose place this one takes. */
      readonly peer?: number | undefined;
    }
  | {
      readonly word: "session";
      readonly key: number;
      readonly url: string;
      readonly quietMs: number;
      /** Which of `lives` its rivals watch; undefined: they watch nothing, and the store has to be told. */
      readonly life?: number | undefined;
      readonly session: KeptSession;
      readonly holds: readonly KeptHold[];
    }
  /** The beats that may stand in the session's record from now on. */
  | { readonly word: "beats"; readonly key: number; readonly beats: readonly string[] }
  /** The app is about to claim these. */
  | { readonly word: "claimed"; readonly key: number; readonly holds: readonly KeptHold[] }
  /** The store has said that these are not there any more. */
  | { readonly word: "returned"; readonly key: number; readonly holds: readonly KeptHold[] }
  /** Nothing of this session is to be given back. */
  | { readonly word: "over"; readonly key: number }
  /** Another keeper of the same app, which is not a child of the app. */
  | { readonly word: "peer"; readonly peer: number }
  /** The app does not need this keeper any more. */
  | { readonly word: "farewell" };

/** The keeper has read everything up to its hello, and holds the descriptors. */
export interface FromAppKeeper {
  readonly word: "ready";
}
