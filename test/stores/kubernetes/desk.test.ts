// What the answers to a write of a Lease mean: a success that was not expected may have been carried out.
import { describe, expect, it } from "vitest";
import type { ApiAnswer, KubernetesClient } from "../../../src/clients/kubernetes/client.ts";
import { LeaseDesk } from "../../../src/stores/kubernetes/desk.ts";
import { outcomeOf } from "../../../src/stores/kubernetes/refusals.ts";

const { signal } = new AbortController();

function answering(status: number, json: unknown = { message: "words" }): LeaseDesk {
  const send = (): Promise<ApiAnswer> => Promise.resolve({ status, json });
  return new LeaseDesk({ send, access: { server: "api" } } as unknown as KubernetesClient, "default");
}

async function kindOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return "believed";
  } catch (error) {
    return outcomeOf(error, "default").kind;
  }
}

it("an update that made a Lease anew is unknown, and one that the server does not take is refused", async () => {
  expect(await kindOf(answering(201).update("x", {}, signal))).toBe("unknown");
  expect(await kindOf(answering(422).update("x", {}, signal))).toBe("refused");
  expect(await kindOf(answering(422).create({}, signal))).toBe("refused");
});

describe("the answer to a write", () => {
  const before = { name: "job", uid: "u", resourceVersion: "99" };
  const sent = { metadata: before, spec: { holderIdentity: "me.1" } };
  const shown = (metadata: object, holderIdentity?: string) => ({
    metadata: { ...before, resourceVersion: "100", ...metadata },
    spec: { holderIdentity },
  });

  it("counts if it shows what was written", async () => {
    expect(await answering(200, shown({}, "me.1")).update("job", sent, signal)).toMatchObject(shown({}, "me.1"));
    const vacated = { metadata: before, spec: { holderIdentity: "" } };
    expect(await answering(200, shown({})).update("job", vacated, signal)).toMatchObject(shown({}));
    const made = { metadata: { name: "job" }, spec: sent.spec };
    expect(await answering(201, shown({}, "me.1")).create(made, signal)).toMatchObject(shown({}, "me.1"));
  });

  it.each([
    ["another Lease", shown({ name: "other" }, "me.1")],
    ["another Lease of that name", shown({ uid: "v" }, "me.1")],
    ["another holder", shown({}, "me.2")],
    ["no holder", shown({})],
    ["the version that was replaced", shown({ resourceVersion: "99" }, "me.1")],
    ["an earlier version", shown({ resourceVersion: "98" }, "me.1")],
  ])("that shows %s is unknown: it belongs to another request", async (_, answer) => {
    expect(await kindOf(answering(200, answer).update("job", sent, signal))).toBe("unknown");
  });

  it("that makes a Lease is unknown, too, if it shows another", async () => {
    const made = { metadata: { name: "job" }, spec: sent.spec };
    expect(await kindOf(answering(201, shown({ name: "other" }, "me.1")).create(made, signal))).toBe("unknown");
    expect(await kindOf(answering(201, shown({}, "me.2")).create(made, signal))).toBe("unknown");
  });
});

it("a reading that shows another Lease, or another namespace, is not taken for it", async () => {
  const other = { metadata: { name: "other", uid: "u", resourceVersion: "1" }, spec: {} };
  expect(await kindOf(answering(200, other).get("job", signal))).toBe("unknown");
  expect(await kindOf(answering(200, other).namespaceUid(signal))).toBe("unknown");
  expect(await answering(200, { metadata: { name: "default", uid: "u" } }).namespaceUid(signal)).toBe("u");
});
