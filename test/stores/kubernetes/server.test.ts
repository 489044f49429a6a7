// What an API server answers to each request that elections and their tests make. The store rests on these rules. This file runs on the API server of this repository, and on
// Kubernetes' own where there is one (`npm run test:newer -- kubernetes`): so the one of this repository has no rule that the real one has not.
import { afterEach, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import type { Lease } from "../../../scripts/servers/lease-shelf.mjs";
import { useServers } from "../../support/servers.ts";
import { aName, type Ran, Stage } from "./stage.ts";

const servers = useServers(server) as () => Ran;
const stage = new Stage(servers);
afterEach(() => stage.end());

const KIND = { kind: "Lease", apiVersion: "coordination.k8s.io/v1" };
const AT = "2026-11-16T10:00:00.123456Z";
const ANOTHER_UID = "11111111-1111-4111-8111-111111111111";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces";

interface Answer {
  readonly status: number;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

async function ask(method: string, path: string, body?: unknown, type = "application/json"): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = body === undefined ? {} : { body: text, headers: { "content-type": type } };
  const answer = await fetch(`${stage.server}${path}`, { method, ...sent });
  const { reason, message } = (await answer.json()) as Partial<Answer>;
  return { status: answer.status, reason, message };
}

const at = (name = "", namespace = server.NAMESPACE): string =>
  `${LEASES}/${namespace}/leases${name === "" ? "" : `/${name}`}`;

async function made(name: string, spec: object = {}): Promise<Lease> {
  const { status, json } = await stage.ask("POST", "", { ...KIND, metadata: { name }, spec });
  expect(status).toBe(201);
  return json as Lease;
}

/** The version of the last write of all, as a list tells it. */
async function versionNow(): Promise<string> {
  const { json } = await stage.ask("GET", "");
  return (json as { readonly metadata: { readonly resourceVersion: string } }).metadata.resourceVersion;
}

describe("a namespace that is not there", () => {
  it.each([
    ["is not found", "GET", "/api/v1/namespaces/nowhere", undefined, 404, 'namespaces "nowhere" not found'],
    ["has no Lease", "GET", at("x", "nowhere"), undefined, 404, 'leases.coordination.k8s.io "x" not found'],
    ["takes no Lease", "POST", at("", "nowhere"), lease("x"), 404, 'namespaces "nowhere" not found'],
    ["takes no Lease by an update", "PUT", at("x", "nowhere"), lease("x"), 404, 'namespaces "nowhere" not found'],
  ])("%s", async (_, method, path, body, status, message) => {
    expect(await ask(method, path, body)).toEqual({ status, reason: "NotFound", message });
  });

  it("is listed as an empty one", async () => {
    expect(await ask("GET", at("", "nowhere"))).toMatchObject({ status: 200 });
  });
});

function lease(name: string, metadata: object = {}, spec: object = {}): object {
  return { ...KIND, metadata: { name, ...metadata }, spec };
}

describe("a Lease that is to be made", () => {
  it.each([
    ["with a version", lease("v", { resourceVersion: "5" }), 500, /should not be set on objects to be created/],
    ["without a name", { ...KIND, metadata: {}, spec: {} }, 422, /metadata\.name: Required value/],
    ["with a name that is none", lease("Bad_Name"), 422, /a lowercase RFC 1123 subdomain/],
    ["for another namespace", lease("o", { namespace: "other" }), 400, /does not match the namespace sent/],
    ["that is no JSON", "{nope", 400, /the object provided is unrecognized/],
    ["with a time in whole seconds", lease("t", {}, { renewTime: "2026-11-16T10:00:00Z" }), 400, /parsing time/],
    ["with a duration of nothing", lease("d", {}, { leaseDurationSeconds: 0 }), 422, /must be greater than 0/],
    ["with a duration in words", lease("d", {}, { leaseDurationSeconds: "5" }), 400, /./],
    ["with a duration beyond 32 bits", lease("d", {}, { leaseDurationSeconds: 2 ** 40 }), 400, /./],
    ["with fewer transitions than none", lease("n", {}, { leaseTransitions: -1 }), 422, /spec\.leaseTransitions/],
    ["with a label that is none", lease("l", { labels: { x: "not ok!" } }), 422, /metadata\.labels: Invalid value/],
    [
      "with 270 KB of annotations",
      lease("a", { annotations: { x: "y".repeat(270_000) } }),
      422,
      /annotations: Too long/,
    ],
    ["with 3.5 MB", lease("b", { annotations: { x: "y".repeat(3_500_000) } }), 413, /Request entity too large/],
  ])("%s is refused", async (_, body, status, message) => {
    expect(await ask("POST", at(), body)).toMatchObject({ status, message: expect.stringMatching(message) });
  });

  it("is refused as anything but JSON", async () => {
    expect(await ask("POST", at(), JSON.stringify(lease("p")), "text/plain")).toMatchObject({ status: 415 });
  });

  it("needs no kind and no spec, has a uid of its own, and is refused if it is there", async () => {
    const name = aName();
    const body = { metadata: { name, uid: ANOTHER_UID } };
    const { status, json } = await stage.ask("POST", "", body);
    const { metadata, spec } = json as Lease;
    expect([status, spec]).toEqual([201, {}]);
    expect(metadata.uid).not.toBe(ANOTHER_UID);
    expect(await ask("POST", at(), body)).toMatchObject({ status: 409, reason: "AlreadyExists" });
  });
});

describe("an update", () => {
  it("that changes nothing leaves the version as it is", async () => {
    const stands = await made(aName(), { holderIdentity: "h", renewTime: AT });
    const { status, json } = await stage.ask("PUT", stands.metadata.name, stands);
    expect([status, (json as Lease).metadata.resourceVersion]).toEqual([200, stands.metadata.resourceVersion]);
  });

  it("needs no kind, and has the next version", async () => {
    const { metadata } = await made(aName());
    const { status, json } = await stage.ask("PUT", metadata.name, { metadata, spec: { holderIdentity: "h" } });
    expect(status).toBe(200);
    expect(Number((json as Lease).metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
  });

  it.each([
    ["without a version", { resourceVersion: undefined }, 422, /must be specified for an update/],
    ["with the version 0", { resourceVersion: "0" }, 422, /must be specified for an update/],
    ["with a version that is no number", { resourceVersion: "x" }, 500, /invalid syntax/],
    ["with an older version", { resourceVersion: "1" }, 409, /the object has been modified/],
    ["with a version to come", { resourceVersion: "99999999" }, 409, /the object has been modified/],
    ["with another uid", { uid: ANOTHER_UID }, 409, /Precondition failed: UID in precondition/],
    ["with another name", { name: "z" }, 400, /does not match the name on the URL/],
    ["without a name", { name: undefined }, 400, /name must be provided/],
  ])("%s is refused", async (_, change, status, message) => {
    const stands = await made(aName());
    const { name } = stands.metadata;
    const body = { ...stands, metadata: { ...stands.metadata, ...change }, spec: { holderIdentity: "h" } };
    expect(await ask("PUT", at(name), body)).toMatchObject({ status, message: expect.stringMatching(message) });
    expect((await stage.lease(name)).metadata.resourceVersion).toBe(stands.metadata.resourceVersion);
  });

  it("of a Lease that is not there makes it, and is refused if it names a uid", async () => {
    const { metadata, spec } = await made(aName());
    await stage.delete(metadata.name);
    expect(await ask("PUT", at(metadata.name), { ...KIND, metadata, spec })).toMatchObject({
      status: 409,
      reason: "Conflict",
      message: expect.stringContaining(`UID in precondition: ${metadata.uid}, UID in object meta: `),
    });
    const { uid: _, ...nameless } = metadata;
    const again = await stage.ask("PUT", metadata.name, { ...KIND, metadata: nameless, spec });
    expect(again.status).toBe(201);
    expect(Number((again.json as Lease).metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
  });
});

describe("the notes on who has written which field", () => {
  const managers = ({ metadata }: Lease): readonly string[] | undefined =>
    metadata.managedFields?.map(({ manager }) => manager);
  const update = async (stands: Lease, notes: object, holderIdentity: string): Promise<Lease> => {
    const body = { ...stands, metadata: { ...stands.metadata, ...notes }, spec: { holderIdentity } };
    const { status, json } = await stage.ask("PUT", stands.metadata.name, body);
    expect(status).toBe(200);
    return json as Lease;
  };

  it("are made with a Lease, and stay if an update has none", async () => {
    const stands = await made(aName(), { holderIdentity: "h" });
    expect(managers(stands)?.length).toBe(1);
    expect(managers(await update(stands, { managedFields: undefined }, "a"))).toEqual(managers(stands));
  });

  it("are never made of a Lease that had no field in the beginning", async () => {
    const stands = await made(aName());
    expect(managers(stands)).toBeUndefined();
    expect(managers(await update(stands, {}, "a"))).toBeUndefined();
  });

  it("are taken away by a list with one empty entry, and then none are made any more", async () => {
    const stands = await made(aName(), { holderIdentity: "a" });
    const bare = await update(stands, { managedFields: [{}] }, "b");
    expect(managers(bare)).toBeUndefined();
    expect(managers(await update(bare, {}, "c"))).toBeUndefined();
  });
});

describe("a deletion", () => {
  it("is refused with another uid, is a write with a version, and finds nothing a second time", async () => {
    const { metadata } = await made(aName());
    const before = await versionNow();
    const wrong = { preconditions: { uid: ANOTHER_UID } };
    expect(await ask("DELETE", at(metadata.name), wrong)).toMatchObject({ status: 409, reason: "Conflict" });
    await stage.delete(metadata.name);
    expect(Number(await versionNow())).toBeGreaterThan(Number(before));
    expect(await ask("DELETE", at(metadata.name))).toMatchObject({ status: 404, reason: "NotFound" });
  });
});

describe("a watch", () => {
  it("tells what was written since its version, a deletion with a version of its own, and ends when it was to", async () => {
    const name = aName();
    const from = await versionNow();
    const { metadata } = await made(name);
    await stage.edit(name, (stands) => ({ ...stands, spec: { holderIdentity: "h" } }));
    await stage.delete(name);
    const query = `watch=1&resourceVersion=${from}&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}`;
    const text = await (await fetch(`${stage.server}${at()}?${query}`)).text();
    const events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string; readonly object: Lease });
    expect(events.map(({ type, object }) => [type, object.metadata.uid])).toEqual([
      ["ADDED", metadata.uid],
      ["MODIFIED", metadata.uid],
      ["DELETED", metadata.uid],
    ]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  });

  it("from a version that is no number is refused", async () => {
    expect(await ask("GET", `${at()}?watch=1&resourceVersion=x`)).toMatchObject({ status: 500 });
  });
});
