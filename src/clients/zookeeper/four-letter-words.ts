// ZooKeeper's four-letter words: each is sent on a connection of its own, answered with text, and the connection is closed. `srvr` is allowed unless an operator has forbidden it, `conf` only if an
// operator has allowed it. Nothing depends on an answer: without an answer the value is simply not known.
import type { StopSignal } from "../stop-signal.ts";
import type { Endpoint, TlsSettings } from "../url-parts.ts";
import { startSocket } from "./socket.ts";

const ANSWER_WITHIN_MS = 1_000;
const LONGEST = 65_536;

export function askWord(
  endpoint: Endpoint,
  tls: TlsSettings | undefined,
  word: string,
  signal: StopSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = "";
    const socket = startSocket(endpoint, tls);
    const end = (answer: string | undefined): void => {
      clearTimeout(late);
      signal.removeEventListener("abort", leave);
      socket.destroy();
      resolve(answer);
    };
    const leave = (): void => end(undefined);
    const late = setTimeout(leave, ANSWER_WITHIN_MS);
    signal.addEventListener("abort", leave, { once: true });
    socket.setEncoding("utf8");
    socket.on("error", leave);
    socket.on("data", (part: string) => {
      said += part;
      if (said.length > LONGEST) leave();
    });
    socket.on("close", () => end(said === "" || said.includes("is not executed because") ? undefined : said));
    socket.write(word);
  });
}

/** Reads the version, such as 3.8.0, from the answer to `srvr`. */
export function versionIn(srvr: string | undefined): string | undefined {
  return /^Zookeeper version: (\d+\.\d+\.\d+)/im.exec(srvr ?? "")?.[1];
}

/** Reads the tick time from the answer to `conf`. */
export function tickMsIn(conf: string | undefined): number | undefined {
  const found = /^tickTime=(\d+)$/m.exec(conf ?? "")?.[1];
  return found === undefined ? undefined : Number(found);
}
