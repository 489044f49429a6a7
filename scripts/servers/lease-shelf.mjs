// @ts-check
// What the Kubernetes API server keeps of Leases and namespaces, with its rules for writing them: one number for all writes (`resourceVersion`), a `uid` for each object
// that is made, and answers that say what was wrong. Everything is in one file, a line for each write, so that a server that was killed goes on where it was.
//
// Rules taken from the API server: a PUT must name the version that stands (409), and never writes without one (422). A PUT of a Lease that is not there makes it (201), unless
// it names a uid: then it is refused (409). Times of a spec have six digits behind the point. Annotations have 256 KiB together. Whether a real one has the same rules is tried by
// test/stores/kubernetes/server.test.ts, which runs on both.
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

/**
 * @typedef {{ name: string, namespace?: string, uid: string, resourceVersion: string, creationTimestamp: string, labels?: Record<string, string>, annotations?: Record<string, string>, managedFields?: readonly Writer[] | undefined }} Metadata
 * @typedef {{ manager: string, operation: string, apiVersion: string, fieldsType: string, fieldsV1: object }} Writer
 * @typedef {{ kind: string, apiVersion: string, metadata: Metadata, spec: Record<string, unknown> }} Lease
 * @typedef {{ type: "ADDED" | "MODIFIED" | "DELETED", object: Lease }} Change
 * @typedef {Record<string, unknown>} Fields
 */

const SPEC = [
  "holderIdentity",
  "leaseDurationSeconds",
  "acquireTime",
  "renewTime",
  "leaseTransitions",
  "strategy",
  "preferredHolder",
];
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const META_KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const ANNOTATION_BYTES = 256 * 1024;

/** An answer that is no success, as the API server words it. */
export class StatusError extends Error {
  /** @param {number} code @param {string | undefined} reason an error that nobody has foreseen has none @param {string} message */
  constructor(code, reason, message) {
    super(message);
    this.code = code;
    this.reason = reason;
  }

  get status() {
    const { code, reason, message } = this;
    return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  }
}

/** @param {string} name */
const notFound = (name) => new StatusError(404, "NotFound", `leases.coordination.k8s.io "${name}" not found`);
/** @param {string} name @param {string} why */
const conflict = (name, why) =>
  new StatusError(409, "Conflict", `Operation cannot be fulfilled on leases.coordination.k8s.io "${name}": ${why}`);
/** @param {string} name @param {string} why */
const invalid = (name, why) =>
  new StatusError(422, "Invalid", `Lease.coordination.k8s.io "${name}" is invalid: ${why}`);

export class LeaseShelf {
  /** @type {Map<string, Lease>} */ #leases = new Map();
  /** @type {Map<string, string>} */ #namespaces = new Map();
  #version = 1000;
  /** @type {Change[]} */ #history = [];
  /** The version from which on changes are remembered. */
  #since;
  #file;
  /** @type {Set<(change: Change) => void>} */ #ears = new Set();

