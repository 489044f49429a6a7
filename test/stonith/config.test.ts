// The configuration of STONITH: every problem at once, of the file and of this host; no secret in it, and none in what is said of it.
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadStonithConfig, openRunner, parseStonithConfig, stonithPlanOf } from "conclave/stonith";
import { afterAll, describe, expect, it } from "vitest";
import { secretVariablesOf } from "../../src/stonith/config.ts";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-stonith-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string, mode = 0o600): string {
  const place = path.join(folder, name);
  writeFileSync(place, text);
  chmodSync(place, mode);
  return place;
}

const password = { file: file("password", "a-bmc-pa55word\n") };
const bmc = (host: string): object => ({ kind: "ipmi", host, user: "conclave", password });
const GOOD = {
  election: "ledger",
  store: "etcd://127.0.0.1:2379",
  nodes: {
    "db-1": { levels: [[bmc("10.1.0.1")]], hostsStore: true },
    "db-2": { levels: [[bmc("10.1.0.2")]], hostsStore: true, delayMs: 2000 },
    "db-3": { levels: [[bmc("10.1.0.3")]], hostsStore: true },
  },
};
const parse = (changes: object): ReturnType<typeof parseStonithConfig> =>
  parseStonithConfig(JSON.stringify({ ...GOOD, ...changes }), "it");
const configured = (changes: object, mode = 0o600): string =>
  file("stonith.json", JSON.stringify({ ...GOOD, ...changes }), mode);
const withDevice = (device: object): object => ({ nodes: { ...GOOD.nodes, "db-1": { levels: [[device]] } } });
const refusal = async (changes: object, mode?: number): Promise<string> => {
  const error = await loadStonithConfig(configured(changes, mode)).then(
    () => new Error("it was taken"),
    (refused: unknown) => refused as Error,
  );
  return error.message;
};

describe("a configuration", () => {
  it("has defaults for what is not said", () => {
    const config = parse({});
    expect(config).toMatchObject({ maxOff: 1, tries: 2, ttlMs: 15_000, shotsMax: 3 });
    const plan = stonithPlanOf(config, { node: "db-2", life: "x" });
    expect(plan).toMatchObject({ node: "db-2", members: ["db-1", "db-2", "db-3"], isOnlyForOrders: false });
    expect(plan.storeMembers).toEqual(plan.members);
    expect(plan.devices).toEqual(plan.members);
    expect(config.nodes["db-2"]?.delayMs).toBe(2000);
  });

  it("is refused with every problem of the file and of this host at once", async () => {
    const message = await refusal({
      election: "",
      colour: "red",
      maxOff: 4,
      tries: 0,
      nodes: {
        "db-1": { levels: [[{ kind: "ipmi", host: "-x", user: "u", password: "a-bmc-pa55word" }]], hostsStore: "yes" },
        "db-2": {
          levels: [
            [{ kind: "agent", agent: "fence_nothing" }],
            [{ kind: "agent", agent: "fence_dummy", parameters: { status_fil: "x" } }],
          ],
        },
        "db-3": { levels: [[], "x"], watchdog: "watchdog0" },
        "db-4": {
          levels: [
            [
              {
                kind: "command",
                status: ["power"],
                off: ["/nowhere/power", "--password=x", "{host}"],
                env: { "with.dot": "x" },
              },
            ],
          ],
        },
      },
    });
    for (const word of [
      "election: ",
      "setting colour",
      "maxOff: a whole number from 1 to 3",
      "tries: ",
      "db-1: hostsStore",
      "db-1: level 1, device 1: host",
      "password is a secret",
      "fence_nothing is not installed",
      "no parameter status_fil",
      "db-3: levels",
      "db-3: watchdog",
      "absolute path",
      "no {host}",
      "--password: everybody",
      "with.dot is no name",
    ])
      expect(message).toContain(word);
    expect(message).not.toContain("a-bmc-pa55word");
  });

  it("refuses secrets that are missing or that others can read, without their values", async () => {
    const open = file("open", "an-open-secret", 0o644);
    const device = {
      kind: "command",
      status: ["/bin/true"],
      off: ["/bin/true"],
      env: { A: { file: open }, B: { env: "NOT_SET_HERE" }, C: { file: "/nowhere" } },
    };
    const message = await refusal(withDevice(device));
    expect(message).toContain(`chmod 600 ${open}`);
    expect(message).toContain("NOT_SET_HERE");
    expect(message).toContain("/nowhere cannot be read (ENOENT)");
    expect(message).not.toContain("an-open-secret");
  });

  it("is refused if others may change it, or read the password of its store", async () => {
    expect(await refusal({}, 0o666)).toContain("others may change it");
    const store = "postgres://u:a-db-pa55word@10.0.0.1/app";
    const message = await refusal({ store }, 0o644);
    expect(message).toContain("chmod 600");
    expect(message).not.toContain("a-db-pa55word");
    expect((await loadStonithConfig(configured({ store }))).config.store).toBe(store);
  });

  it("is refused if another user owns it", async () => {
    const place = configured({});
    chownSync(place, 12_345, 12_345);
    await expect(loadStonithConfig(place)).rejects.toThrow("belongs to another user");
    chownSync(place, 0, 0);
  });

  it("that was not checked against this host powers nothing off", async () => {
    const loaded = await loadStonithConfig(configured({}), { devices: false });
    expect(() => openRunner(loaded)).toThrow("was not looked for on this host");
  });

  it("is not looked for on this host by those who ask no device", async () => {
    const agent = { kind: "agent", agent: "fence_nothing" };
    await expect(loadStonithConfig(configured(withDevice(agent)), { devices: false })).resolves.toMatchObject({
      programs: {},
    });
  });

  it("needs two nodes, and leaves one on", async () => {
    expect(await refusal({ nodes: { "db-1": {} } })).toContain("two at least");
    expect(await refusal({ maxOff: 3 })).toContain("maxOff: a whole number from 1 to 2");
    expect(await refusal({ maxOff: 0 })).toContain("maxOff");
  });
});

describe("what works and should be known", () => {
  const warnings = async (changes: object): Promise<string> =>
    (await loadStonithConfig(configured(changes))).warnings.join("\n");

  it("fence_ipmilan shows its password to every user of the host", async () => {
    const lan = {
      kind: "agent",
      agent: "fence_ipmilan",
      parameters: { ip: "10.0.0.1", username: "u", password, lanplus: true },
    };
    expect(await warnings(withDevice(lan))).toContain(
      "fence_ipmilan passes the password on to ipmitool by its command line",
    );
    expect(await warnings(withDevice({ ...lan, agent: "/usr/sbin/fence_idrac" }))).toContain("fence_idrac");
    expect(await warnings({})).toBe("");
  });

  it("a node without a device waits for a human, and a store on two nodes is never shot at", async () => {
    const nodes = { "db-1": { hostsStore: true }, "db-2": { levels: [[bmc("10.1.0.2")]], hostsStore: true } };
    const said = await warnings({ nodes });
    expect(said).toContain("db-1 has no device");
    expect(said).toContain("lose its quorum");
  });
});

it("names the variables that hold secrets, which other agents do not get", () => {
  const device = { kind: "ipmi", host: "h", user: "u", password: { env: "BMC_PASSWORD" } };
  expect(secretVariablesOf(parse(withDevice(device)))).toEqual(["BMC_PASSWORD"]);
});
