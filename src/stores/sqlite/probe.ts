// Whether the process that listened on a socket is dead, as the kernel says.
//
//   connects        alive. A stopped process too: the kernel completes the connection, nobody has to accept it
//   ECONNREFUSED    on exactly the socket file that the session recorded: nobody listens on it any more. The name is random and was bound once, by
//                   that process, which gives it up only by unlinking it first (beacon.ts). So the process is gone, with all its threads: they share
//                   its descriptors, and the kernel closes those when the last of them has left
//   anything else   unknown, and unknown is alive: ENOENT (given up, another mount), EAGAIN (stopped, with a full backlog), EACCES (another user)
//
// The caller makes sure that holder and asker have one boot id: the socket file of another kernel refuses always. Network and pid namespaces do not
// matter to a socket that is bound to a path. Linux; BSD and macOS refuse on a full backlog too, so that a refusal proves nothing there.
import { connect } from "node:net";
import { idOf } from "./file-system.ts";
import type { Sitter, SocketFile } from "./place.ts";
import type { HostKernel } from "./kernel.ts";

export type Life = "alive" | "dead" | "unknown";

/** The socket by which the kernel can say whether `sitter` lives; undefined if there is none that this process may judge by. */
export function evidenceOf(sitter: Sitter | undefined, kernel: HostKernel | undefined): SocketFile | undefined {
  const socket = kernel !== undefined && sitter?.boot === kernel.boot ? sitter.socket : undefined;
  return socket !== undefined && isShort(socket.path) ? socket : undefined;
}

/** Of sun_path: 108 bytes on Linux, 104 on BSD and macOS, with a zero at the end. A longer path is cut off, and what refuses then is something else. */
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

/** Of a connection that could not be made. */
export function meaningOf(error: Error, socket: SocketFile): Life {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ECONNREFUSED" && idOf(socket.path) === socket.file ? "dead" : "unknown";
}
