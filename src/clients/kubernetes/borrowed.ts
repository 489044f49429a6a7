// Access by the `KubeConfig` of `@kubernetes/client-node`, which a program may have already: it says where the server is and with which credentials, and keeps the credentials fresh. Its type has only
// the four methods that are used, so that every version which has them will do. The connections are ours.
import type { RequestOptions } from "node:https";
import { invalidConfig } from "../../base/errors.ts";
import type { Access, ShownCredential } from "./access.ts";

/** The methods of a `KubeConfig` that are used. */
export interface KubeConfigClient {
  getCurrentCluster(): {
    readonly server: string;
    readonly skipTLSVerify?: boolean | undefined;
    readonly tlsServerName?: string | undefined;
  } | null;
  getCurrentContext(): string;
  getContextObject(name: string): { readonly namespace?: string | undefined } | null;
  /** Adds certificates, and a header with our credentials. */
  applyToHTTPSOptions(options: RequestOptions): Promise<void> | void;
}

export function borrowedAccess(config: KubeConfigClient): Access {
  const cluster = typeof config?.getCurrentCluster === "function" ? config.getCurrentCluster() : null;
  if (cluster === null)
    throw invalidConfig("kubernetes", [
      "pass a URL, or a KubeConfig of @kubernetes/client-node with a current cluster",
    ]);
  let ca: string | undefined;
  const get = async (): Promise<ShownCredential> => {
    const options: RequestOptions = { headers: {} };
    await config.applyToHTTPSOptions(options);
    ca = pemOf(options.ca);
    return {
      token: tokenIn(options),
      password: passwordIn(options),
      cert: pemOf(options.cert),
      key: pemOf(options.key),
    };
  };
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ca: () => ca,
    servername: cluster.tlsServerName,
    skipsVerification: cluster.skipTLSVerify === true,
    credentials: { get },
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    origin: "the KubeConfig that was passed in",
  };
}

function pemOf(pem: unknown): string | undefined {
  if (pem === undefined || pem === null) return undefined;
  return Buffer.isBuffer(pem) ? pem.toString("utf8") : typeof pem === "string" ? pem : undefined;
}

function tokenIn({ headers }: RequestOptions): string | undefined {
  const { Authorization, authorization = Authorization } = (headers ?? {}) as Readonly<Record<string, unknown>>;
  return typeof authorization === "string" ? /^Bearer (.+)$/.exec(authorization)?.[1] : undefined;
}

function passwordIn({ auth }: RequestOptions): ShownCredential["password"] {
  const [, name, word] = /^([^:]+):(.*)$/s.exec(auth ?? "") ?? [];
  return name === undefined || word === undefined ? undefined : { name, word };
}
