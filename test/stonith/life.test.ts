import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { type ProcessHome, isLifeOver, ownHome, ownLife } from "../../src/stonith/life.ts";

const isLinux = process.platform === "linux";
const HERE = ownHome("this machine");
const ANOTHER_BOOT: ProcessHome = { ...HERE, boot: "another boot" };

/** The life of a process that runs here, with other words at some places. */
function life(words: { readonly pid?: number; readonly start?: string; readonly namespace?: string } = {}): string {
  const [boot, pid, start, nonce, machine, namespace] = ownLife(HERE).split("/");
  return [boot, words.pid ?? pid, words.start ?? start, nonce, machine, words.namespace ?? namespace].join("/");
}

const children: ReturnType<typeof spawn>[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function started(command: string, ...args: readonly string[]): ReturnType<typeof spawn> {
  const child = spawn(command, args, { stdio: "ignore" });
  children.push(child);
  return child;
}

async function dead(): Promise<number> {
  const child = started("sleep", "60");
  child.kill("SIGKILL");
  await once(child, "exit");
  return child.pid ?? 0;
}

describe.runIf(isLinux)("what is left of a process of this machine", () => {
  it("is nothing after a boot, and something while it lives", () => {
    expect(isLifeOver(life(), HERE, true)).toBe(false);
    expect(isLifeOver(life(), HERE, false)).toBe(false);
    expect(isLifeOver(life(), ANOTHER_BOOT, false)).toBe(true);
  });

  it("is not known where the node was another machine before: that one has another boot, too, and may still act", () => {
    expect(isLifeOver(life(), { ...ANOTHER_BOOT, machine: "another machine" }, true)).toBe(false);
    expect(isLifeOver(life(), { ...HERE, machine: "another machine" }, true)).toBe(false);
    const [boot, pid, start, nonce] = life().split("/");
    expect(isLifeOver([boot, pid, start, nonce].join("/"), ANOTHER_BOOT, true), "no machine is named").toBe(false);
  });

  it("may be its children when it is dead: unless it is said that it has none", async () => {
    const gone = life({ pid: await dead(), start: "1" });
    expect(isLifeOver(gone, HERE, false)).toBe(false);
    expect(isLifeOver(gone, HERE, true)).toBe(true);
  });

  it("is not known in another pid namespace, such as a container: its number is that of another process here", async () => {
    const gone = { pid: await dead(), start: "1" };
    expect(isLifeOver(life({ ...gone, namespace: "1" }), HERE, true)).toBe(false);
    expect(isLifeOver(life({ ...gone, namespace: "" }), HERE, true)).toBe(false);
    expect(isLifeOver(life({ ...gone, namespace: "" }), { ...HERE, namespace: undefined }, true)).toBe(false);
    expect(isLifeOver(life({ ...gone, namespace: "1" }), ANOTHER_BOOT, true), "after a boot it is gone").toBe(true);
  });

  it("is not known while /proc hides a process that the kernel knows, as with hidepid", async () => {
    const child = started("sleep", "60");
    const hidden = life({ pid: child.pid ?? 0, start: "1" });
    const home: ProcessHome = { ...HERE, proc: "/nowhere" };
    expect(isLifeOver(hidden, home, true)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isLifeOver(hidden, home, true)).toBe(true);
  });

  it("is not judged by a number that another process has now, nor where nothing can be seen", () => {
    const [boot] = life().split("/");
    expect(isLifeOver(life({ start: "1" }), HERE, true), "the number is another's now").toBe(true);
    expect(isLifeOver(life(), { ...HERE, boot: undefined }, true)).toBe(false);
    expect(isLifeOver(life({ start: "" }), HERE, true)).toBe(false);
    expect(isLifeOver(`${boot}/1/1/nonce`, HERE, true)).toBe(false);
    expect(isLifeOver("nonsense", HERE, true)).toBe(false);
    expect(HERE.boot).toMatch(/^[0-9a-f-]{36}$/);
    expect(HERE.namespace).toMatch(/^\d+$/);
  });

  it("has a name that no other has, and takes the machine's id as it is", () => {
    expect(new Set(Array.from({ length: 100 }, () => ownLife(HERE))).size).toBe(100);
    const odd = ownHome("rack 7/slot 3");
    expect(isLifeOver(ownLife(odd), { ...odd, boot: "another boot" }, false)).toBe(true);
    expect(ownHome().machine).toMatch(/^[0-9a-f]{32}$/);
  });
});
