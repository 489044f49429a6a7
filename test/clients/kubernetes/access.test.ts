// Who we are and where: kubeconfig files, the service account of a pod, plugins; and what each answer of a server means. On the API server of this repository, with TLS, tokens and rights.
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { KubernetesClient } from "../../../src/clients/kubernetes/client.ts";
import { ExecCredentials } from "../../../src/clients/kubernetes/exec-plugin.ts";
import { findAccess } from "../../../src/clients/kubernetes/find-access.ts";
import { kubernetes, kubernetesManifest } from "conclave/stores/kubernetes";
import { type Kept, VACANT } from "conclave/stores/contract";
import { open } from "../../stores/moves.ts";
import { call, seatOf, win } from "../../stores/kubernetes/stage.ts";
import { makeCertificates, type Certificates } from "../../stores/etcd/certificates.ts";

const ALL = ["get leases", "list leases", "watch leases", "create leases", "update leases", "get namespaces"];

/** As a Role that is limited by resourceNames gives them. */
const NAMED = ["get namespaces", ...["get", "list", "watch", "update"].map((verb) => `${verb} leases only-this`)];

let folder = "";
let files: Certificates;
let ran: Awaited<ReturnType<typeof server.start>>;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "conclave-access-"));
  files = makeCertificates(folder);
  const { cert, key, ca, clientCert, clientKey } = files;
  ran = await server.start({
    tls: { cert, key, ca, clientCert, clientKey },
    tokens: { "first-token": "pod", "second-token": "pod", weak: "weak", blind: "blind", named: "named" },
    rights: {
      pod: ALL,
      client: ALL,
      weak: ["get namespaces", "get leases"],
      blind: ["get leases", "update leases"],
      named: NAMED,
    },
  });
}, 60_000);
afterAll(async () => {
  await ran?.stop();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
/** A kubeconfig with this user, and this in its cluster. */
function kubeconfig(user: string, cluster = `    certificate-authority: ${files.ca}\n`, at = ran.server): string {
  const file = path.join(folder, `config-${++count}`);
  writeFileSync(
    file,
    `clusters:
- name: c
  cluster:
${cluster}    server: ${at}
contexts:
- name: x
  context: {"cluster": "c", "user": "u", "namespace": "elections"}
current-context: x
users:
- name: u
  user:
${user}`,
  );
  return file;
}

/** The answer to an opening. */
async function opened(file: string): Promise<Kept> {
  const store = kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(file)}`);
  try {
    const call = { signal: AbortSignal.timeout(10_000), sentAtMs: 0 };
    return await store.keep({ nonce: `n${++count}`, candidate: "c", ttlMs: 5_000 }, [], call);
  } finally {
    await store.close();
  }
}

describe("a kubeconfig", () => {
  it.each([
    ["a token", () => "    token: first-token\n"],
    [
      "a token in a file, by a relative path",
      () => (writeFileSync(path.join(folder, "tok"), "first-token\n"), "    tokenFile: tok\n"),
    ],
    [
      "a client certificate in files",
      () => `    client-certificate: ${files.clientCert}\n    client-key: ${files.clientKey}\n`,
    ],
    [
      "a client certificate as data",
      () =>
        `    client-certificate-data: ${base64(files.clientCert)}\n    client-key-data: ${base64(files.clientKey)}\n`,
    ],
  ])("says who we are by %s", async (_, user) => {
    expect(await opened(kubeconfig(user()))).toMatchObject({ kind: "kept", met: { server: "Kubernetes v1.35.0" } });
  });

  it("says who we are by a program, which is run again when what it printed is refused", async () => {
    const program = path.join(folder, "plugin");
    const log = path.join(folder, "plugin.log");
    writeFileSync(
      program,
      `#!/bin/sh
echo "$KUBERNETES_EXEC_INFO $MOOD $1" >> ${log}
if [ "$(wc -l < ${log})" = 1 ]; then TOKEN=stale; else TOKEN=second-token; fi
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$TOKEN'"}}'
`,
    );
    chmodSync(program, 0o755);
    const file = kubeconfig(`    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin
      args:
      - one
      env:
      - name: MOOD
        value: good
      provideClusterInfo: true
      interactiveMode: Never
`);
    expect(await opened(file)).toMatchObject({ kind: "kept" });
    const lines = readFileSync(log, "utf8").trim().split("\n");
    expect(lines.length).toBe(2);
    expect(lines[0]).toMatch(/"interactive":false,"cluster":\{"server":"https:.* good one$/);
    expect(lines[0]).toContain(`"certificate-authority-data":"${base64(files.ca)}"`);
  });

  it("with a program that fails, or an unknown user, is refused with what to do", async () => {
    const failing = kubeconfig(
      "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: ./nobody\n      installHint: Install nobody.\n",
    );
    expect(await opened(failing)).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    expect(await opened(failing)).toHaveProperty("message", expect.stringContaining("Install nobody."));
    const unknown = await opened(kubeconfig("    token: nobody\n"));
    expect(unknown).toMatchObject({ kind: "refused", code: "STORE_DENIED", retryable: false });
    expect(unknown).toHaveProperty("message", expect.stringContaining("kubectl auth whoami"));
  });

  it("of several files may name one that is not there, as long as one is there", () => {
    const environment = (...named: readonly string[]) => ({ KUBECONFIG: named.join(path.delimiter) });
    const nowhere = path.join(folder, "not-there");
    const file = kubeconfig("    token: first-token\n");
    expect(findAccess({}, environment(nowhere, file))).toMatchObject({ server: ran.server });
    expect(() => findAccess({}, environment(nowhere))).toThrow(/cannot be read.*not-there/);
    expect(() => findAccess({ kubeconfig: nowhere }, environment(file))).toThrow(/cannot be read.*not-there/);
  });

  it("of which something is missing, or cannot be done here, throws with what it is", () => {
    const opening = (text: string, query = "") => {
      const file = path.join(folder, `odd-${++count}`);
      writeFileSync(file, text);
      return () => kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(file)}${query}`);
    };
    expect(() => kubernetes("kubernetes:?kubeconfig=/nowhere")).toThrow(/cannot be read/);
    expect(opening("kind: Config\n")).toThrow(/no current-context/);
    expect(opening("a: &b c\n")).toThrow(/line 1: an anchor.*kubectl config view --raw --flatten/);
    expect(opening("current-context: x\n", "&context=y")).toThrow(/names the context "y", and has none/);
    expect(() =>
      kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    auth-provider: {}\n"))}`),
    ).toThrow(/auth-provider/);
    expect(() =>
      kubernetes(
        `kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    token: t\n", "    proxy-url: http://p\n"))}`,
      ),
    ).toThrow(/proxy-url/);
    expect(() => kubernetes("kubernetes://Shop")).toThrow();
    expect(() => kubernetes("kubernetes://shop?colour=red")).toThrow(/"colour" is not a setting/);
  });
});

