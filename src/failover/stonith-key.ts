// The keys `guards` and `stonith` of a failover's configuration: which machine each server and each monitor runs on, and which file describes the devices (docs/STONITH-DEVICES.md explains that file).

/** The value of the key `stonith`. */
export interface StonithKey {
  /** The file of the devices, the same as for `conclave stonith`. A relative path begins at the folder of this configuration. */
  readonly config: string;
  /** For the name of each server: the machine that it runs on, one of `nodes` of that file. */
  readonly servers: Readonly<Record<string, string>>;
  /** For the name of each monitor: the machine that it runs on, or null if it runs on none of that file. */
  readonly monitors: Readonly<Record<string, string | null>>;
  /** No server is replaced without a verified device, even where guards hold the seat. */
  readonly required?: boolean | undefined;
}

const KNOWN = ["config", "servers", "monitors", "required"];

/** Says what is wrong with the two keys, without reading the file of the devices. */
export function problemsOfStonith(
  { guards, stonith, kind }: Readonly<Record<string, unknown>>,
  monitors: readonly string[],
  servers: readonly string[],
): readonly string[] {
  const ofGuards = [
    ...(guards === undefined || typeof guards === "boolean" ? [] : ["guards: true or false"]),
    // The data folder of the server says that it is a primary, and a boot would start it as one.
    ...(guards === false && kind === "postgres"
      ? ["guards: PostgreSQL needs them: without one a server that comes back starts as a primary"]
      : []),
  ];
  if (stonith === undefined) return ofGuards;
  if (!isFields(stonith))
    return [
      ...ofGuards,
      `stonith: an object: {"config": "stonith.json", "servers": {"a": "db-1", …}, "monitors": {"m1": "db-1", …}}`,
    ];
  const { config, required } = stonith;
  const strange = Object.keys(stonith).filter((key) => !KNOWN.includes(key));
  return [
    ...ofGuards,
    ...strange.map((key) => `stonith: there is no setting ${key}`),
    ...(typeof config === "string" && config !== "" ? [] : ["stonith.config: the file of the devices"]),
    ...(required === undefined || typeof required === "boolean" ? [] : ["stonith.required: true or false"]),
    ...problemsOfPlaces("servers", "server", stonith["servers"], servers, false),
    ...problemsOfPlaces("monitors", "monitor", stonith["monitors"], monitors, true),
  ];
}

/** Every server and monitor must be named: a monitor that does not know its own machine would power it off. */
function problemsOfPlaces(
  key: string,
  what: string,
  places: unknown,
  names: readonly string[],
  mayBeNull: boolean,
): readonly string[] {
  const found = isFields(places) ? places : {};
  const isPlace = (place: unknown): boolean =>
    (typeof place === "string" && place !== "") || (mayBeNull && place === null);
  return [
    ...names
      .filter((name) => !isPlace(found[name]))
      .map(
        (name) =>
          `stonith.${key}.${name}: the machine of this ${what}, by its name in the file of the devices${mayBeNull ? "; null if it is none of them" : ""}`,
      ),
    ...Object.keys(found)
      .filter((name) => !names.includes(name))
      .map((name) => `stonith.${key}.${name}: there is no such ${what}`),
  ];
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
