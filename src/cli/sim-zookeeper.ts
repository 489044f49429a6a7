// `conclave sim exercise 2`: the recipe of ZooKeeper on a real server. Three candidates stand in one line as ephemeral sequential nodes, the leader is killed, and the time
// until the next one leads is measured. It is a drill with one fault; without a server it says how to get one.
import { schemeOf } from "../base/url.ts";
import { openStore } from "../index.ts";
import { type Context, UNKNOWN } from "./command.ts";

const HOW = `Exercise 2 is the recipe of ZooKeeper on a real server: three candidates stand as ephemeral sequential nodes, the leader is killed, and the next one takes over.
It needs a server. On Debian, in a clone of this repository:

  npm run servers -- zookeeper --nodes 3

prints a URL. Then, in another shell:

  conclave sim exercise 2 --store URL

A server that you have will do: --store 'zookeeper://HOST:2181?tickMs=2000', with its tickTime. The exercise uses one election, conclave-exercise, and leaves nothing but its node.
`;

const ROUNDS = "3";

/** `store`: the URL that was given, or that of CONCLAVE_STORE. */
export async function runZooKeeperExercise(
  store: string | undefined,
  isJson: boolean,
  context: Context,
): Promise<number> {
  const url = store ?? process.env["CONCLAVE_STORE"] ?? "";
  if (!/^zookeepers?$/.test(schemeOf(url) ?? "")) {
    process.stderr.write(HOW);
    return UNKNOWN;
  }
  const opened = await openStore(url);
  const { minMs } = opened.guarantee.ttl;
  await opened.close();
  const told = `A killed leader says nothing: ZooKeeper notices when its session has run out (${minMs} ms here, and up to a tick), and wakes the next in the line alone.\n`;
  if (!isJson) process.stdout.write(told);
  const { run } = await import("./drill.ts");
  const flags = ["--store", url, "--faults", "crash", "--rounds", ROUNDS, "--candidates", "3", "--ttl", `${minMs}ms`];
  return await run([...flags, "--election", "conclave-exercise", ...(isJson ? ["--json"] : [])], context);
}
