// What supervisor and keeper say to each other. Every word has a number; the keeper answers with it, so that a supervisor can tell a keeper that listens
// from one that is stopped.
import type { Cell } from "./cell.ts";
import type { ProcessId } from "../keeper/processes.ts";
import type { Instants } from "./schedule.ts";

/** What must be given back for a supervisor that has died. A URL may hold a password: it travels in the pipe, never in arguments. */
export interface Estate {
  readonly url: string;
  readonly session: {
    readonly id: string;
    readonly candidate: string;
    readonly ttlMs: number;
    readonly secret?: string;
    readonly beats?: readonly string[] | undefined;
  };
  readonly holds: readonly { readonly name: string; readonly bid: string }[];
}

export type ToKeeper =
  | {
      readonly word: "hello";
      readonly number: number;
      readonly supervisor: ProcessId;
      readonly hasLife: boolean;
      readonly releaser: string;
    }
  /** `undefined`: there is nothing to give back. */
  | { readonly word: "estate"; readonly number: number; readonly estate?: Estate | undefined }
  /** `isTold`: SIGTERM was sent already. */
  | {
      readonly word: "guard";
      readonly number: number;
      readonly cell: Cell;
      readonly instants: Instants;
      readonly isTold: boolean;
    }
  | { readonly word: "extend"; readonly number: number; readonly instants: Instants; readonly isTold: boolean }
  /** The supervisor has seen that the cell is empty. */
  | { readonly word: "leave"; readonly number: number }
  /** The supervisor ends in good order: there is nothing to do any more. */
  | { readonly word: "farewell"; readonly number: number };

export type FromKeeper =
  | { readonly word: "heard"; readonly number: number }
  /** The keeper did this at its instant, because the supervisor had not; it says so before it acts. `child`: the pid of the cell's child. `ran`: the child had not ended by itself. */
  | { readonly word: "terminated" | "killed"; readonly child: number; readonly ran: boolean };
