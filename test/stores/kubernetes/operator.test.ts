// The example of an operator, as a pod would run it: processes with a service account's kubeconfig, on the API server of this repository. And its manifest: the times in it
// are longer than those of the program.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { kubernetesManifest } from "conclave/stores/kubernetes";
import { freePorts } from "../../../scripts/servers/process.mjs";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { sleep } from "../../support/processes.ts";
import { useServers } from "../../support/servers.ts";

const folder = fileURLToPath(new URL("../../../examples/operator/", import.meta.url));
const servers = useServers(server);
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

interface Pod {
  readonly child: ChildProcess;
  readonly port: number;
  said(): string;
}

function startPod(name: string, port: number): Pod {
  const env = { ...process.env, CONCLAVE_STORE: servers().urls[0], POD_NAME: name, PORT: `${port}` };
  const child = spawn(process.execPath, [`${folder}main.mjs`], { env, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
  return { child, port, said: () => said };
}

it("leads in one pod, answers the probes of both, and hands over when a pod is told to stop", async () => {
  const [a = 0, b = 0] = await freePorts(2);
  const pods = [startPod("pod-a", a), startPod("pod-b", b)];
  await expect.poll(() => pods.filter((pod) => pod.said().includes("started")).length, { timeout: 20_000 }).toBe(1);
  const leader = pods.find((pod) => pod.said().includes("started")) as Pod;
  const follower = pods.find((pod) => pod !== leader) as Pod;
  for (const { port } of pods)
    for (const path of ["healthz", "readyz"])
      await expect
        .poll(async () => (await fetch(`http://127.0.0.1:${port}/${path}`)).status, { timeout: 10_000 })
        .toBe(200);
  const { json } = await lease();
  expect(json).toMatchObject({
    spec: { holderIdentity: expect.stringMatching(/^pod-[ab]_/), leaseDurationSeconds: 15 },
  });
  leader.child.kill("SIGTERM");
  await expect.poll(() => follower.said(), { timeout: 10_000 }).toContain("started");
  expect(leader.said()).toContain("the controller has stopped");
  follower.child.kill("SIGTERM");
  const codes = await Promise.all(pods.map(({ child }) => exited(child)));
  expect(codes).toEqual([0, 0]);
}, 60_000);

async function lease(): Promise<{ readonly json: unknown }> {
  const at = `${(servers() as Awaited<ReturnType<typeof server.start>>).server}/apis/coordination.k8s.io/v1/namespaces/${server.NAMESPACE}/leases/widget-operator`;
  return { json: await (await fetch(at)).json() };
}

async function exited(child: ChildProcess): Promise<number | null> {
  while (child.exitCode === null && child.signalCode === null) await sleep(20);
  return child.exitCode;
}

it("is given more time to end than it takes, and has the rights and probes that it needs", () => {
  const manifest = readFileSync(`${folder}deployment.yaml`, "utf8");
  const program = readFileSync(`${folder}main.mjs`, "utf8");
  const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]?.replaceAll("_", ""));
  const graceMs = 1000 * number(manifest, /terminationGracePeriodSeconds: (\d+)/);
  const exitMs = number(program, /EXIT_WITHIN_MS = ([\d_]+)/);
  const drainMs = number(program, /DRAIN_MS = ([\d_]+)/);
  expect(graceMs).toBeGreaterThan(exitMs);
  expect(exitMs).toBeGreaterThan(drainMs);
  expect(manifest).toMatch(/livenessProbe:\s+httpGet:\s+path: \/healthz/);
  expect(manifest).toContain("serviceAccountName: widget-operator");
  expect(manifest).toContain("npx conclave schema kubernetes --namespace widgets --grant widget-operator");
  const rights = kubernetesManifest({ namespace: "widgets", serviceAccount: "widget-operator" });
  expect(readFileSync(`${folder}rbac.yaml`, "utf8")).toBe(rights);
});
