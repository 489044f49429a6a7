// Elsewhere: a stop hook ran for a minute past the deadline, and an address was served twice (cilium).
// Here: reported as soon as the deadline has passed; `onOverstay: "exit"` ends the process, a function decides itself. On a clock in the test's hand, and
// as a real process that was stopped past its ttl and whose work takes no notice.
// Taken out: test/defences/overstay.patch
import { afterAll, expect, it, vi } from "vitest";
import { type ConclaveEvent, createCandidate } from "conclave";
import { fakeStore } from "conclave/testing";
import { usePlaces } from "../support/real-stores.ts";
import { nextKeep, nowMs, sleep, Stage } from "../support/processes.ts";

const stage = new Stage();
const places = usePlaces(stage);
const cases = (["report", "exit"] as const).flatMap((onOverstay) =>
  places.map((place) => [onOverstay, ...place] as const),
);
afterAll(() => stage.end());

it("overstay: work that runs past the deadline is reported with its code, and onOverstay is called", async () => {
  const store = fakeStore();
  const overstayers: string[] = [];
  const candidate = createCandidate({ store, ttlMs: 10_000, onOverstay: (election) => overstayers.push(election) });
  const events: ConclaveEvent[] = [];
  candidate.subscribe((event) => events.push(event));
  const never = new Promise<void>(() => {});
  void candidate.election("x").lead(() => never);
  await store.advance(1);
  store.hang();
  await store.advance(9_700);
  expect(overstayers).toEqual([]);
  await store.advance(1_000);
  expect(overstayers).toEqual(["x"]);
  expect(events.filter(({ type }) => type === "overstayed")).toHaveLength(1);
  expect(events.some((event) => event.type === "error" && event.error.code === "TERM_OVERSTAYED")).toBe(true);
});

it('overstay: with onOverstay "exit" the process ends, and says why', async () => {
  const exits: unknown[] = [];
  const said: string[] = [];
  vi.spyOn(process, "exit").mockImplementation((code) => exits.push(code) as never);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  const store = fakeStore();
  void createCandidate({ store, ttlMs: 10_000, onOverstay: "exit" })
    .election("x")
    .lead(() => new Promise<void>(() => {}));
  await store.advance(1);
  store.hang();
  await store.advance(20_000);
  vi.restoreAllMocks();
  expect(exits).toEqual([1]);
  expect(said.join("")).toMatch(/"x": work still running/);
});

it.each(cases)(
  "overstay: a process that goes on working after its successor has begun hears of it, and can be made to end (%s, %s)",
  { timeout: 30_000 },
  async (onOverstay, _name, place) => {
    const shared = { ...place(), ttlMs: 2000 };
    const holder = await stage.start({ ...shared, id: "holder", stubborn: true, onOverstay });
    await holder.hears("elected");
    const waiter = await stage.start({ ...shared, id: "waiter" });
    await waiter.hears("leader");
    if ("path" in shared) await nextKeep(shared.path);
    const stoppedAt = nowMs();
    holder.signal("SIGSTOP");
    await waiter.hears("elected", stoppedAt);
    holder.signal("SIGCONT");
    if (onOverstay === "exit") {
      expect(await Promise.race([holder.exited(), sleep(5000)])).toBe(1);
      expect(holder.errors).toMatch(/"x": work still running/);
    } else {
      await holder.hears("overstayed", stoppedAt, 5000);
      expect(await holder.hears("error", stoppedAt)).toMatchObject({ code: "TERM_OVERSTAYED" });
    }
    await Promise.all([holder.kill(), waiter.kill()]);
  },
);