describe("a program that says who we are", () => {
  function plugin(
    script: string,
    runsAtMostMs?: number,
  ): { readonly program: string; readonly asked: ExecCredentials } {
    const program = path.join(folder, `plugin-${++count}`);
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    const apiVersion = "client.authentication.k8s.io/v1";
    const settings = { apiVersion, command: program, args: [], env: {}, installHint: undefined, cluster: undefined };
    return { program, asked: new ExecCredentials({ ...settings, folder }, runsAtMostMs) };
  }

  it("and does not end, not even when it is told to, is killed; the next request runs it anew", async () => {
    const { program, asked } = plugin("trap '' TERM\nexec sleep 100", 300);
    await expect(async () => asked.get()).rejects.toThrow(/it was ended by SIGKILL/);
    writeFileSync(program, `#!/bin/sh\necho '{"status":{"token":"first-token"}}'\n`);
    expect(await asked.get()).toMatchObject({ token: "first-token" });
  });

  it("and takes long keeps nobody waiting who has given up, and nothing is sent", async () => {
    const { asked } = plugin("exec sleep 100", 2_000);
    const access = { ...findAccess({ kubeconfig: kubeconfig("    token: first-token\n") }), credentials: asked };
    const client = new KubernetesClient(access);
    const counts = (await server.control(ran.server)).counts;
    const given = client.send("GET", "/api/v1/namespaces/elections", undefined, AbortSignal.timeout(100));
    const killed = (async () => asked.get())().catch(() => "killed");
    expect(await Promise.race([given.catch(() => "given up"), killed])).toBe("given up");
    await expect(given).rejects.toMatchObject({ outcome: "not-applied" });
    await killed;
    expect((await server.control(ran.server)).counts).toEqual(counts);
    client.close();
  });

  it("is run once for all requests that were refused with what it printed before", async () => {
    const log = path.join(folder, "runs.log");
    const { asked } = plugin(`echo run >> ${log}\necho '{"status":{"token":"t'$(wc -l < ${log})'"}}'`);
    const first = await asked.get();
    expect(first).toMatchObject({ token: "t1" });
    expect(await Promise.all([asked.get(first), asked.get(first)])).toMatchObject([{ token: "t2" }, { token: "t2" }]);
    expect(await asked.get(first)).toMatchObject({ token: "t2" });
    expect(readFileSync(log, "utf8")).toBe("run\nrun\n");
  });

  it.each([
    ["null", /neither token nor certificate/],
    ['{"status":null}', /neither token nor certificate/],
    ['{"status":{"clientCertificateData":"c"}}', /a certificate or its key, and not both/],
    ["Please log in.", /no JSON/],
  ])("and prints %s is refused with what is wrong", async (printed, problem) => {
    await expect(async () => plugin(`echo '${printed}'`).asked.get()).rejects.toThrow(problem);
  });
});

