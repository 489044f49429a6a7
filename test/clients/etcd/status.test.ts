// Whether a member is fit, where it shows its status to root alone (3.6, and 3.5.28 and later): then the head of an answer that every user gets says which cluster it belongs to, and that it has a leader.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseAddress } from "../../../src/clients/etcd/address.ts";
import { EtcdClient } from "../../../src/clients/etcd/client.ts";
import { FakeEtcd } from "./fake-etcd.ts";

const DENIED = { status: 7, message: "etcdserver: permission denied" };

let fakes: readonly FakeEtcd[] = [];
let client: EtcdClient;
beforeEach(async () => {
  fakes = [await FakeEtcd.start(), await FakeEtcd.start()];
  client = new EtcdClient(parseAddress(fakes.map(({ url }) => url)));
});
afterEach(async () => {
  client.close();
  await Promise.all(fakes.map((fake) => fake.stop()));
});

const opened = async (): Promise<string | undefined> => {
  await client.link(AbortSignal.timeout(5000));
  return client.oldestSeen;
};

describe("a member that hides its status from this user", () => {
  beforeEach(() => {
    for (const fake of fakes) fake.answers.set("Status", () => DENIED);
  });

  it("is fit, and is of the first version that hides it", async () => {
    const answer = await opened().catch((error: unknown) => error);
    expect(answer).toBe("3.5.28");
  });

  it("must belong to the same cluster as the one before", async () => {
    expect(await opened()).toBe("3.5.28");
    client.close();
    for (const fake of fakes) fake.header.clusterId = 8n;
    await expect(opened()).rejects.toMatchObject({ problem: "other-cluster" });
  });

  it("must have a leader", async () => {
    const noLeader = { status: 14, message: "etcdserver: no leader" };
    for (const fake of fakes) fake.answers.set("LeaseTimeToLive", () => noLeader);
    await expect(opened()).rejects.toMatchObject({ problem: "unreachable", outcome: "not-applied" });
  });
});

it("a member that refuses its status for another reason is not fit, and is asked nothing more", async () => {
  for (const fake of fakes) fake.answers.set("Status", () => ({ status: 14, message: "etcdserver: no leader" }));
  await expect(opened()).rejects.toMatchObject({ problem: "unreachable" });
  expect(fakes.flatMap(({ asked }) => asked)).toEqual(["Status", "Status"]);
});
