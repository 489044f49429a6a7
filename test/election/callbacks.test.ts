// LAW 16. Functions that users hand to conclave may throw or reject: that is reported once, harms nobody, and never ends the process as an unhandled rejection.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConclaveEvent, createCandidate, elect } from "conclave";
import { fencedListener, fencingHeaders, memoryFence } from "conclave/fencing";
import { fakeStore, fakeTerm } from "conclave/testing";

/** What cannot be made into text: even reporting it must not throw. */
const nameless = Object.create(null) as object;

const failing: readonly (readonly [how: string, expected: RegExp, fail: () => unknown])[] = [
  ["throws", /threw: Error: its own affair/, () => thrown(new Error("its own affair"))],
  ["rejects", /rejected: Error: its own affair/, () => Promise.reject(new Error("its own affair"))],
  ["throws what has no text", /threw: a value of type object/, () => thrown(nameless)],
  ["rejects with what has no text", /rejected: a value of type object/, async () => thrown(nameless)],
];

function thrown(error: unknown): never {
  throw error;
}

/** Those about functions of the user, and about nothing else: of an outage the process is warned too. */
let warnings: Error[] = [];
const note = (warning: Error & { readonly code?: string }): void => {
  if (warning.code === "CONCLAVE_LISTENER" || warning.name !== "ConclaveWarning") warnings.push(warning);
};
beforeEach(() => {
  warnings = [];
  process.on("warning", note);
});
afterEach(() => void process.off("warning", note));

/** Rejections and warnings are told in later jobs. */
const laterJobs = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

describe.each(failing)("a function of the user that %s", (_how, expected, fail) => {
  it("as a listener of events is reported once, and the others hear everything", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const heard: ConclaveEvent["type"][] = [];
    candidate.subscribe(() => fail());
    candidate.subscribe(({ type }) => void heard.push(type));
    const led = candidate.election("x").lead(async () => {});
    await store.advance(1);
    await led;
    await laterJobs();
    expect(heard).toContain("elected");
    expect(heard).toContain("settled");
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
    expect(warnings[0]).toMatchObject({ name: "ConclaveWarning", code: "CONCLAVE_LISTENER" });
  });

  it("as onOverstay is reported", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000, onOverstay: fail });
    void candidate.election("x").lead(() => new Promise<void>(() => {}));
    await store.advance(1);
    store.hang();
    await store.advance(20_000);
    await laterJobs();
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringMatching(expected)]);
  });

  it("as the work of a term that is over already is an event", async () => {
    const store = fakeStore();
    const candidate = createCandidate({ store, ttlMs: 10_000 });
    const codes: string[] = [];
    candidate.subscribe((event) => void (event.type === "error" && codes.push(event.error.code)));
    const election = candidate.election("x");
    let terms = 0;
    const led = election.lead(async (term) => {
      terms++;
      await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve()));
      await fail();
    });
    await store.advance(1);
    store.depose("x");
    await store.advance(60_000);
    expect(codes).toContain("TERM_LOST");
    expect(terms).toBe(2);
    const closed = election.close();
    await store.advance(60_000);
    await closed;
    await led;
  });

  it("as the close of a store that nobody waits for is an event", async () => {
    const store = Object.assign(fakeStore(), { close: async () => void (await fail()) });
    const election = elect("x", { store, ttlMs: 10_000 });
    const led = election.lead(async () => "done");
    await store.advance(1);
    expect(await led).toBe("done");
    await laterJobs();
  });

  it("as onError of a request listener is reported, and the client gets its answer", async () => {
    const guard = memoryFence();
    const listener = fencedListener(guard, "ledger", async () => thrown(new Error("the work")), { onError: fail });
    const server: Server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: fencingHeaders(fakeTerm()) });
    expect(answer.status).toBe(500);
    await laterJobs();
    expect(warnings).toHaveLength(1);
    server.close();
  });
});
