// A watchdog of the kernel, as files: which one counts, and when it is fed.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ManualClock } from "conclave/testing";
import { FedWatchdog, inspectWatchdog, type WatchdogFound } from "conclave/stonith";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(path.join(tmpdir(), "conclave-watchdog-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GOOD = {
  identity: "iTCO_wdt",
  timeout: "30",
  options: "0x8180",
  nowayout: "0",
  device: "",
  cpuinfo: "flags\t: fpu vme",
};

function inspect(
  changes: Partial<Record<keyof typeof GOOD, string | undefined>>,
  ttlMs = 15_000,
): ReturnType<typeof inspectWatchdog> {
  const root = mkdtempSync(path.join(folder, "sys-"));
  const { cpuinfo = "", ...facts } = { ...GOOD, ...changes };
  mkdirSync(path.join(root, "watchdog0"));
  for (const [name, text] of Object.entries(facts))
    if (text !== undefined) writeFileSync(path.join(root, "watchdog0", name), `${text}\n`);
  writeFileSync(path.join(root, "cpuinfo"), cpuinfo);
  writeFileSync(path.join(root, "watchdog"), "");
  return inspectWatchdog(path.join(root, "watchdog"), ttlMs, { sys: root, cpuinfo: path.join(root, "cpuinfo") });
}

const problems = (found: ReturnType<typeof inspectWatchdog>): string =>
  "problems" in found ? found.problems.join("\n") : "";

describe("a watchdog counts", () => {
  it("if it is hardware that outlives its process, in a machine that nobody pauses", () => {
    expect(inspect({})).toMatchObject({ identity: "iTCO_wdt", timeoutMs: 30_000 });
  });

  it("not if it is a timer of the kernel", () => {
    expect(problems(inspect({ identity: "Software Watchdog" }))).toContain("is no hardware");
    expect(problems(inspect({ device: undefined }))).toContain("is no hardware");
  });

  it("not in a virtual machine, which pauses it", () => {
    expect(problems(inspect({ cpuinfo: "flags\t\t: fpu hypervisor lahf_lm" }))).toContain("virtual machine");
  });

  it("not if a killed process disarms it, nor if a clean release cannot", () => {
    expect(problems(inspect({ options: "0x8080" }))).toContain("magic close");
    expect(problems(inspect({ options: undefined }))).toContain("magic close");
    expect(problems(inspect({ nowayout: "1" }))).toContain("nowayout");
  });

  it("not if it is faster than a ttl; and all that is wrong is said at once", () => {
    expect(problems(inspect({ timeout: "10" }))).toContain("shorter than the ttl");
    expect(
      problems(inspect({ timeout: undefined, identity: undefined, options: "0" })).split("\n").length,
    ).toBeGreaterThan(2);
    expect(problems(inspectWatchdog(path.join(folder, "none"), 1))).toContain("no such device");
  });
});

describe("an armed watchdog", () => {
  const arm = (isHeld: () => boolean): { clock: ManualClock; fed: () => string; dog: FedWatchdog } => {
    const device = path.join(mkdtempSync(path.join(folder, "dev-")), "watchdog0");
    writeFileSync(device, "");
    const clock = new ManualClock();
    const found: WatchdogFound = { device, identity: "iTCO_wdt", timeoutMs: 30_000 };
    return { clock, fed: () => readFileSync(device, "latin1"), dog: FedWatchdog.arm(found, clock, isHeld) };
  };

  it("is fed well within its timeout while the term is held, and never after it", async () => {
    let isHeld = true;
    const { clock, fed } = arm(() => isHeld);
    expect(fed()).toBe("1");
    await clock.advance(30_000);
    const before = fed();
    expect(before.length).toBeGreaterThan(2);
    isHeld = false;
    await clock.advance(300_000);
    expect(fed()).toBe(before);
  });

  it("is disarmed when the work has ended, and only then", async () => {
    const { clock, fed, dog } = arm(() => true);
    await clock.advance(30_000);
    expect(fed()).not.toContain("V");
    dog.disarm();
    dog.disarm();
    expect(fed().endsWith("1V")).toBe(true);
    const last = fed();
    await clock.advance(60_000);
    expect(fed()).toBe(last);
  });

  it("that another process has cannot be armed", () => {
    const found: WatchdogFound = { device: path.join(folder, "none", "watchdog0"), identity: "x", timeoutMs: 1000 };
    expect(() => FedWatchdog.arm(found, new ManualClock(), () => true)).toThrow("cannot be opened");
  });
});
