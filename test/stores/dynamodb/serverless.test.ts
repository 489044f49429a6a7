// The example of a function that is frozen between two calls, on dynalite: real processes, really stopped.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as server from "../../../scripts/servers/dynamodb.mjs";
import { useServers } from "../../support/servers.ts";

const servers = useServers(server);
const program = fileURLToPath(new URL("../../../examples/serverless/frozen.mjs", import.meta.url));

it("an instance that was frozen past its ttl finds its term over, and another leads with a greater token", async () => {
  const env = { ...process.env, CONCLAVE_STORE: servers().urls[0], TTL_MS: "5000", NODE_NO_WARNINGS: "1" };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  expect(said.trim().split("\n")).toEqual([
    "one: leads with token 1",
    "one: leads with token 1",
    "one is frozen",
    "two: another instance leads",
    "two: leads with token 2",
    "one is thawed",
    "one: the term with token 1 is over; another instance leads",
    "two: leads with token 2",
  ]);
}, 120_000);
