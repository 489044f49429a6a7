// Elsewhere: packets are dropped without a reset, and the holder notices after minutes, when the kernel gives the connection up (consul#18271; two active Vaults, vault#23013).
// Here: the signal aborts at the deadline whatever the connection does; and a connection on which a request got no answer is used no more. Where only that connection is
// dead, the next renewal goes over a new one, and the term goes on.
// Taken out: test/defences/black-hole.patch
import { afterEach, expect, it } from "vitest";
import { createCandidate } from "conclave";
import { etcd } from "conclave/stores/etcd";
import * as etcdServer from "../../scripts/servers/etcd.mjs";
import { urlOf } from "../etcd/etcd.ts";
import { Wire } from "../etcd/proxy.ts";
import { useServers } from "../servers.ts";

const servers = useServers(etcdServer);
let wire: Wire | undefined;
afterEach(() => wire?.close());

it("black-hole: a connection that went dead without a word is replaced before the deadline", async () => {
  wire = await Wire.to(servers().urls[0] ?? "");
  await using candidate = createCandidate({ store: etcd(wire.url), ttlMs: 4000, drainMs: 200 });
  await using rival = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 4000, drainMs: 200 });
  const term = await candidate.election("x").campaign();
  let elected = false;
  rival
    .election("x")
    .campaign()
    .then(() => (elected = true))
    .catch(() => {});
  const before = wire.opened;
  wire.swallow();
  await new Promise((resolve) => setTimeout(resolve, 6000));
  expect({ held: term.isHeld(), aborted: term.signal.aborted, elected }).toEqual({
    held: true,
    aborted: false,
    elected: false,
  });
  expect(wire.opened).toBeGreaterThan(before);
});

it("black-hole: where everything is swallowed, the signal aborts before the deadline, and somebody else leads after it", async () => {
  wire = await Wire.to(servers().urls[0] ?? "");
  await using candidate = createCandidate({ store: etcd(wire.url), ttlMs: 3000, drainMs: 200 });
  await using rival = createCandidate({ store: etcd(urlOf(servers())), ttlMs: 3000, drainMs: 200 });
  const term = await candidate.election("y").campaign();
  const dead = wire;
  const swallowing = setInterval(() => dead.swallow(), 1);
  const successor = await rival.election("y").campaign();
  expect([term.signal.aborted, term.isHeld()]).toEqual([true, false]);
  expect(successor.token.value).toBeGreaterThan(term.token.value);
  clearInterval(swallowing);
});
