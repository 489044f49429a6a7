// fileFence between real processes: writers that race, are stopped in mid-write, and are killed.
import { readdir } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileFence } from "conclave/fencing";
import { type Child, Family } from "./children.ts";
import { by } from "./tokens.ts";

/** Writes counts under its token until it is refused. Says what it found when it was raised, each write that was acknowledged, and how it ended. */
const WRITER = `
const file = fileFence(folder, "ledger");
const found = async () => (await file.read())?.content.toString().slice(0, 40);
try {
  await file.raise(by(value));
  const first = await found();
  await new Promise((resolve) => setTimeout(resolve, 5));
  say({ raised: first, again: await found() });
  for (let count = 1; ; count++) {
    await file.write(value + ":" + count + ":" + "x".repeat(200_000), by(value));
    say({ acknowledged: count });
  }
} catch ({ code, message }) {
  say({ ended: code ?? message });
}
`;

type Said = {
  readonly raised?: string;
  readonly again?: string;
  readonly acknowledged?: number;
  readonly ended?: string;
};
const said = (child: Child): readonly Said[] => child.said as Said[];
const acknowledged = (child: Child): number => Math.max(0, ...said(child).map((each) => each.acknowledged ?? 0));
const writes = (child: Child, count: number): Promise<void> => child.until(() => acknowledged(child) >= count);
const ends = (child: Child): Promise<void> => child.until(() => said(child).some(({ ended }) => ended !== undefined));

function parse(content: string | undefined): { readonly value: number; readonly count: number } {
  const [value = "0", count = "0"] = (content ?? "").split(":");
  return { value: Number(value), count: Number(count) };
}

describe("fileFence between processes", () => {
  let family: Family;
  let folder = "";
  beforeEach(async () => {
    family = await Family.begin();
    folder = family.place("shared");
  });
  afterEach(() => family.end());

  const read = async (): Promise<
    { readonly value: number; readonly count: number; readonly token: bigint } | undefined
  > => {
    const found = await fileFence(folder, "ledger").read();
    if (found === undefined) return undefined;
    const text = found.content.toString();
    expect(text).toMatch(/^[0-9]+:[0-9]+:x{200000}$/);
    return { ...parse(text), token: found.token.value };
  };

  it("keeps every acknowledged write over six successors, and readers never see an older token again", async () => {
    const children: Child[] = [];
    let reading = true;
    const seen: bigint[] = [];
    const reader = (async () => {
      while (reading) {
        const found = await read();
        if (found !== undefined) seen.push(found.token);
      }
    })();
    for (let value = 1; value <= 6; value++) {
      const child = await family.spawn(WRITER, folder, `${value}`);
      children.push(child);
      await writes(child, 3);
    }
    children.at(-1)?.kill("SIGKILL");
    for (const child of children.slice(0, -1)) await ends(child);
    await children.at(-1)?.ended;
    reading = false;
    await reader;
    expect(seen).toEqual(seen.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    for (const [index, child] of children.entries()) {
      const raised = said(child).find((each) => "again" in each || each.raised !== undefined);
      expect(raised?.again).toBe(raised?.raised);
      const found = parse(raised?.raised);
      if (index > 0) expect(found.value).toBe(index);
      expect(found.count).toBeGreaterThanOrEqual(index === 0 ? 0 : acknowledged(children[index - 1] as Child));
    }
    expect(children.slice(0, -1).flatMap((child) => said(child).flatMap(({ ended }) => ended ?? []))).toEqual(
      Array.from({ length: 5 }, () => "TOKEN_STALE"),
    );
  });

  it(
    "refuses a writer that was stopped in mid-write, whenever that was, and never shows what it writes after",
    { timeout: 60_000 },
    async () => {
      for (let round = 0; round < 6; round++) {
        const [oldValue, newValue] = [2 * round + 1, 2 * round + 2];
        const old = await family.spawn(WRITER, folder, `${oldValue}`);
        await writes(old, 2);
        await new Promise((resolve) => setTimeout(resolve, 3 * round));
        old.kill("SIGSTOP");
        const content = `${newValue}:1:${"x".repeat(200_000)}`;
        const file = fileFence(folder, "ledger");
        await file.raise(by(newValue));
        const before = await read();
        expect(before?.count).toBeGreaterThanOrEqual(acknowledged(old));
        old.kill("SIGCONT");
        await ends(old);
        expect(await read()).toEqual(before);
        await file.write(content, by(newValue));
        expect(await read()).toEqual({ value: newValue, count: 1, token: BigInt(newValue) });
        expect(said(old).at(-1)).toEqual({ ended: "TOKEN_STALE" });
      }
    },
  );

  it("shows a whole write after a writer was killed, at least the last acknowledged one, and tidies up", async () => {
    for (let value = 1; value <= 6; value++) {
      const child = await family.spawn(WRITER, folder, `${value}`);
      await writes(child, 2);
      await new Promise((resolve) => setTimeout(resolve, value));
      child.kill("SIGKILL");
      await child.ended;
      const found = await read();
      expect(found?.value).toBe(value);
      expect(found?.count).toBeGreaterThanOrEqual(acknowledged(child));
    }
    await fileFence(folder, "ledger").raise(by(9));
    expect((await readdir(folder)).toSorted()).toEqual(["ledger@0@9", "ledger@0@9@claim", "ledger@0@era"]);
  });
});
