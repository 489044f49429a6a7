// Answers the questions of Sentinel-aware clients: a pure function. The words are those of Redis Sentinel, so that today's clients work without a change. They are told the primary of the record, never a guess.
import { type Reply, ReplyError } from "../clients/redis/resp.ts";

/** The address at which a server or a monitor is reached. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The knowledge of a monitor. */
export interface SentinelView {
  readonly name: string;
  readonly monitor: string;
  readonly quorum: number;
  readonly epoch: number;
  /** The primary that was announced: the record names it, and it says that it is the primary. */
  readonly primary: Address | undefined;
  readonly isPrimaryDown: boolean;
  readonly replicas: readonly (Address & { readonly isUp: boolean; readonly isLinked: boolean })[];
  /** Ports of the other monitors, where they are configured. */
  readonly others: readonly (Address & { readonly monitor: string })[];
}

/** Pairs of a key and a value: RESP 3 has a type for them, RESP 2 has a flat list. */
export class Pairs {
  readonly entries: readonly (readonly [string, SentinelAnswer])[];
  constructor(entries: readonly (readonly [string, SentinelAnswer])[]) {
    this.entries = entries;
  }
}

/** A message that is not the answer to a command: RESP 3 marks it, RESP 2 has a plain list. */
export class Push {
  readonly items: readonly SentinelAnswer[];
  constructor(items: readonly SentinelAnswer[]) {
    this.items = items;
  }
}

