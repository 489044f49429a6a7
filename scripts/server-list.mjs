// @ts-check
// Which servers can be started here, and for which word. A store's server is the one that the record of its driver names (src/drivers), so a new store is listed when it has a record. The record is read from
// the source as it is; no build is needed.
import { loadTypeScript } from "./load-typescript.mjs";

/** @typedef {{ packages: string[], newer?: import("./test-newer.mjs").Newer, start(options?: { nodes?: number, folder?: string }): Promise<import("./servers/process.mjs").Servers> }} Server */

/** Servers that are no store's: a simulated BMC, and a pooler in front of PostgreSQL. */
const BESIDE = ["ipmi", "pgbouncer"];

/** @type {Promise<Pick<typeof import("../src/drivers/registry.ts"), "DRIVERS" | "PLANNED">> | undefined} */
let records;

function readRecords() {
  records ??= loadTypeScript("src/drivers/registry.ts");
  return records;
}

/** All servers by their names, in alphabetical order. @returns {Promise<Map<string, Server>>} */
export async function readServers() {
  const { DRIVERS } = await readRecords();
  const names = DRIVERS.flatMap(({ server }) => server ?? []);
  const files = [...new Set([...names, ...BESIDE])].toSorted();
  return new Map(await Promise.all(files.map(async (name) => /** @type {const} */ ([name, await readServer(name)]))));
}

/** @param {string} name @returns {Promise<Server>} */
async function readServer(name) {
  const module = await import(`./servers/${name}.mjs`);
  if (typeof module.start !== "function" || !Array.isArray(module.packages))
    throw new Error(`scripts/servers/${name}.mjs is to export start and packages`);
  return module;
}

/** The name of the server for a word that somebody has typed: the server's own, a store's, or the scheme of a URL. Throws what is wrong with any other. @param {string} word */
export async function serverNamed(word) {
  const { DRIVERS, PLANNED } = await readRecords();
  const driver = DRIVERS.find(({ name, schemes }) => name === word || schemes.includes(word));
  if (driver?.server !== undefined) return driver.server;
  if (BESIDE.includes(word)) return word;
  if (driver !== undefined) throw new Error(`${driver.name} needs no server`);
  if (PLANNED.has(word)) throw new Error(`there is no driver for ${word} yet, and so no server`);
  const names = [...(await readServers()).keys()];
  throw new Error(`which one? ${names.join(", ")}, or check or newer`);
}
