// The conformance suite on the API server of this repository; and, where KUBECONFIG names a cluster, on that one too: in the namespace conclave-tests, which has to be there,
// so that no election of anybody is disturbed (kubectl create namespace conclave-tests).
import { kubernetes } from "conclave/stores/kubernetes";
import { storeConformance } from "conclave/testing";
import { describe, it } from "vitest";
import * as server from "../../../scripts/servers/kubernetes.mjs";
import { useServers } from "../../support/servers.ts";

describe("kubernetes, by the API server of this repository, or by a real one", () => {
  const servers = useServers(server) as () => server.Started;
  const open = async (): Promise<ReturnType<typeof kubernetes>> => kubernetes(server.urlOf(servers().direct));
  for (const { name, run } of storeConformance(open)) it(name, run, 60_000);
});

describe.runIf(process.env["KUBECONFIG"] !== undefined)("kubernetes, the cluster that KUBECONFIG names", () => {
  const open = async (): Promise<ReturnType<typeof kubernetes>> => kubernetes("kubernetes://conclave-tests");
  for (const { name, run } of storeConformance(open)) it(name, run, 60_000);
});
