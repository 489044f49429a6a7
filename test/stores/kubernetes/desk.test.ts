// What the answers to a write of a Lease mean: a success that was not expected may have been carried out.
import { expect, it } from "vitest";
import type { ApiAnswer, KubernetesClient } from "../../../src/clients/kubernetes/client.ts";
import { LeaseDesk } from "../../../src/stores/kubernetes/desk.ts";
import { outcomeOf } from "../../../src/stores/kubernetes/refusals.ts";

const { signal } = new AbortController();

function answering(status: number): LeaseDesk {
  const send = (): Promise<ApiAnswer> => Promise.resolve({ status, json: { message: "words" } });
  return new LeaseDesk({ send } as unknown as KubernetesClient, "default");
}

async function kindOf(asked: Promise<unknown>): Promise<string> {
  const error: unknown = await asked.catch((thrown: unknown) => thrown);
  return outcomeOf(error, "default").kind;
}

it("an update that made a Lease anew is unknown, and one that the server does not take is refused", async () => {
  expect(await kindOf(answering(201).update("x", {}, signal))).toBe("unknown");
  expect(await kindOf(answering(422).update("x", {}, signal))).toBe("refused");
  expect(await kindOf(answering(422).create({}, signal))).toBe("refused");
});
