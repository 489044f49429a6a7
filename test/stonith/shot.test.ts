// The whole of it: real machines as far as a test can have them, a real etcd, real BMCs. A paused leader's machine is powered off, and only then does the next one act; and if the device lies, nobody does until a human says so.
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as etcd from "../../scripts/servers/etcd.mjs";
import { useServers } from "../support/servers.ts";
import { commandLinesWith, isAlive } from "./devices/range.ts";
import { type Act, Machines, NODES, PASSWORD } from "./machines.ts";

const LONG = { timeout: 240_000 };
const SOON = { timeout: 120_000, interval: 100 };
const servers = useServers(etcd, {});
const store = (): string =>
  `etcd://${servers()
    .urls.map((url) => new URL(url).host)
    .join(",")}`;

const lastActor = (acts: readonly Act[]): string | undefined => acts.at(-1)?.node;

/** Who acts: the index of its node, once somebody does. */
async function leaderOf(machines: Machines, otherThan?: number): Promise<number> {
  const found = (): number => NODES.indexOf((lastActor(machines.acted()) ?? "") as (typeof NODES)[number]);
  await expect.poll(() => found() >= 0 && found() !== otherThan, SOON).toBe(true);
  return found();
}

/** Lines of an earlier term after one of a later term. */
function overlaps(acts: readonly Act[]): readonly string[] {
  let latest: Act | undefined;
  return acts
    .toSorted((one, other) => one.atMs - other.atMs)
    .flatMap((act) => {
      if (latest === undefined || act.token >= latest.token) latest = act;
      else return [`${act.node} acts in term ${act.token} after ${latest.node} in term ${latest.token}`];
      return [];
    });
}

describe("a paused leader", () => {
  const machines = new Machines();
  beforeAll(() => machines.start("paused", store()), 120_000);
  afterAll(() => machines.end());

  it(
    "has its machine powered off through its BMC before the next one acts; it comes back when it is started again",
    LONG,
    async () => {
      let paused = -1;
      let pids: readonly number[] = [];
      const seen = await commandLinesWith(PASSWORD, async () => {
        paused = await leaderOf(machines);
        pids = machines.pause(paused);
        expect(pids.length).toBeGreaterThan(3); // what keeps it, the candidate, its keeper, the command
        await leaderOf(machines, paused);
        // It is dead, and not only silent.
        expect(pids.filter(isAlive)).toEqual([]);
      });
      expect(machines.status(paused)).toContain("Chassis Power is off");
      expect(overlaps(machines.acted())).toEqual([]);
      expect(seen).toEqual([]);
      const { stdout } = await machines.run("history");
      expect(stdout).toContain(`${NODES[paused]} opened`);
      expect(stdout).toContain(`${NODES[paused]} off: the device was asked, and says that it is off`);
      expect(stdout).not.toContain(PASSWORD);

      machines.press(paused, "on");
      await expect
        .poll(async () => (await machines.run("status", "--without-devices", "--json")).stdout, SOON)
        .toContain('"intents":[]');
      const status = async (): Promise<string> => {
        const { code, stdout } = await machines.run("status");
        return `${code} ${stdout}`;
      };
      // On a busy machine a question may take too long: it is asked again.
      await expect.poll(status, SOON).toMatch(/^0 [^]*power on; acting since term/);
    },
  );
});

describe("a device that lies", () => {
  const machines = new Machines();
  /** Takes every order, and looks at the machine when it is asked: it is on. */
  const liar = (index: number): object => ({
    kind: "agent",
    agent: machines.cli.file("fence_liar"),
    parameters: { plug: `${index}` },
  });
  beforeAll(async () => {
    writeFileSync(machines.cli.file("fence_liar"), LIAR, { mode: 0o755 });
    await machines.start("lied-to", store(), liar);
  }, 120_000);
  afterAll(() => machines.end());

  it("permits no takeover, until a human has seen that the machine is off", LONG, async () => {
    const paused = await leaderOf(machines);
    const before = machines.acted().length;
    machines.pause(paused);
    // Somebody leads, shoots, and is told that it went well.
    const others = [0, 1, 2].filter((index) => index !== paused);
    const said = (): string => others.map((index) => machines.events(index)).join("");
    await expect.poll(said, SOON).toContain('"answer":{"is":"taken"}');
    await expect
      .poll(async () => (await machines.run("status", "--without-devices")).stdout, SOON)
      .toContain("last shot: failed");
    const status = await machines.run("status", "--without-devices");
    expect(status.stdout).toContain(`${NODES[paused]} is TO BE OFF, and is not verified`);
    expect(status.code).toBe(1);
    expect(
      machines
        .acted()
        .slice(before)
        .filter(({ node }) => node !== NODES[paused]),
    ).toEqual([]);

    const asked = await machines.run("confirm", NODES[paused] ?? "");
    expect(asked.code).toBe(2);
    machines.press(paused, "off");
    await expect.poll(() => machines.status(paused), SOON).toContain("Chassis Power is off");
    const confirmed = await machines.run("confirm", NODES[paused] ?? "", "--i-have-seen-that-it-is-off");
    expect(confirmed.stdout).toContain("because you have said so");
    expect(confirmed.code).toBe(0);
    await leaderOf(machines, paused);
    expect(overlaps(machines.acted())).toEqual([]);
  });
});

const LIAR = `#!/bin/sh
if [ "$1" = -o ]; then
  echo '<resource-agent name="fence_liar"><parameters><parameter name="plug" required="1"><content type="string"/></parameter></parameters>'
  echo '<actions><action name="off"/><action name="status"/></actions></resource-agent>'
  exit 0
fi
grep -q action=off && { echo "Success: Powered OFF"; exit 0; }
echo "Status: ON"
exit 0
`;
