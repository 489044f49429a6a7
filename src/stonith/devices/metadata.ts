// What a fence-agent says of itself (`-o metadata`, XML), and what is wrong with the parameters that somebody has configured for it: all problems at once. Pure: the text is handed in.
//
// An agent ignores parameters that it does not know or cannot read, and goes on with its defaults. A mistyped `plug` is then no error, but names
// another machine. So everything that the agent would ignore is refused here.
import { isSecretSource } from "../secrets.ts";

export interface AgentParameter {
  readonly name: string;
  readonly isRequired: boolean;
  /** `string`, `integer`, `second`, `boolean`, `select`, as agents write it. */
  readonly type: string;
  readonly hasDefault: boolean;
  readonly options: readonly string[];
  /** The older name of the same parameter. */
  readonly replaces: string | undefined;
}

export interface AgentMetadata {
  readonly parameters: readonly AgentParameter[];
  readonly actions: readonly string[];
}

/** Undefined if it is not the metadata of an agent. */
export function parseMetadata(xml: string): AgentMetadata | undefined {
  if (!/<resource-agent\b/.test(xml)) return undefined;
  const parameters = [...xml.matchAll(/<parameter\b([^>]*)>([\s\S]*?)<\/parameter>/g)].map(
    ([, head = "", body = ""]) => {
      const content = /<content\b([^>]*?)\/?>/.exec(body)?.[1] ?? "";
      return {
        name: attribute(head, "name") ?? "",
        isRequired: attribute(head, "required") === "1",
        type: attribute(content, "type") ?? "string",
        hasDefault: attribute(content, "default") !== undefined,
        options: [...body.matchAll(/<option\b([^>]*)>/g)].map(([, option = ""]) => attribute(option, "value") ?? ""),
        replaces: attribute(head, "obsoletes"),
      };
    },
  );
  const actions = [...xml.matchAll(/<action\b([^>]*)>/g)].map(([, head = ""]) => attribute(head, "name") ?? "");
  return { parameters, actions };
}

function attribute(head: string, name: string): string | undefined {
  const text = new RegExp(`\\b${name}="([^"]*)"`).exec(head)?.[1];
  return text?.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** Parameters that we set ourselves, or that must not be set at all, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  action: "is said by conclave: status and off, never reboot",
  option: "is said by conclave: status and off, never reboot",
  method: "decides between off and a reboot: leave it out, conclave only ever says off",
  delay: "would shoot after the last look at the term: use delayMs of the configuration",
  missing_as_off: "would take a machine for off whose name is mistyped",
  verbose: "makes agents write passwords into logs",
  verbose_level: "makes agents write passwords into logs",
  debug: "makes agents write passwords into files",
  debug_file: "makes agents write passwords into files",
  help: "is no parameter of a device",
  version: "is no parameter of a device",
};
const SECRET = /passw|passphrase|secret|community|token|_key$|^key$|hexadecimal_kg/i;
const BOOLEAN = /^(?:0|1|yes|no|on|off|true|false)$/i;

/** Everything that is wrong with the parameters. `label` names the device in each message. */
export function problemsOfParameters(
  { parameters, actions }: AgentMetadata,
  given: Readonly<Record<string, unknown>>,
): readonly string[] {
  const known = new Map(parameters.map((each) => [each.name, each]));
  const problems: string[] = ["off", "status"].flatMap((action) =>
    actions.includes(action) ? [] : [`the agent has no action ${action}`],
  );
  for (const [name, value] of Object.entries(given)) {
    const parameter = known.get(name);
    const refusal = REFUSED[name];
    if (refusal !== undefined) problems.push(`${name} ${refusal}`);
    else if (parameter === undefined)
      problems.push(`the agent has no parameter ${name}${meant(name, [...known.keys()])}`);
    else problems.push(...problemsOfValue(parameter, value));
  }
  return [...problems, ...missing(parameters, given), ...severalMachines(parameters, given)];
}

function problemsOfValue({ name, type, options }: AgentParameter, value: unknown): readonly string[] {
  if (isSecretSource(value)) return [];
  if (!["string", "number", "boolean"].includes(typeof value))
    return [`${name}: a text, a number, true or false, or for a secret {"file": …} or {"env": …}`];
  const text = String(value);
  if (SECRET.test(name) && !name.endsWith("_script") && type !== "boolean")
    return [`${name} is a secret: {"file": "/etc/conclave/…"} or {"env": "NAME"}, never its value in this file`];
  if (/[\n\r\0]/.test(text)) return [`${name}: one line`];
  if (type === "boolean" && !BOOLEAN.test(text)) return [`${name}: true or false`];
  if (["integer", "second"].includes(type) && !/^\d+(?:\.\d+)?$/.test(text)) return [`${name}: a number`];
  if (type === "select" && options.length > 0 && !options.includes(text))
    return [`${name}: one of ${options.join(", ")}`];
  return [];
}

/** A parameter with an older name may be given under either name, but only under one of them. */
function missing(parameters: readonly AgentParameter[], given: Readonly<Record<string, unknown>>): readonly string[] {
  const has = (name: string | undefined): boolean => name !== undefined && Object.hasOwn(given, name);
  const newer = new Map(parameters.map(({ name, replaces }) => [replaces, name]));
  return parameters.flatMap(({ name, isRequired, hasDefault, replaces }) => {
    if (has(name) && has(replaces)) return [`${name} and ${replaces} are the same parameter: give one`];
    const isGiven = has(name) || has(replaces) || has(newer.get(name));
    const isOlder = newer.has(name);
    return isRequired && !hasDefault && !isGiven && !isOlder && REFUSED[name] === undefined
      ? [`${name} is missing`]
      : [];
  });
}

/** SAFETY: an agent takes a plug with a separator in it for several machines, and would power all of them off. */
function severalMachines(
  parameters: readonly AgentParameter[],
  given: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (!parameters.some(({ name }) => name === "plug_separator")) return [];
  const separator = typeof given["plug_separator"] === "string" ? given["plug_separator"] : ",";
  return ["plug", "port"].flatMap((name) => {
    const value = given[name];
    return typeof value === "string" && separator !== "" && value.includes(separator)
      ? [`${name} names several machines (${value}): one machine for each device`]
      : [];
  });
}

function meant(name: string, known: readonly string[]): string {
  const letters = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, "")
      .split("")
      .toSorted()
      .join("");
  const found = known.find((each) => letters(each) === letters(name));
  return found === undefined || REFUSED[found] !== undefined ? "" : `. Did you mean ${found}?`;
}
