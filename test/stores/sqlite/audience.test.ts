// Of many that wait for one holder a few listen, and the others ask from time to time: a change or a death wakes these few.
import { linkSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Audience } from "../../../src/stores/sqlite/audience.ts";
import { idOf } from "../../../src/stores/sqlite/file-system.ts";
import { type News, Vigil } from "../../../src/stores/sqlite/vigil.ts";

let folder: string;
let audience: Audience;
let server: Server;
const ends: (() => void)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "conclave-audience-"));
  audience = new Audience();
  server = createServer((socket) => audience.welcome(socket));
  await new Promise<void>((resolve) => server.listen(place(), resolve));
});

afterEach(() => {
  for (const end of ends.splice(0)) end();
  server.close();
  rmSync(folder, { recursive: true });
});

const place = (): string => path.join(folder, "life.sock");

/** Says `lines` to the holder; what it hears comes one line at a time. */
async function listen(...lines: string[]): Promise<{ socket: Socket; next: () => Promise<string> }> {
  const socket = connect(place()).setEncoding("utf8");
  ends.push(() => socket.destroy());
  const heard: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  socket.on("data", (text) => {
    for (const line of String(text).split("\n").slice(0, -1)) {
      const wake = waiting.shift();
      if (wake === undefined) heard.push(line);
      else wake(line);
    }
  });
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  socket.write(lines.map((line) => `${line}\n`).join(""));
  const next = async (): Promise<string> => heard.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
  return { socket, next };
}

/** Fails by the assertion, and not by the wait for it. */
const soon = (isSo: () => void): Promise<void> => vi.waitFor(isSo, { timeout: 5000, interval: 10 });

async function answer(...lines: string[]): Promise<string> {
  return await (await listen(...lines)).next();
}

it("ten listen for a name, two of one process at most; for another name there is room", async () => {
  expect(await answer('+1 "x"')).toBe("1");
  expect(await answer('+1 "x"')).toBe("2");
  expect(await answer('+1 "x"')).toMatch(/^full \d+$/);
  for (let pid = 2; pid <= 9; pid++) expect(await answer(`+${pid} "x"`)).toMatch(/^\d+$/);
  expect(await answer('+10 "x"')).toMatch(/^full \d+$/);
  expect(await answer('+10 "y"')).toMatch(/^\d+$/);
  expect(await answer('+10 "x"', '+10 "z"')).toMatch(/^\d+$/);
});

it("a place that was left is there for the next who asks", async () => {
  const first = await listen('+1 "x"');
  const second = await listen('+1 "x"');
  await first.next();
  await second.next();
  expect(await answer('+1 "x"')).toMatch(/^full \d+$/);
  first.socket.write('-"x"\n+1 "y"\n');
  expect(await first.next()).toMatch(/^\d+$/);
  expect(await answer('+1 "x"')).toMatch(/^\d+$/);
  expect(await answer('+1 "x"')).toMatch(/^full \d+$/);
  const left = new Promise((resolve) => second.socket.once("close", resolve));
  second.socket.destroy();
  await left;
  await expect.poll(() => answer('+1 "x"')).toMatch(/^\d+$/);
});

it("what has changed is told to those who listen, with their number, and not to those who were turned away", async () => {
  const first = await listen('+1 "x"');
  const second = await listen('+1 "x"');
  await Promise.all([first.next(), second.next()]);
  const third = await listen('+1 "x"');
  expect(await third.next()).toMatch(/^full \d+$/);
  audience.tell();
  expect(await first.next()).toBe("3");
  third.socket.write('+1 "y"\n');
  // The next thing that it hears is the answer to this.
  expect(await third.next()).toBe("3");
});

it("those that are turned away come back one after the other", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  ends.push(() => vi.useRealTimers());
  for (let pid = 1; pid <= 10; pid++) await answer(`+${pid} "x"`);
  const back: number[] = [];
  for (let more = 0; more < 30; more++) back.push(Number((await answer('+11 "x"')).slice("full ".length)));
  expect(back.slice(0, 25)).toEqual(Array.from({ length: 25 }, () => 500));
  expect(back.slice(25)).toEqual([520, 540, 560, 580, 600]);
  vi.advanceTimersByTime(510);
  expect(await answer('+11 "x"')).toBe("full 500");
});

it("a line that is not understood is passed over", async () => {
  const listener = await listen("", "+", '+x "x"', "+1 x", '+1 "\\', "-", '+1 "x"');
  expect(await listener.next()).toBe("1");
  audience.tell();
  expect(await listener.next()).toBe("1");
});

it("a waiter that was turned away takes the holder for alive, and finds out by asking again that it is dead", async () => {
  await answer('+1 "x"');
  for (let pid = 2; pid <= 10; pid++) await answer(`+${pid} "x"`);
  // Node removes the socket's name when it closes it. Under this one it stays and refuses, as after a kill.
  linkSync(place(), `${place()}.kept`);
  const kept = { path: `${place()}.kept`, file: idOf(`${place()}.kept`) ?? "" };
  const news: News[] = [];
  const vigil = new Vigil(kept, "x", (each) => news.push(each));
  ends.push(() => vigil.end());
  await expect.poll(() => vigil.life).toBe("alive");
  expect(news).toEqual([]);
  audience.tell();
  server.close();
  // As its owner does from time to time.
  const renewed = (): string => (vigil.renew(), vigil.life);
  await expect.poll(renewed, { timeout: 5000 }).toBe("dead");
  expect(news.at(-1)).toBe("dead");
});

it("a waiter that was turned away comes back by itself, and listens when there is room", async () => {
  const others = await Promise.all(Array.from({ length: 10 }, (_, index) => listen(`+${index + 1} "x"`)));
  await Promise.all(others.map(({ next }) => next()));
  const news: News[] = [];
  const vigil = new Vigil({ path: place(), file: idOf(place()) ?? "" }, "x", (each) => news.push(each));
  ends.push(() => vigil.end());
  await soon(() => expect(vigil.life).toBe("alive"));
  for (const { socket } of others) socket.destroy();
  await soon(() => expect((audience.tell(), news.at(-1))).toBe("change"));
});

it("a waiter whose connection ends is not told of a death, and listens again by itself", async () => {
  const news: News[] = [];
  const vigil = new Vigil({ path: place(), file: idOf(place()) ?? "" }, "x", (each) => news.push(each));
  ends.push(() => vigil.end());
  await soon(() => expect(news).toEqual(["change"]));
  audience.dismiss();
  await soon(() => expect(news).toContain("unsure"));
  await soon(() => expect((audience.tell(), news.at(-1))).toBe("change"));
  expect(news).not.toContain("dead");
});
