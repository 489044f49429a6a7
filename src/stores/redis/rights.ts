// The rights that a user of the server needs, as the command that gives them.
import type { Layout } from "./guarantee.ts";

const COMMANDS = [
  "eval",
  "evalsha",
  "time",
  "info",
  "del",
  "get",
  "set",
  "pttl",
  "pexpire",
  "hset",
  "hget",
  "hmget",
  "hgetall",
  "hdel",
  "scan",
  "publish",
  "subscribe",
  "unsubscribe",
] as const;

/** To be run by an administrator. With layout "redlock" the names of elections are keys themselves. */
export function grantOf(prefix: string, layout: Layout): string {
  const keys = layout === "redlock" ? "~*" : `~${globOf(prefix)} ~${globOf(prefix)}:*`;
  const channels = layout === "redlock" ? `&${globOf(prefix)}:* &__keyspace@*` : `&${globOf(prefix)}:*`;
  return `ACL SETUSER NAME on >PASSWORD ${keys} ${channels} ${COMMANDS.map((each) => `+${each}`).join(" ")}`;
}

function globOf(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, String.raw`\$&`);
}
