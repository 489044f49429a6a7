// The socket by which a process shows that it lives. It is bound to a path with a random name, in a private folder. Waiters keep a connection to it (a few
// for each name, audience.ts). The kernel closes the connection when the process dies, and not before. Over the same connections the waiters hear that something has changed.
//
// INVARIANT  a socket file that refuses belongs to a process that is gone: the name is unlinked before the socket is closed, so a beacon that is put out by a
//            living process is not found any more, which proves nothing (probe.ts). If a process hands the descriptor on (`conclave run`, to its
//            keeper and its child), it is gone in this sense only when the last of them has closed it: the kernel counts
// A beacon keeps no process alive. Without one (no folder that is ours alone, a path too long), deaths are noticed when the ttl expires.
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Audience } from "./audience.ts";
import { idOf, lifeFolderOf } from "./file-system.ts";
import type { SocketFile } from "./place.ts";
import { isShort, probe } from "./probe.ts";

export class Beacon {
  readonly socket: SocketFile;
  readonly #server: Server;
  readonly #audience: Audience;

  private constructor(server: Server, audience: Audience, socket: SocketFile) {
    this.#server = server;
    this.#audience = audience;
    this.socket = socket;
  }

  /** Makes a beacon for the database at `file` with this token domain. Resolves with undefined where there is no place for one. */
  static async light(file: string, domain: string): Promise<Beacon | undefined> {
    const name = `${prefixOf(domain)}${randomBytes(8).toString("hex")}.sock`;
    for (const folder of foldersFor(file)) {
      const place = path.join(folder, name);
      if (!isShort(place) || !isPrivate(folder)) continue;
      const beacon = await Beacon.#listen(place);
      if (beacon !== undefined) return beacon;
    }
    return undefined;
  }

  static #listen(place: string): Promise<Beacon | undefined> {
    const audience = new Audience();
    const server = createServer((listener) => audience.welcome(listener)).unref();
    return new Promise((resolve) => {
      server.once("error", () => resolve(undefined));
      // `exclusive` is needed because in a cluster worker the primary would listen in its place, and would live on when the worker is dead.
      server.listen({ path: place, exclusive: true }, () => {
        const file = idOf(place);
        server.removeAllListeners("error").on("error", () => {});
        resolve(file === undefined ? undefined : new Beacon(server, audience, { path: place, file }));
      });
    });
  }

  /** The descriptor of the listening socket, to be inherited. Node has no public name for it. */
  get descriptor(): number | undefined {
    const { _handle: handle } = this.#server as Server & { readonly _handle?: { readonly fd?: number } | null };
    return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
  }

  /** Something has changed, so listeners may look. */
  tell(): void {
    this.#audience.tell();
  }

  /** True if rivals find the beacon under its name. They do not after somebody has removed or moved its folder. */
  isFound(): boolean {
    return idOf(this.socket.path) === this.socket.file;
  }

  /**
   * The name is removed first: from then on a connection fails with ENOENT, which proves nothing. If the name is gone already, it was removed, or moved away and may come
   * back. Then the socket goes on listening for as long as this process lives: otherwise it would refuse under that name, and this process would be taken for dead.
   */
  putOut(): void {
    if (!this.isFound()) return;
    try {
      unlinkSync(this.socket.path);
    } catch {
      return; // the beacon may still be found
    }
    this.#server.close();
    this.#audience.dismiss();
  }
}

/** The first folder is beside the database, so that a process that reaches the file also reaches the socket. The others are where this user keeps such files. */
function foldersFor(file: string): readonly string[] {
  const runtime = process.env["XDG_RUNTIME_DIR"];
  return [
    lifeFolderOf(file),
    ...(runtime === undefined || runtime === "" ? [] : [path.join(runtime, "conclave")]),
    path.join(tmpdir(), `conclave-${process.geteuid?.() ?? "user"}`),
  ];
}

/** Makes the folder if need be. It must be a folder, not a link, and nobody else may write to it. */
function isPrivate(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It exists already, or it cannot be made: the next look shows which.
  }
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const isMine = found !== undefined && found.isDirectory() && found.uid === (process.geteuid?.() ?? found.uid);
  return isMine && (found.mode & 0o077) === 0;
}

function prefixOf(domain: string): string {
  return `${domain.replaceAll(/[^0-9a-z]/gi, "").slice(-12)}-`;
}

/**
 * Removes the socket files that dead processes have left. They belong to this database, no live session names them, and they refuse. If one of them belongs
 * to a process that is just beginning to listen, its death is noticed later, never too early.
 */
export async function sweep(file: string, domain: string, live: readonly string[]): Promise<void> {
  const keep = new Set(live);
  for (const folder of foldersFor(file)) {
    const stale = socketsIn(folder)
      .filter((name) => name.startsWith(prefixOf(domain)) && name.endsWith(".sock"))
      .map((name) => path.join(folder, name))
      .filter((place) => !keep.has(place));
    for (const place of stale) await remove(place);
  }
}

async function remove(place: string): Promise<void> {
  const file = idOf(place);
  if (file === undefined || (await probe({ path: place, file })) !== "dead") return;
  try {
    unlinkSync(place);
  } catch {
    // Another process was quicker.
  }
}

function socketsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
