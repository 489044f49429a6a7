import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { bootId, isLifeOver, ownLife } from "../../src/stonith/life.ts";

const isLinux = process.platform === "linux";

describe.runIf(isLinux)("what is left of a process of this machine", () => {
  it("is nothing after a boot, and something while it lives", () => {
    const life = ownLife();
    expect(isLifeOver(life, true)).toBe(false);
    expect(isLifeOver(life, false)).toBe(false);
    expect(isLifeOver(life, false, "another boot")).toBe(true);
  });

  it("may be its children when it is dead: unless it is said that it has none", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const own = ownLife().split("/");
    const started = [own[0], String(child.pid), "1", "nonce"].join("/");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isLifeOver(started, false)).toBe(false);
    expect(isLifeOver(started, true)).toBe(true);
  });

  it("is not judged by a number that another process has now, nor where nothing can be seen", () => {
    const [boot] = ownLife().split("/");
    expect(isLifeOver(`${boot}/${process.pid}/1/nonce`, true), "the number is another's now").toBe(true);
    expect(isLifeOver(`/1/1/nonce`, true)).toBe(false);
    expect(isLifeOver(`${boot}///nonce`, true)).toBe(false);
    expect(isLifeOver("nonsense", true)).toBe(false);
    expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("has a name that no other has", () => {
    expect(new Set(Array.from({ length: 100 }, () => ownLife())).size).toBe(100);
  });
});
