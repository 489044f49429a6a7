// Counts operations in flight: the guard of something that is reached through one process only. An operation is in flight from its admission until its work has really
// ended, however it ends and whether or not anybody still waits for it.
//
// LAW 12  Raise, then read, then write. A newer token is installed at once, so that older ones are refused from that moment; the operation that brought it
//         begins only when no operation with another token is in flight.
//
// THE ARGUMENT  `#tryEnter` judges, remembers and counts without a pause between them, so in one step of this process.
//   I   All operations in flight carry one token. One is counted only if those in flight carry its own token, or there are none.
//   II  That token is never newer than the remembered one; and an operation is counted only if its own is the remembered one.
//   So once token t is remembered and an operation with t has begun, or `raise` has returned, nothing older is in flight (I) and nothing older will be
//   (II, and the remembered token never falls). So no older write changes what the leader of t reads from then on.
//
// Not promised: that the waiting ends. Work that never settles keeps newer tokens out, on purpose; `waitMs` bounds only the wait (FENCE_BUSY).
import { ConclaveError } from "../base/errors.ts";
import { admit, adopted, type Adopted, type Lowering, type Move, moveDomain, type Remembered } from "./guard.ts";
import { resourceOf, textOf, tokenOf, waitOf } from "./input.ts";
import type { Verifier } from "./signed.ts";
import type { Fenced, FencingToken, Signed } from "./token.ts";

/** Where a guard keeps what it must not forget. `note` returns when it is safe. */
export interface GuardNotebook {
  recall(resource: string): Remembered | undefined;
  note(resource: string, remembered: Remembered): void;
}

/** How long to wait for older operations. */
export interface Waiting {
  /** How long to wait for older operations to end. Then `FENCE_BUSY`; the token stays installed. @default for ever */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** To be called once, when the operation has ended. */
export type Leave = () => void;

/** An operation that was admitted. */
export interface Entered {
  readonly token: FencingToken;
  readonly leave: Leave;
}

interface FlightDesk {
  remembered: Remembered | undefined;
  /** The one token in flight, as text, and how many operations carry it. */
  flying: string;
  count: number;
  readonly waiting: Set<() => void>;
}

export class Flights {
  readonly #desks = new Map<string, FlightDesk>();
  readonly #notebook: GuardNotebook | undefined;
  readonly #verifier: Verifier | undefined;

  constructor(notebook?: GuardNotebook, verifier?: Verifier) {
    this.#notebook = notebook;
    this.#verifier = verifier;
  }

  /** Admits and counts an operation, as soon as none with another token is in flight. */
  async enter(resource: string, by: Fenced | Signed, options?: Waiting): Promise<Entered> {
    const { waitMs, signal } = options ?? {};
    const waiting = { waitMs: waitOf(waitMs), signal };
    const token = tokenOf(by, this.#verifier, resource);
    const text = textOf(token);
    const desk = this.#desk(resourceOf(resource));
    const isMine = (): boolean => this.#tryEnter(resource, desk, token, text);
    if (!isMine()) await untilTrue(desk.waiting, isMine, () => busy(resource, desk), waiting);
    return { token, leave: leaveOnce(desk) };
  }

  /** A deliberate move to another domain. Operations of the old domain that are in flight are waited for, as older ones are. */
  adopt(resource: string, move: Move | Lowering): Adopted {
    const desk = this.#desk(resourceOf(resource));
    const after = moveDomain(resource, desk.remembered, move);
    const changed = after !== desk.remembered;
    this.#remember(resource, desk, after);
    return adopted(after, move, changed);
  }

  #tryEnter(resource: string, desk: FlightDesk, token: FencingToken, text: string): boolean {
    this.#remember(resource, desk, admit(resource, desk.remembered, token));
    if (desk.count > 0 && desk.flying !== text) return false;
    desk.flying = text;
    desk.count += 1;
    return true;
  }

  #remember(resource: string, desk: FlightDesk, remembered: Remembered): void {
    if (remembered === desk.remembered) return;
    this.#notebook?.note(resource, remembered);
    desk.remembered = remembered;
    wakeAll(desk);
  }

  #desk(resource: string): FlightDesk {
    let desk = this.#desks.get(resource);
    if (desk === undefined) {
      desk = { remembered: this.#notebook?.recall(resource), flying: "", count: 0, waiting: new Set() };
      this.#desks.set(resource, desk);
    }
    return desk;
  }
}

function leaveOnce(desk: FlightDesk): Leave {
  let left = false;
  return () => {
    if (left) return;
    left = true;
    desk.count -= 1;
    if (desk.count === 0) wakeAll(desk);
  };
}

/** Operations that wait ask again: they may go on now, or have been overtaken meanwhile. */
function wakeAll(desk: FlightDesk): void {
  for (const wake of desk.waiting) wake();
}

function busy(resource: string, desk: FlightDesk): ConclaveError {
  const message = `"${resource}": ${desk.count} operation(s) with token ${desk.flying} have not ended, and nothing newer may begin beside them. Try again; if it stays so, look for work that never settles.`;
  return new ConclaveError("FENCE_BUSY", message);
}

/** Resolves in the very step in which `attempt` returned true; rejects with what it throws. */
function untilTrue(
  waiters: Set<() => void>,
  attempt: () => boolean,
  tooLong: () => ConclaveError,
  { waitMs, signal }: Waiting,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      waiters.delete(wake);
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      settle();
    };
    const abort = (): void => end(() => reject(signal?.reason as Error));
    const wake = (): void => {
      try {
        if (attempt()) end(resolve);
      } catch (thrown) {
        const refusal: Error = thrown as Error;
        end(() => reject(refusal));
      }
    };
    const timer = waitMs === undefined ? undefined : setTimeout(() => end(() => reject(tooLong())), waitMs);
    waiters.add(wake);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
  });
}
