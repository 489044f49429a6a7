// Asks the kernel whether the process that listened on a socket is dead.
//
//   connects        The process is alive. It may be stopped: the kernel completes the connection, and nobody has to accept it
//   ECONNREFUSED    The socket file is exactly the one that the session recorded, and nobody listens on it any more. The name is random and was bound once, by
//                   that process, which gives it up only by unlinking it first (beacon.ts). So the process is gone, with all its threads: they share
//                   its descriptors, and the kernel closes those when the last of them has left
//   anything else   The state is unknown, and unknown counts as alive: ENOENT (given up, another mount), EAGAIN (stopped, with a full backlog), EACCES (another user)
//
// The caller makes sure that holder and caller have one boot id, because the socket file of another kernel always refuses. Network and pid namespaces do not
// matter to a socket that is bound to a path. This works on Linux only: BSD and macOS refuse on a full backlog too, so a refusal proves nothing there.
import { connect } from "node:net";
import { idOf } from "./file-system.ts";
import type { Sitter, SocketFile } from "./place.ts";
import type { HostKernel } from "./kernel.ts";

export type Life = "alive" | "dead" | "unknown";

/** The socket by which the kernel can say whether `sitter` lives. Undefined if there is none by which this process may judge. */
export function evidenceOf(sitter: Sitter | undefined, kernel: HostKernel | undefined): SocketFile | undefined {
  const socket = kernel !== undefined && sitter?.boot === kernel.boot ? sitter.socket : undefined;
  return socket !== undefined && isShort(socket.path) ? socket : undefined;
}

/** The limit of sun_path: 108 bytes on Linux, 104 on BSD and macOS, with a zero at the end. A longer path would be cut off, and then another socket would answer. */
const PATH_BYTES_MAX = 103;

export function isShort(place: string): boolean {
  return Buffer.byteLength(place) <= PATH_BYTES_MAX;
}

export function probe(socket: SocketFile): Promise<Life> {
  if (idOf(socket.path) !== socket.file) return Promise.resolve("unknown");
  return new Promise((resolve) => {
    const connection = connect(socket.path);
    connection.once("connect", () => {
      connection.destroy();
      resolve("alive");
    });
    connection.once("error", (error) => resolve(meaningOf(error, socket)));
  });
}

/** The meaning of the error of a connection that could not be made. */
export function meaningOf(error: Error, socket: SocketFile): Life {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNREFUSED" && idOf(socket.path) === socket.file ? "dead" : "unknown";
}