function base64(file: string): string {
  return readFileSync(file).toString("base64");
}

describe("a certificate", () => {
  it("that cannot be verified, or is none, is refused with what to change", async () => {
    const other = await opened(kubeconfig("    token: first-token\n", `    certificate-authority: ${files.otherCa}\n`));
    expect(other).toMatchObject({ kind: "refused", code: "STORE_DENIED", retryable: false });
    expect(other).toHaveProperty("message", expect.stringContaining("certificate-authority"));
    const skipped = kubeconfig("    token: first-token\n", "    insecure-skip-tls-verify: true\n");
    expect(await opened(skipped)).toMatchObject({ kind: "kept" });
    const named = kubeconfig(
      "    token: first-token\n",
      `    certificate-authority: ${files.ca}\n    tls-server-name: other.test\n`,
    );
    expect(await opened(named)).toHaveProperty("message", expect.stringContaining("tls-server-name"));
  });

  it("is not asked of a server that speaks no TLS, and a server that is not there is unreachable", async () => {
    const plain = await server.start();
    const tls = plain.server.replace("http:", "https:");
    try {
      expect(await opened(kubeconfig("    token: t\n", "", tls))).toMatchObject({
        kind: "refused",
        code: "STORE_DENIED",
      });
    } finally {
      await plain.stop();
    }
    expect(await opened(kubeconfig("    token: t\n", "", tls))).toMatchObject({
      kind: "refused",
      code: "STORE_UNREACHABLE",
      retryable: true,
    });
  });
});

describe("a missing right", () => {
  it("is named, with the command that gives it", async () => {
    const blind = await opened(kubeconfig("    token: blind\n"));
    expect(blind).toMatchObject({ kind: "refused", code: "STORE_DENIED", retryable: false });
    expect(blind).toHaveProperty(
      "message",
      expect.stringMatching(
        /cannot get resource "namespaces".*npx conclave schema kubernetes --namespace elections --grant SERVICEACCOUNT \| kubectl apply -f -$/,
      ),
    );
    const store = kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    token: weak\n"))}`);
    const call = { signal: AbortSignal.timeout(10_000), sentAtMs: 0 };
    const kept = await store.keep({ nonce: "w", candidate: "w", ttlMs: 5_000 }, [], call);
    if (kept.kind !== "kept") throw new Error(kept.kind);
    const [claimed] = await store.claim(
      [{ session: kept.session, name: "weak", bid: "w.1" as never, over: "absent" as never, value: "" }],
      call,
    );
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    expect(claimed).toHaveProperty("message", expect.stringContaining('cannot create resource "leases"'));
    await store.close();
  });

  it("is not what a quota means, or a webhook that denies: then no Role is proposed", async () => {
    const said = 'leases.coordination.k8s.io "job" is forbidden: exceeded quota: q, used: 5, limited: 5';
    const body = JSON.stringify({ kind: "Status", message: said, reason: "Forbidden", code: 403 });
    const store = kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    token: first-token\n"))}`);
    const session = await open(store);
    await server.control(ran.server, { faults: [{ method: "POST", status: 403, body }] });
    const [claimed] = await store.claim([{ session, name: "q", bid: "q.1" as never, over: VACANT, value: "" }], call());
    expect(claimed).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    expect(claimed).toHaveProperty("message", expect.stringMatching(/exceeded quota.*no missing right/));
    expect(claimed).not.toHaveProperty("message", expect.stringContaining("schema kubernetes"));
    await store.close();
  });

  it("to list all Leases keeps nobody from giving back the one that a Role names", async () => {
    const name = "only-this";
    const owner = kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    token: first-token\n"))}`);
    const first = await open(owner);
    await owner.release({ session: first, holds: [await win(owner, first, name)], endSession: true }, call());
    const store = kubernetes(`kubernetes:?kubeconfig=${encodeURIComponent(kubeconfig("    token: named\n"))}`);
    const session = await open(store);
    const hold = await win(store, session, name);
    expect(await store.release({ session, holds: [], endSession: true }, call())).toMatchObject({ kind: "released" });
    expect(await seatOf(owner, name)).toMatchObject({ state: "vacant" });
    expect(await store.keep(session, [hold], call())).toMatchObject({ kind: "session-lost" });
    await Promise.all([owner.close(), store.close()]);
  });

  it("is in the manifest, and nothing more is", () => {
    const manifest = kubernetesManifest({ namespace: "shop", serviceAccount: "billing" });
    for (const right of ALL) {
      const [verb, resource] = right.split(" ");
      expect(manifest).toMatch(new RegExp(`resources: \\["${resource}"\\]\\n    verbs: \\[[^\\]]*"${verb}"`));
    }
    expect(manifest).not.toMatch(/delete|patch|\*/);
    expect(manifest.match(/namespace: shop/g)?.length).toBe(3);
    expect(manifest).toContain("name: billing");
  });
});

