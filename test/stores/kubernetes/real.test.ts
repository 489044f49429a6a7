// What only Kubernetes' own API server can show: its RBAC, its service accounts, its watch cache and etcd's compaction. `npm run test:newer -- kubernetes` brings one; without it
// this file is no part of the tests.
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { kubernetes, kubernetesManifest } from "conclave/stores/kubernetes";
import type { FencedStore, Hint, KeepsMemos } from "conclave/stores/contract";
import { ADMIN, askReal } from "../../../scripts/servers/api-server.mjs";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { Contest } from "../../support/contest.ts";
import { nowMs, sleep } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";
import { open } from "../moves.ts";
import { aName, call, claimOver, type Ran, seatOf, Stage, win } from "./stage.ts";

const servers = useServers(server) as () => Ran;
const stage = new Stage(servers);
const stores: FencedStore[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await stage.end();
});

const TTL_MS = 2_000;
const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces";
const READ_ONLY = ["get", "list", "watch"];

/** As the administrator. */
async function ask(method: string, path: string, body?: object): Promise<{ status: number; json: unknown }> {
  const { status, text } = await askReal(serverOf(servers().direct), method, path, body);
  return { status, json: JSON.parse(text) as unknown };
}

function serverOf(kubeconfig: string): string {
  return /server: (\S+)/.exec(readFileSync(kubeconfig, "utf8"))?.[1] ?? "";
}

/** A store that connects with the token of this service account, over TLS. */
async function storeOf(namespace: string, account: string): Promise<FencedStore & KeepsMemos> {
  const token = await ask("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, { spec: {} });
  const { status } = token.json as { readonly status: { readonly token: string } };
  const file = `${servers().direct}-${namespace}-${account}`;
  writeFileSync(file, readFileSync(servers().direct, "utf8").replace(ADMIN, status.token));
  const store = kubernetes(`kubernetes://${namespace}?kubeconfig=${encodeURIComponent(file)}`);
  stores.push(store);
  return store as FencedStore as FencedStore & KeepsMemos;
}

async function newNamespace(account: string): Promise<string> {
  const namespace = aName("shop");
  expect((await ask("POST", "/api/v1/namespaces", { metadata: { name: namespace } })).status).toBe(201);
  await expect
    .poll(async () => {
      const body = { metadata: { name: account } };
      return (await ask("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, body)).status;
    })
    .toBe(201);
  return namespace;
}

/** What the manifest has, as objects: it is made of few forms. */
async function apply(namespace: string, account: string, more: (role: Role) => Role = (role) => role): Promise<void> {
  const manifest = kubernetesManifest({ namespace, serviceAccount: account });
  for (const document of manifest.split("---\n")) {
    const kind = /^kind: (\S+)$/m.exec(document)?.[1];
    const name = /^ {2}name: (\S+)$/m.exec(document)?.[1];
    const rules = [...document.matchAll(/apiGroups: (\[.*\])\n\s+resources: (\[.*\])\n\s+verbs: (\[.*\])/g)].map(
      ([, apiGroups = "", resources = "", verbs = ""]) => ({
        apiGroups: JSON.parse(apiGroups) as string[],
        resources: JSON.parse(resources) as string[],
        verbs: JSON.parse(verbs) as string[],
      }),
    );
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "conclave" };
    const body =
      kind === "Role"
        ? more({ metadata: { name }, rules })
        : { metadata: { name }, roleRef, subjects: [{ kind: "ServiceAccount", name: account, namespace }] };
    const path = `${RBAC}/${namespace}/${kind === "Role" ? "roles" : "rolebindings"}`;
    expect((await ask("POST", path, body)).status).toBe(201);
  }
}

interface Role {
  readonly metadata: object;
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

describe("a service account", () => {
  it("with just the manifest's Role reads the uid of its namespace, leads, renews, keeps memos, watches and resigns", async () => {
    const namespace = await newNamespace("app");
    await apply(namespace, "app");
    const [store, waiter] = [await storeOf(namespace, "app"), await storeOf(namespace, "app")];
    const session = await open(store);
    const { json } = await ask("GET", `/api/v1/namespaces/${namespace}`);
    const hold = await win(store, session, "job");
    expect(hold.token?.domain).toBe(`kubernetes-${(json as { metadata: { uid: string } }).metadata.uid}`);
    const hints = new Hints(waiter, "job");
    await hints.until((hint) => hint.seat?.state === "held");
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    const memo = { session, hold, key: "k", value: "v", n: 1, over: undefined };
    expect(await store.writeMemo(memo, call())).toMatchObject({ kind: "written" });
    await store.release({ session, holds: [hold], endSession: true }, call());
    await hints.until((hint) => hint.seat?.state === "vacant");
    hints.stop();
  });

  it("of another namespace has no right there, and is told which command gives it", async () => {
    const [own, foreign] = [await newNamespace("app"), await newNamespace("app")];
    await apply(own, "app");
    const store = await storeOf(foreign, "app");
    const kept = await store.keep({ nonce: "n", candidate: "c", ttlMs: 5_000 }, [], call());
    expect(kept).toMatchObject({ kind: "refused", code: "STORE_DENIED", retryable: false });
    expect(kept).toHaveProperty("message", expect.stringContaining(`schema kubernetes --namespace ${foreign}`));
  });

  it("without the right to update is denied, and nothing is written", async () => {
    const namespace = await newNamespace("app");
    await apply(namespace, "app", (role) => ({
      ...role,
      rules: role.rules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => READ_ONLY.includes(verb)) })),
    }));
    const store = await storeOf(namespace, "app");
    const claimed = await claimOver(store, await open(store), "job");
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    expect(claimed).toHaveProperty("message", expect.stringMatching(/cannot create resource "leases"/));
  });

  it("with a Role for one Lease by its name leads and watches there, if somebody else has made the Lease", async () => {
    const namespace = await newNamespace("app");
    await apply(namespace, "app", (role) => ({
      ...role,
      rules: role.rules.map((rule) =>
        rule.resources.includes("leases")
          ? { ...rule, verbs: [...READ_ONLY, "update"], resourceNames: ["job"] }
          : { ...rule },
      ),
    }));
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    expect((await ask("POST", leases, { metadata: { name: "job" }, spec: {} })).status).toBe(201);
    const [store, waiter] = [await storeOf(namespace, "app"), await storeOf(namespace, "app")];
    const session = await open(store);
    const hold = await win(store, session, "job");
    const hints = new Hints(waiter, "job");
    await hints.until((hint) => hint.seat?.state === "held");
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    const released = await store.release({ session, holds: [hold], endSession: true }, call());
    expect(released).toMatchObject({ kind: "released" });
    await hints.until((hint) => hint.seat?.state === "vacant");
    hints.stop();
  });
});

