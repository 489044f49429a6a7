// @ts-check
// What kubectl asks an API server for beside Leases: which kinds there are (discovery), and Leases as a table, with the columns that a real server prints.

const GROUP = "coordination.k8s.io";
const VERSION = { groupVersion: `${GROUP}/v1`, version: "v1" };

/** @typedef {{ metadata: { name: string, creationTimestamp?: string }, spec: { holderIdentity?: string } }} Lease */

/** The answer to a question of discovery; undefined: it is none. @param {string} pathname @returns {object | undefined} */
export function discovered(pathname) {
  switch (pathname) {
    case "/api":
      return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
    case "/apis":
      return { kind: "APIGroupList", apiVersion: "v1", groups: [group()] };
    case `/apis/${GROUP}`:
      return { kind: "APIGroup", apiVersion: "v1", ...group() };
    case "/api/v1":
      return resources("v1", [resource("namespaces", "namespace", "Namespace", false, ["get"])]);
    case `/apis/${GROUP}/v1`:
      return resources(VERSION.groupVersion, [
        resource("leases", "lease", "Lease", true, ["create", "delete", "get", "list", "update", "watch"]),
      ]);
    default:
      return undefined;
  }
}

function group() {
  return { name: GROUP, versions: [VERSION], preferredVersion: VERSION };
}

/** @param {string} groupVersion @param {readonly object[]} list */
function resources(groupVersion, list) {
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: list };
}

/** @param {string} name @param {string} singularName @param {string} kind @param {boolean} namespaced @param {readonly string[]} verbs */
function resource(name, singularName, kind, namespaced, verbs) {
  return { name, singularName, namespaced, kind, verbs };
}

/** Whether a table is preferred to the objects themselves. @param {string | undefined} accept */
export function wantsTable(accept) {
  return /^[^,]*;as=Table;v=v1;g=meta\.k8s\.io/.test(accept ?? "");
}

/** @param {readonly Lease[]} leases @param {string} resourceVersion */
export function tableOf(leases, resourceVersion) {
  const column = (/** @type {string} */ name, format = "") => ({
    name,
    type: "string",
    format,
    description: "",
    priority: 0,
  });
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion },
    columnDefinitions: [column("Name", "name"), column("Holder"), column("Age")],
    rows: leases.map(({ metadata, spec }) => ({
      cells: [metadata.name, spec.holderIdentity ?? "", ageOf(metadata.creationTimestamp)],
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata },
    })),
  };
}

/** @param {string | undefined} since */
function ageOf(since) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(since ?? "")) / 1000));
  if (Number.isNaN(seconds)) return "<unknown>";
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}
