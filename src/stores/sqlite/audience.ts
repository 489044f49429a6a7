// The listeners of a beacon (beacon.ts), and the lines that are sent over a connection:
//   listener → beacon   `+PID NAME`   waits for that name, in the process PID         `-NAME`   waits for it no longer
//   beacon → listener   `COUNT`       something has changed; so many hear of it       `full MS` enough others wait for each of your names: come back after so many milliseconds
//
// Only a few listen for each name, so that a change or a death wakes these and not five hundred at once. Only two of them are of one process, because a process
// that is killed takes all its listeners along. Listeners that are turned away come back one by one (vigil.ts): one of them finds a death soon if no listener
// does, and they take the places of listeners that have left. A line that is not understood is ignored: nothing here is needed for safety.
import type { Socket } from "node:net";
import type { Name } from "../contract.ts";

const LISTENERS_PER_NAME = 10;
const OF_ONE_PROCESS = 2;

/** Listeners that were turned away come back one after the other, with this pause between them, but none comes back sooner than the second value. */
const BACK_EVERY_MS = 20;
const BACK_SOONEST_MS = 500;

export function joins(name: Name): string {
  return `+${process.pid} ${JSON.stringify(name)}\n`;
}

export function leaves(name: Name): string {
  return `-${JSON.stringify(name)}\n`;
}

interface Listener {
  readonly socket: Socket;
  readonly names: Set<Name>;
  pid: string;
  /** The beginning of a line that has not ended yet. */
  begun: string;
}

export class Audience {
  /** INVARIANT  a listener is in `#waitingFor` under exactly its names, and in `#listeners` while its connection is open. */
  readonly #listeners = new Set<Listener>();
  readonly #waitingFor = new Map<Name, Set<Listener>>();
  /** How many listeners were turned away and are not due back yet. */
  #away = 0;

  welcome(socket: Socket): void {
    const listener: Listener = { socket, names: new Set(), pid: "", begun: "" };
    this.#listeners.add(listener);
    socket
      .unref()
      .setEncoding("utf8")
      .on("data", (text) => this.#hear(listener, text as unknown as string))
      .on("error", () => {})
      .on("close", () => this.#forget(listener));
  }

  /** Something has changed, so listeners may look. A listener that has not read the last line yet gets no second one. */
  tell(): void {
    for (const { socket, names } of this.#listeners)
      if (names.size > 0 && socket.writableLength === 0) socket.write(`${this.#listeners.size}\n`);
  }

  dismiss(): void {
    for (const { socket } of this.#listeners) socket.destroy();
  }

  #hear(listener: Listener, text: string): void {
    const lines = `${listener.begun}${text}`.split("\n");
    listener.begun = lines.pop() ?? "";
    let joined = false;
    for (const line of lines) {
      const [, sign, pid = "", quoted = ""] = /^(?:(\+)(\d+) |-)(".*")$/s.exec(line) ?? [];
      const name = unquoted(quoted);
      if (name === undefined) continue;
      if (sign === undefined) this.#leave(listener, name);
      else {
        joined = true;
        listener.pid = pid;
        this.#join(listener, name);
      }
    }
    // The listener is told at once, because something may have been committed after it connected and before its line was read here.
    if (joined) listener.socket.write(listener.names.size > 0 ? `${this.#listeners.size}\n` : this.#turnAway());
  }

  #turnAway(): string {
    const ms = Math.max(BACK_SOONEST_MS, ++this.#away * BACK_EVERY_MS);
    setTimeout(() => this.#away--, ms).unref();
    return `full ${ms}\n`;
  }

  #join(listener: Listener, name: Name): void {
    const others = this.#waitingFor.get(name) ?? new Set();
    const ofItsProcess = [...others].filter(({ pid }) => pid === listener.pid).length;
    if (others.size >= LISTENERS_PER_NAME || ofItsProcess >= OF_ONE_PROCESS) return;
    this.#waitingFor.set(name, others.add(listener));
    listener.names.add(name);
  }

  #leave(listener: Listener, name: Name): void {
    listener.names.delete(name);
    const others = this.#waitingFor.get(name);
    others?.delete(listener);
    if (others?.size === 0) this.#waitingFor.delete(name);
  }

  #forget(listener: Listener): void {
    for (const name of listener.names) this.#leave(listener, name);
    this.#listeners.delete(listener);
  }
}

function unquoted(text: string): Name | undefined {
  try {
    const name: unknown = JSON.parse(text);
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}