  /** @param {string} file @param {readonly string[]} namespaces that are there; each is made once */
  constructor(file, namespaces) {
    this.#file = file;
    if (existsSync(file))
      for (const line of readFileSync(file, "utf8").split("\n")) if (line !== "") this.#replay(JSON.parse(line));
    for (const namespace of namespaces.filter((name) => !this.#namespaces.has(name))) this.#makeNamespace(namespace);
    this.#since = this.#version;
  }

  get version() {
    return this.#version;
  }

  /** @param {string} name */
  #makeNamespace(name) {
    const uid = randomUUID();
    this.#namespaces.set(name, uid);
    appendFileSync(this.#file, `${JSON.stringify({ namespace: name, uid })}\n`);
  }

  /** @param {string} name */
  namespace(name) {
    const uid = this.#namespaces.get(name);
    if (uid === undefined) throw new StatusError(404, "NotFound", `namespaces "${name}" not found`);
    return {
      kind: "Namespace",
      apiVersion: "v1",
      metadata: { name, uid, resourceVersion: "5", creationTimestamp: "2026-01-01T00:00:00Z" },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    };
  }

  /** @param {string} namespace @param {string} name */
  get(namespace, name) {
    const lease = this.#leases.get(`${namespace}/${name}`);
    if (lease === undefined) throw notFound(name);
    return lease;
  }

  /** @param {string} namespace @param {string} name */
  has(namespace, name) {
    return this.#leases.has(`${namespace}/${name}`);
  }

  /** @param {string} namespace */
  list(namespace) {
    return [...this.#leases.values()].filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** @param {string} namespace @param {Fields} body @param {string} manager who writes it */
  create(namespace, body, manager) {
    const asked = /** @type {Fields} */ (body["metadata"] ?? {});
    const name = textOf(asked["name"]);
    this.#mustBeIn(namespace, asked);
    if (name === "") throw invalid(name, "metadata.name: Required value: name or generateName is required");
    if (asked["resourceVersion"] !== undefined && asked["resourceVersion"] !== "")
      throw new StatusError(500, undefined, "resourceVersion should not be set on objects to be created");
    if (this.#leases.has(`${namespace}/${name}`))
      throw new StatusError(409, "AlreadyExists", `leases.coordination.k8s.io "${name}" already exists`);
    return this.#made(namespace, name, body, manager);
  }

  /** @param {string} namespace @param {string} name @param {Fields} body @param {string} manager */
  update(namespace, name, body, manager) {
    const asked = /** @type {Fields} */ (body["metadata"] ?? {});
    this.#mustBeIn(namespace, asked);
    if (asked["name"] === undefined || asked["name"] === "")
      throw new StatusError(
        400,
        "BadRequest",
        `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
      );
    if (asked["name"] !== name)
      throw new StatusError(
        400,
        "BadRequest",
        `the name of the object (${textOf(asked["name"])}) does not match the name on the URL (${name})`,
      );
    const stands = this.#leases.get(`${namespace}/${name}`);
    const uid = asked["uid"];
    if (uid !== undefined && uid !== stands?.metadata.uid)
      throw conflict(
        name,
        `Precondition failed: UID in precondition: ${textOf(uid)}, UID in object meta: ${stands?.metadata.uid ?? ""}`,
      );
    const version = asked["resourceVersion"];
    if (version !== undefined && !/^\d*$/.test(textOf(version)))
      throw new StatusError(500, undefined, `strconv.ParseUint: parsing "${textOf(version)}": invalid syntax`);
    if (stands === undefined) return this.#made(namespace, name, body, manager);
    if (version === undefined || version === "" || version === "0")
      throw invalid(name, "metadata.resourceVersion: Invalid value: 0: must be specified for an update");
    if (version !== stands.metadata.resourceVersion)
      throw conflict(
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
      );
    const managedFields = writersOf(stands.metadata, asked["managedFields"], manager);
    const next = this.#object(namespace, name, body, { ...stands.metadata, managedFields });
    if (isSame(next, stands)) return stands; // as the API server does: nothing is written, and the version stays
    return this.#write("MODIFIED", next);
  }

  /** @param {string} namespace @param {string} name @param {Fields} [options] */
  delete(namespace, name, options = {}) {
    const stands = this.get(namespace, name);
    const asked = /** @type {Fields} */ (options["preconditions"] ?? {});
    for (const field of /** @type {const} */ (["uid", "resourceVersion"]))
      if (asked[field] !== undefined && asked[field] !== stands.metadata[field])
        throw conflict(name, `the ${field} in the precondition does not match`);
    return this.#write("DELETED", stands);
  }

  /** Changes after `version`; throws 410 if they are forgotten. @param {number} version */
  since(version) {
    if (version < this.#since)
      throw new StatusError(410, "Expired", `too old resource version: ${version} (${this.#since})`);
    return this.#history.filter(({ object }) => Number(object.metadata.resourceVersion) > version);
  }

  /** As compaction does. */
  forget() {
    this.#history = [];
    this.#since = this.#version;
  }

  /** @param {(change: Change) => void} ear @returns {() => void} */
  listen(ear) {
    this.#ears.add(ear);
    return () => void this.#ears.delete(ear);
  }

  /** Nothing is written into a namespace that is not there, nor into another than the path says. @param {string} namespace @param {Fields} metadata */
  #mustBeIn(namespace, metadata) {
    const said = metadata["namespace"];
    if (said !== undefined && said !== "" && said !== namespace)
      throw new StatusError(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
      );
    this.namespace(namespace);
  }

  /** @param {string} namespace @param {string} name @param {Fields} body @param {string} manager */
  #made(namespace, name, body, manager) {
    const creationTimestamp = `${new Date().toISOString().slice(0, 19)}Z`;
    const made = { name, uid: randomUUID(), resourceVersion: "", creationTimestamp };
    const lease = this.#object(namespace, name, body, made);
    const { labels, annotations } = lease.metadata;
    // Nobody is noted on a Lease with no field.
    if (labels !== undefined || annotations !== undefined || Object.keys(lease.spec).length > 0)
      lease.metadata.managedFields = [writer(manager)];
    return this.#write("ADDED", lease);
  }

  /** @param {string} namespace @param {string} name @param {Fields} body @param {Metadata} own @returns {Lease} */
  #object(namespace, name, body, { uid, resourceVersion, creationTimestamp, managedFields }) {
    const asked = /** @type {Fields} */ (body["metadata"] ?? {});
    const labels = textsOf(asked["labels"]);
    const annotations = textsOf(asked["annotations"]);
    checkName(name);
    checkTexts(name, labels, annotations);
    return {
      kind: "Lease",
      apiVersion: "coordination.k8s.io/v1",
      metadata: {
        name,
        namespace,
        uid,
        resourceVersion,
        creationTimestamp,
        ...(labels === undefined ? {} : { labels }),
        ...(annotations === undefined ? {} : { annotations }),
        ...(managedFields === undefined ? {} : { managedFields }),
      },
      spec: specOf(name, /** @type {Fields} */ (body["spec"] ?? {})),
    };
  }

  /** @param {Change["type"]} type @param {Lease} lease */
  #write(type, lease) {
    const resourceVersion = `${++this.#version}`;
    const change = { type, object: { ...lease, metadata: { ...lease.metadata, resourceVersion } } };
    appendFileSync(this.#file, `${JSON.stringify(change)}\n`);
    this.#apply(change);
    this.#history.push(change);
    if (this.#history.length > 10_000) this.#since = Number(this.#history.shift()?.object.metadata.resourceVersion);
    for (const ear of this.#ears) ear(change);
    return change.object;
  }

  /** @param {Change & { namespace?: string, uid?: string }} line */
  #replay(line) {
    if (line.namespace !== undefined) this.#namespaces.set(line.namespace, line.uid ?? "");
    else this.#apply(line);
  }

  /** @param {Change} change */
  #apply({ type, object }) {
    const { namespace, name, resourceVersion } = object.metadata;
    if (type === "DELETED") this.#leases.delete(`${namespace}/${name}`);
    else this.#leases.set(`${namespace}/${name}`, object);
    this.#version = Math.max(this.#version, Number(resourceVersion));
  }
}

/** @param {Lease} a @param {Lease} b */
function isSame(a, b) {
  const { labels, annotations, managedFields } = a.metadata;
  const { metadata, spec } = b;
  return isDeepStrictEqual(
    [labels, annotations, managedFields, a.spec],
    [metadata.labels, metadata.annotations, metadata.managedFields, spec],
  );
}

/** A note of the API server of who has written which fields. Which they are is left out here. @param {string} manager @returns {Writer} */
function writer(manager) {
  const apiVersion = "coordination.k8s.io/v1";
  return { manager, operation: "Update", apiVersion, fieldsType: "FieldsV1", fieldsV1: {} };
}

/**
 * The notes after an update. One whose list has one empty entry takes them away, and then none are made any more.
 * @param {Metadata} stands @param {unknown} asked @param {string} manager
 */
function writersOf({ managedFields: noted = [] }, asked, manager) {
  if (noted.length === 0 || isDeepStrictEqual(asked, [{}])) return undefined;
  return noted.some((each) => each.manager === manager) ? noted : [...noted, writer(manager)];
}

/** @param {unknown} value */
function textOf(value) {
  return typeof value === "string" ? value : "";
}

/** @param {string} name */
function checkName(name) {
  if (name.length > 253 || !SUBDOMAIN.test(name))
    throw invalid(
      name,
      `metadata.name: Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'`,
    );
}

/** @param {unknown} texts @returns {Record<string, string> | undefined} */
function textsOf(texts) {
  if (texts === undefined || texts === null) return undefined;
  const entries = Object.entries(/** @type {Fields} */ (texts));
  if (entries.some(([, value]) => typeof value !== "string"))
    throw new StatusError(400, "BadRequest", "json: cannot unmarshal into Go struct field ObjectMeta of type string");
  return entries.length === 0 ? undefined : /** @type {Record<string, string>} */ (Object.fromEntries(entries));
}

/** @param {string} name @param {Record<string, string>} [labels] @param {Record<string, string>} [annotations] */
function checkTexts(name, labels = {}, annotations = {}) {
  for (const [key, value] of Object.entries(labels))
    if (!META_KEY.test(key) || !LABEL_VALUE.test(value))
      throw invalid(name, `metadata.labels: Invalid value: "${key}=${value}"`);
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    if (!META_KEY.test(key.toLowerCase())) throw invalid(name, `metadata.annotations: Invalid value: "${key}"`);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > ANNOTATION_BYTES)
    throw invalid(name, `metadata.annotations: Too long: may not be more than ${ANNOTATION_BYTES} bytes`);
}

/** @param {unknown} value */
function isInt32(value) {
  return Number.isInteger(value) && Math.abs(/** @type {number} */ (value)) < 2 ** 31;
}

/** @param {string} name @param {Fields} spec */
function specOf(name, spec) {
  for (const field of ["acquireTime", "renewTime"])
    if (spec[field] !== undefined && spec[field] !== null && !MICRO_TIME.test(textOf(spec[field])))
      throw new StatusError(
        400,
        "BadRequest",
        `parsing time "${textOf(spec[field])}" as "2006-01-02T15:04:05.000000Z07:00"`,
      );
  const [duration, transitions] = [spec["leaseDurationSeconds"], spec["leaseTransitions"]];
  for (const number of [duration, transitions])
    if (number !== undefined && number !== null && !isInt32(number))
      throw new StatusError(400, "BadRequest", "json: cannot unmarshal into Go struct field LeaseSpec of type int32");
  if (typeof duration === "number" && duration <= 0)
    throw invalid(name, "spec.leaseDurationSeconds: Invalid value: must be greater than 0");
  if (typeof transitions === "number" && transitions < 0)
    throw invalid(name, "spec.leaseTransitions: Invalid value: must be greater than or equal to 0");
  if (spec["preferredHolder"] && !spec["strategy"])
    throw invalid(name, "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined");
  return Object.fromEntries(
    SPEC.flatMap((field) => (spec[field] === undefined || spec[field] === null ? [] : [[field, spec[field]]])),
  );
}
