// Finds the API server and our credentials there: in the kubeconfig that the caller names; else in those that KUBECONFIG names; else, inside a pod, in the service account that Kubernetes has put there;
// else in ~/.kube/config.
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { invalidConfig } from "../../base/errors.ts";
import type { Access } from "./access.ts";
import { readKubeconfig } from "./kubeconfig.ts";
import { TokenFile } from "./token-file.ts";

export interface AccessWish {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** Kubernetes puts the service account of a pod here. */
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export function findAccess(
  { kubeconfig, context }: AccessWish,
  environment: NodeJS.ProcessEnv = process.env,
  account: string = ACCOUNT,
): Access {
  if (kubeconfig !== undefined) return readKubeconfig([kubeconfig], context);
  const named = (environment["KUBECONFIG"] ?? "").split(path.delimiter).filter((file) => file !== "");
  if (named.length > 0) return readKubeconfig(present(named), context);
  const [host, port] = [environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"]];
  if (host !== undefined && host !== "" && context === undefined && existsSync(path.join(account, "token")))
    return inCluster(host, port ?? "443", account);
  const own = path.join(environment["HOME"] ?? homedir(), ".kube", "config");
  if (existsSync(own)) return readKubeconfig([own], context);
  throw invalidConfig("kubernetes", [
    `no cluster was found: KUBECONFIG is not set, ${own} is not there, and this process runs in no pod with a service account (${account}/token). Pass a kubeconfig: kubernetes://NAMESPACE?kubeconfig=FILE`,
  ]);
}

/** As kubectl does, files of KUBECONFIG that are not there are left out, as long as one is there. */
function present(files: readonly string[]): readonly string[] {
  const found = files.filter((file) => existsSync(file));
  return found.length === 0 ? files : found;
}

function inCluster(host: string, port: string, account: string): Access {
  const optional = (name: string): string | undefined => {
    const file = path.join(account, name);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  };
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: () => optional("ca.crt"),
    skipsVerification: false,
    credentials: new TokenFile(path.join(account, "token")),
    namespace: optional("namespace")?.trim(),
    origin: `the service account in ${account}`,
  };
}