/** A simple reply without a length, such as OK. */
export class StatusReply {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type SentinelAnswer = Reply | Pairs | Push | StatusReply | readonly SentinelAnswer[];

export function encodeAnswer(answer: SentinelAnswer, protocol: 2 | 3): string {
  if (answer instanceof StatusReply) return `+${answer.text}\r\n`;
  if (answer instanceof Pairs) {
    const body = answer.entries.map(([key, value]) => encodeAnswer(key, protocol) + encodeAnswer(value, protocol));
    return `${protocol === 3 ? `%${answer.entries.length}` : `*${2 * answer.entries.length}`}\r\n${body.join("")}`;
  }
  if (answer instanceof Push)
    return `${protocol === 3 ? ">" : "*"}${answer.items.length}\r\n${answer.items.map((item) => encodeAnswer(item, protocol)).join("")}`;
  if (answer === null) return protocol === 3 ? "_\r\n" : "$-1\r\n";
  if (typeof answer === "number") return `:${answer}\r\n`;
  if (typeof answer === "string") return `$${Buffer.byteLength(answer)}\r\n${answer}\r\n`;
  if (answer instanceof ReplyError) return `-${answer.message}\r\n`;
  return `*${answer.length}\r\n${answer.map((item) => encodeAnswer(item, protocol)).join("")}`;
}

/** The agreement of a connection with HELLO: the protocol and the answer. */
export function helloOf(words: readonly string[]): { readonly protocol: 2 | 3; readonly answer: SentinelAnswer } {
  const wanted = words[1] ?? "2";
  if (wanted !== "2" && wanted !== "3")
    return { protocol: 2, answer: new ReplyError("NOPROTO unsupported protocol version") };
  const protocol = wanted === "3" ? 3 : 2;
  const answer = new Pairs([
    ["server", "redis"],
    ["version", "7.0.0"],
    ["proto", protocol],
    ["id", 1],
    ["mode", "sentinel"],
    ["role", "sentinel"],
    ["modules", []],
  ]);
  return { protocol, answer };
}

/** Answers every command except HELLO, QUIT and the subscriptions. */
export function answerOf(words: readonly string[], view: SentinelView): SentinelAnswer {
  const [command = "", sub = "", name = ""] = words;
  switch (command.toUpperCase()) {
    case "PING":
      return new StatusReply("PONG");
    case "AUTH":
    case "SELECT":
    case "RESET":
    case "CLIENT":
      return sub.toUpperCase() === "ID" ? 1 : new StatusReply("OK");
    case "COMMAND":
      return [];
    case "ROLE":
      return ["sentinel", [view.name]];
    case "INFO":
      return infoOf(view);
    case "SENTINEL":
      return sentinelOf(sub.toLowerCase(), name, view);
    default:
      return new ReplyError(`ERR unknown command '${command.slice(0, 40)}': this is a monitor of conclave failover`);
  }
}

function sentinelOf(sub: string, name: string, view: SentinelView): SentinelAnswer {
  if (sub === "myid") return idOf(view.monitor);
  if (sub === "masters") return view.primary === undefined ? [] : [masterOf(view, view.primary)];
  if (sub === "get-master-addr-by-name") {
    if (name !== view.name || view.primary === undefined) return null;
    return [view.primary.host, `${view.primary.port}`];
  }
  if (name !== view.name) return new ReplyError("ERR No such master with that name");
  switch (sub) {
    case "master":
      return view.primary === undefined
        ? new ReplyError("ERR No such master with that name: no primary has been chosen yet")
        : masterOf(view, view.primary);
    case "replicas":
    case "slaves":
      return view.replicas.map((replica) => replicaOf(view, replica));
    case "sentinels":
      return view.others.map(otherOf);
    case "ckquorum":
      return new StatusReply(`OK ${view.others.length + 1} configured Sentinels, quorum ${view.quorum}`);
    case "failover":
      return new ReplyError("ERR use: conclave failover switchover");
    default:
      return new ReplyError(`ERR Unknown sentinel subcommand '${sub.slice(0, 40)}'`);
  }
}

function masterOf(view: SentinelView, { host, port }: Address): Pairs {
  return new Pairs([
    ["name", view.name],
    ["ip", host],
    ["port", `${port}`],
    ["runid", idOf(`${host}:${port}`)],
    ["flags", view.isPrimaryDown ? "master,s_down" : "master"],
    ["role-reported", "master"],
    ["config-epoch", `${view.epoch}`],
    ["num-slaves", `${view.replicas.length}`],
    ["num-other-sentinels", `${view.others.length}`],
    ["quorum", `${view.quorum}`],
  ]);
}

function replicaOf(view: SentinelView, replica: SentinelView["replicas"][number]): Pairs {
  const { host, port, isUp, isLinked } = replica;
  return new Pairs([
    ["name", `${host}:${port}`],
    ["ip", host],
    ["port", `${port}`],
    ["runid", idOf(`${host}:${port}`)],
    ["flags", isUp ? "slave" : "slave,s_down,disconnected"],
    ["role-reported", "slave"],
    ["master-link-status", isLinked ? "ok" : "err"],
    ["master-host", view.primary?.host ?? "?"],
    ["master-port", `${view.primary?.port ?? 0}`],
    ["slave-priority", "100"],
  ]);
}

function otherOf({ host, port, monitor }: SentinelView["others"][number]): Pairs {
  return new Pairs([
    ["name", idOf(monitor)],
    ["ip", host],
    ["port", `${port}`],
    ["runid", idOf(monitor)],
    ["flags", "sentinel"],
  ]);
}

function infoOf({ name, primary, replicas, others }: SentinelView): string {
  const status = primary === undefined ? "no primary" : "ok";
  return [
    "# Server",
    "redis_version:7.0.0",
    "redis_mode:sentinel",
    "loading:0",
    "# Sentinel",
    "sentinel_masters:1",
    `master0:name=${name},status=${status},address=${primary?.host ?? ""}:${primary?.port ?? 0},slaves=${replicas.length},sentinels=${others.length + 1}`,
    "",
  ].join("\r\n");
}

/** Forty hexadecimal digits, as in Sentinel. They are always the same for the same text. */
function idOf(text: string): string {
  return Buffer.from(text).toString("hex").padEnd(40, "0").slice(0, 40);
}

/** The messages that are published when the primary has changed: in Sentinel's words, in its order. */
export function switchMessages(
  name: string,
  from: Address | undefined,
  to: Address,
  replicas: readonly Address[],
): readonly (readonly [channel: string, message: string])[] {
  const { host, port } = to;
  const at = `@ ${name} ${host} ${port}`;
  const old = from ?? to;
  return [
    ["+switch-master", `${name} ${old.host} ${old.port} ${host} ${port}`],
    ...replicas.map((each) => ["+slave", `slave ${each.host}:${each.port} ${each.host} ${each.port} ${at}`] as const),
  ];
}

/** Matches as PSUBSCRIBE does: `*`, `?`, `[…]`, and a backslash before a character that stands for itself. */
export function matches(pattern: string, channel: string): boolean {
  const source = pattern.replaceAll(
    /\\(.)|\[(\^?)([^\]]*)\]|([*?])|([.+^${}()|\]\\/-])/g,
    (_whole, plain, not, set, wild, other) => {
      if (plain !== undefined) return escaped(plain as string);
      if (set !== undefined) return `[${not as string}${(set as string).replaceAll(/[\\\]^-]/g, "\\$&")}]`;
      if (wild !== undefined) return wild === "*" ? ".*" : ".";
      return escaped(other as string);
    },
  );
  return new RegExp(`^${source}$`, "s").test(channel);
}

function escaped(character: string): string {
  return /[A-Za-z0-9_]/.test(character) ? character : `\\${character}`;
}
