// Reads kubeconfig files as kubectl does: clusters, users, contexts; of several files the first that has an entry counts. Settings that this client does not support (a proxy, an auth-provider,
// impersonation) are refused by name: if they were left out silently, we would act as another user, or as none.
import { readFileSync } from "node:fs";
import path from "node:path";
import { type ConclaveError, invalidConfig } from "../../base/errors.ts";
import { show } from "../../base/show.ts";
import type { Access, Credentials } from "./access.ts";
import { ExecCredentials } from "./exec-plugin.ts";
import { TokenFile } from "./token-file.ts";
import { parseYaml, type Yaml } from "./yaml.ts";

type Fields = { readonly [key: string]: Yaml };

interface Named {
  readonly fields: Fields;
  /** Relative paths in the file begin here. */
  readonly folder: string;
}

/** Throws `CONFIG_INVALID`. */
export function readKubeconfig(files: readonly string[], wished: string | undefined): Access {
  const origin = `kubeconfig ${files.join(", ")}`;
  const configs = files.map((file) => ({ fields: readFields(file), folder: path.dirname(path.resolve(file)) }));
  const name = wished ?? firstText(configs, "current-context");
  if (name === undefined) throw invalid(`${origin} has no current-context: add one, or name one: ?context=NAME`);
  const context = find(configs, "contexts", "context", name, origin);
  const cluster = find(configs, "clusters", "cluster", textOf(context, "cluster", `context ${show(name)}`), origin);
  const userName = optional(context, "user");
  const user = userName === undefined ? undefined : find(configs, "users", "user", userName, origin);
  refuseUnsupported(cluster, ["proxy-url"], `cluster of context ${show(name)}`);
  const server = textOf(cluster, "server", "the cluster").replace(/\/+$/, "");
  if (!/^https?:\/\/[^\s/]/i.test(server))
    throw invalid(`the server ${show(server)} of ${origin} is no URL of http or https`);
  return {
    server,
    ca: () => pem(cluster, "certificate-authority"),
    servername: optional(cluster, "tls-server-name"),
    skipsVerification: optional(cluster, "insecure-skip-tls-verify") === "true",
    credentials: credentialsOf(user, cluster),
    namespace: optional(context, "namespace"),
    origin,
  };
}

function readFields(file: string): Fields {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw invalid(`the kubeconfig cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  try {
    const value = parseYaml(text);
    return isFields(value) ? value : {};
  } catch (cause) {
    throw invalid(
      `the kubeconfig ${file} is written in a way that is not understood here (${cause instanceof Error ? cause.message : String(cause)}). kubectl config view --raw --flatten writes it anew`,
      cause,
    );
  }
}

function isFields(value: Yaml): value is Fields {
  return typeof value === "object" && !Array.isArray(value);
}

function firstText(configs: readonly Named[], key: string): string | undefined {
  return configs.map((each) => optional(each, key)).find((text) => text !== undefined);
}

/** One entry of a list of named things. */
function find(configs: readonly Named[], list: string, kind: string, name: string, origin: string): Named {
  for (const { fields, folder } of configs) {
    const entries = fields[list];
    const found = Array.isArray(entries)
      ? (entries as readonly Yaml[]).filter(isFields).find((each) => each["name"] === name)
      : undefined;
    if (found === undefined) continue;
    const inner = found[kind];
    return { fields: inner !== undefined && isFields(inner) ? inner : {}, folder };
  }
  throw invalid(`${origin} names the ${kind} ${show(name)}, and has none of that name`);
}

function optional({ fields }: { readonly fields: Fields }, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textOf(named: Named, key: string, what: string): string {
  const text = optional(named, key);
  if (text === undefined) throw invalid(`${what} has no ${key}`);
  return text;
}

/** `NAME-data` in base64, or `NAME` as a path. The data takes precedence, as for kubectl. */
function pem(named: Named, key: string): string | undefined {
  const data = optional(named, `${key}-data`);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = optional(named, key);
  if (file === undefined) return undefined;
  try {
    return readFileSync(path.resolve(named.folder, file), "utf8");
  } catch (cause) {
    throw invalid(`${key} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

function credentialsOf(user: Named | undefined, cluster: Named): Credentials {
  if (user === undefined) return { get: () => ({}) };
  refuseUnsupported(user, ["auth-provider", "as", "as-uid", "as-groups", "as-user-extra"], "the user");
  const exec = user.fields["exec"];
  if (exec !== undefined && isFields(exec)) return execOf(exec, cluster, user.folder);
  const file = optional(user, "tokenFile");
  const [name, word] = [optional(user, "username"), optional(user, "password")];
  const password = name === undefined || word === undefined ? undefined : { name, word };
  const token = optional(user, "token");
  const fromFile = file === undefined ? undefined : new TokenFile(path.resolve(user.folder, file));
  return {
    get: () => ({
      token: fromFile === undefined ? token : fromFile.get().token,
      password,
      cert: pem(user, "client-certificate"),
      key: pem(user, "client-key"),
    }),
  };
}

function execOf(exec: Fields, cluster: Named, folder: string): Credentials {
  const named = { fields: exec, folder };
  const list = (value: Yaml): readonly Yaml[] => (Array.isArray(value) ? (value as readonly Yaml[]) : []);
  const env = list(exec["env"]).filter(isFields);
  return new ExecCredentials({
    apiVersion: textOf(named, "apiVersion", "the user's exec"),
    command: textOf(named, "command", "the user's exec"),
    args: list(exec["args"]).map((each) => (typeof each === "string" ? each : "")),
    env: Object.fromEntries(
      env.map((each) => [optional({ fields: each }, "name") ?? "", optional({ fields: each }, "value") ?? ""]),
    ),
    installHint: optional(named, "installHint"),
    cluster: optional(named, "provideClusterInfo") === "true" ? describe(cluster) : undefined,
    folder,
  });
}

/** The cluster as client-go describes it to a plugin: a certificate authority in a file is passed on as data. */
function describe(cluster: Named): object {
  const ca = pem(cluster, "certificate-authority");
  return {
    server: optional(cluster, "server"),
    "certificate-authority-data": ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
    "tls-server-name": optional(cluster, "tls-server-name"),
    ...(optional(cluster, "insecure-skip-tls-verify") === "true" ? { "insecure-skip-tls-verify": true } : {}),
  };
}

function refuseUnsupported(named: Named, keys: readonly string[], what: string): void {
  const found = keys.filter((key) => named.fields[key] !== undefined);
  if (found.length > 0)
    throw invalid(
      `${what} has ${found.join(", ")} in its kubeconfig, which conclave cannot do. Use a context without it`,
    );
}

function invalid(problem: string, cause?: unknown): ConclaveError {
  return invalidConfig("kubernetes", [problem], cause);
}