describe("the service account of a pod", () => {
  it("is found by what Kubernetes puts there, and a token that was replaced is read anew", async () => {
    const { host, port } = { host: new URL(ran.server).hostname, port: new URL(ran.server).port };
    for (const [name, text] of Object.entries({ token: "first-token", namespace: "shop\n" }))
      writeFileSync(path.join(folder, name), text);
    writeFileSync(path.join(folder, "ca.crt"), readFileSync(files.ca));
    const access = findAccess({}, { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }, folder);
    expect(access).toMatchObject({ server: ran.server, namespace: "shop" });
    const client = new KubernetesClient(access);
    const ask = () => client.send("GET", "/api/v1/namespaces/elections", undefined, AbortSignal.timeout(10_000));
    expect(await ask()).toMatchObject({ status: 200 });
    writeFileSync(path.join(folder, "token"), "expired");
    await expect(ask()).rejects.toMatchObject({ problem: "unknown-user", outcome: "not-applied" });
    writeFileSync(path.join(folder, "token"), "second-token");
    expect(await ask()).toMatchObject({ status: 200 });
    client.close();
  });

  it("is not there: says where it was looked for", () => {
    const nowhere = path.join(folder, "nowhere");
    const environment = { KUBERNETES_SERVICE_HOST: "10.0.0.1", HOME: nowhere };
    expect(() => findAccess({}, environment, nowhere)).toThrow(
      /no cluster was found: KUBECONFIG is not set, .*nowhere.\.kube.config is not there/,
    );
  });
});

describe("a KubeConfig that a program has already", () => {
  it("says where and who, and is asked for every request", async () => {
    let token = "first-token";
    const config = {
      getCurrentCluster: () => ({ server: `${ran.server}/`, skipTLSVerify: false }),
      getCurrentContext: () => "x",
      getContextObject: () => ({ namespace: "elections" }),
      applyToHTTPSOptions: async (options: RequestOptions) => {
        options.ca = readFileSync(files.ca);
        options.headers = { Authorization: `Bearer ${token}` };
      },
    };
    const store = kubernetes(config);
    const open = (): Promise<Kept> =>
      store.keep({ nonce: `k${++count}`, candidate: "c", ttlMs: 5_000 }, [], {
        signal: AbortSignal.timeout(10_000),
        sentAtMs: 0,
      });
    expect(await open()).toMatchObject({ kind: "kept" });
    token = "nobody";
    expect(await open()).toMatchObject({ kind: "refused", code: "STORE_DENIED" });
    token = "second-token";
    expect(await open()).toMatchObject({ kind: "kept" });
    await store.close();
    expect("url" in store).toBe(false);
  });
});

describe("what answers", () => {
  it("and is no API server is told so, and an answer that is cut off is unknown", async () => {
    await server.control(ran.server, { faults: [{ path: "namespaces", status: 302, body: "<html>log in</html>" }] });
    const foreign = await opened(kubeconfig("    token: first-token\n"));
    expect(foreign).toMatchObject({ kind: "refused", code: "STORE_UNSUPPORTED" });
    await server.control(ran.server, { faults: [{ path: "namespaces", lose: "before" }] });
    expect(await opened(kubeconfig("    token: first-token\n"))).toMatchObject({ kind: "unknown" });
    await server.control(ran.server, { faults: [] });
  });

  it("and does not answer is unknown when the caller gives up, and nothing hangs", async () => {
    await server.control(ran.server, { faults: [{ path: "namespaces", hang: "after" }] });
    const client = new KubernetesClient(findAccess({ kubeconfig: kubeconfig("    token: first-token\n") }));
    const asked = client.send("GET", "/api/v1/namespaces/elections", undefined, AbortSignal.timeout(200));
    await expect(asked).rejects.toMatchObject({ outcome: "unknown" });
    await expect(client.send("GET", "/x", undefined, AbortSignal.abort())).rejects.toMatchObject({
      outcome: "not-applied",
    });
    client.close();
  });
});