describe("the manifests of the operator example", () => {
  const PATHS: Readonly<Record<string, string>> = {
    ServiceAccount: "/api/v1/namespaces/widgets/serviceaccounts",
    Deployment: "/apis/apps/v1/namespaces/widgets/deployments",
    Role: `${RBAC}/widgets/roles`,
    RoleBinding: `${RBAC}/widgets/rolebindings`,
  };

  it("are taken as they stand, with the grace period and both probes", async () => {
    expect((await ask("POST", "/api/v1/namespaces", { metadata: { name: "widgets" } })).status).toBe(201);
    const text = ["deployment.yaml", "rbac.yaml"]
      .map((file) => readFileSync(new URL(`../../../examples/operator/${file}`, import.meta.url), "utf8"))
      .join("---\n");
    const made = [];
    for (const document of text.split(/^---$/m)) {
      const path = PATHS[/^kind: (\S+)$/m.exec(document)?.[1] ?? ""] ?? "";
      const headers = { "content-type": "application/yaml", accept: "application/json" };
      const answer = await fetch(`${stage.server}${path}`, { method: "POST", headers, body: document });
      const json = (await answer.json()) as { readonly kind: string };
      expect([answer.status, json]).toEqual([201, expect.anything()]);
      made.push(json);
    }
    expect(made.map(({ kind }) => kind)).toEqual(["ServiceAccount", "Deployment", "Role", "RoleBinding"]);
    const probe = (path: string) => ({ httpGet: { path, port: 8080 } });
    const containers = [{ livenessProbe: probe("/healthz"), readinessProbe: probe("/readyz") }];
    const pod = { serviceAccountName: "widget-operator", terminationGracePeriodSeconds: 15, containers };
    expect(made[1]).toMatchObject({ spec: { template: { spec: pod } } });
  });
});

describe("history that is gone", () => {
  it("ends a watch from before it with 410, and the watcher reads anew and goes on", async () => {
    const [store, waiter, name] = [stage.store(), stage.store(), aName()];
    const session = await open(store);
    const hold = await win(store, session, name);
    const { resourceVersion } = (await stage.lease(name)).metadata;
    const hints = new Hints(waiter, name);
    await hints.until((hint) => hint.seat?.state === "held");
    // Two: without a watch cache, a server that is asked for exactly the oldest version that etcd has answers with an error of its own (500), which is an end of the watch like any other.
    for (let keep = 0; keep < 2; keep++) await store.keep(session, [hold], call());
    await stage.order({ forget: true });
    // With a watch cache, history is gone when the server has started again.
    await servers().nodes[0]?.restart();
    const told = await fetch(`${stage.server}${LEASES}?watch=1&resourceVersion=${resourceVersion}&timeoutSeconds=2`);
    expect([told.status, await told.text()]).toEqual([200, expect.stringMatching(/"code":410/)]);
    const again = new Hints(waiter, name);
    await again.until((hint) => hint.seat?.state === "held");
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "kept", lost: [], unsure: [] });
    const { version } = await seatOf(store, name);
    await again.until((hint) => hint.seat?.version === version);
    again.stop();
    hints.stop();
  }, 60_000);
});

const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${server.NAMESPACE}/leases`;

describe("an API server that is stopped (SIGSTOP) for three ttl", () => {
  it("ends the term at its deadline, and one leads again when it goes on, with a greater token", async () => {
    const contest = new Contest();
    try {
      const store = server.urlOf(servers().direct);
      for (const id of ["a", "b", "c"]) await contest.join({ store, id, ttlMs: TTL_MS, drainMs: 200 });
      const leader = await contest.leader();
      const [node] = servers().nodes;
      const at = nowMs();
      node?.pause();
      const { at: stopped } = await leader.hears("resigned", at);
      expect(stopped - at).toBeLessThan(TTL_MS);
      await sleep(3 * TTL_MS);
      const back = nowMs();
      node?.resume();
      await contest.elected(back);
      expect(contest.verdict()).toMatchObject({ overlaps: [], regressions: [], unread: [] });
    } finally {
      await contest.end();
    }
  }, 60_000);
});

/** The hints of one watch. */
class Hints {
  readonly #controller = new AbortController();
  readonly #hints: AsyncIterator<Hint>;

  constructor(store: FencedStore, name: string) {
    this.#hints = store.watch([{ name }], { signal: this.#controller.signal, sentAtMs: 0 })[Symbol.asyncIterator]();
  }

  async until(isWanted: (hint: Hint) => boolean): Promise<void> {
    for (;;) {
      const result = await Promise.race([this.#hints.next(), sleep(10_000)]);
      if (result === undefined || result.done === true) throw new Error("no such hint");
      if (isWanted(result.value)) return;
    }
  }

  stop(): void {
    this.#controller.abort();
  }
}
