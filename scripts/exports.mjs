// @ts-check
// What package.json promises, and how each promise is spelled (docs/adr/0026-commonjs.md). `node scripts/exports.mjs` writes every subpath of "exports"
// in full, from whatever form it has, and the lists that follow from them; `npm run fix` does so too. test/tidy.test.ts compares.
// A new public module needs one line in package.json: "./health": "./dist/health/index.js".
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../package.json", import.meta.url));

/** @typedef {string | { readonly [condition: string]: Target }} Target */
/** @typedef {{ exports: Record<string, Target>, bin: Record<string, string>, peerDependencies: Record<string, string>, main?: string, types?: string, typesVersions?: unknown }} Manifest */
/** A public module: `conclave/stores/memory`, built from `src/stores/memory.ts` into `dist/stores/memory.js` and `dist/cjs/stores/memory.cjs`.
 * @typedef {{ subpath: string, name: string, entry: string, source: string }} PublicModule */

/** @returns {Manifest} */
export function readManifest() {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** @param {Manifest} [manifest] @returns {PublicModule[]} */
export function publicModules(manifest = readManifest()) {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const entry = entryOf(target);
    return entry === undefined
      ? []
      : [{ subpath, name: `conclave${subpath.slice(1)}`, entry, source: `src/${entry}.ts` }];
  });
}

/** `stores/memory` of any target that leads to `./dist/stores/memory.js`; undefined for other files. @param {Target} target @returns {string | undefined} */
function entryOf(target) {
  if (typeof target === "string") return /^\.\/dist\/(?!cjs\/)(.+)\.js$/.exec(target)?.[1];
  return Object.values(target).map(entryOf).find(Boolean);
}

/** The order is a promise too, since the first condition that holds is taken. `import` first; within `require`, Node takes "module-sync" and bundlers
 * take "module", so that both get the one ES module, and what knows neither, such as Jest, gets the CommonJS build. @param {string} entry */
export function conditionsOf(entry) {
  const esm = `./dist/${entry}.js`;
  const cjs = `./dist/cjs/${entry}`;
  return {
    import: { types: `./dist/${entry}.d.ts`, default: esm },
    require: { types: `${cjs}.d.cts`, "module-sync": esm, module: esm, default: `${cjs}.cjs` },
  };
}

/** The manifest with everything about modules written in full. @param {Manifest} manifest @returns {Manifest} */
export function completed(manifest) {
  const modules = publicModules(manifest);
  const entries = new Map(modules.map(({ subpath, entry }) => [subpath, conditionsOf(entry)]));
  const subpaths = modules.filter(({ subpath }) => subpath !== ".");
  return {
    ...manifest,
    main: "./dist/cjs/index.cjs",
    types: "./dist/cjs/index.d.cts",
    typesVersions: {
      "*": Object.fromEntries(subpaths.map(({ subpath, entry }) => [subpath.slice(2), [`./dist/cjs/${entry}.d.cts`]])),
    },
    exports: Object.fromEntries(
      Object.entries(manifest.exports).map(([subpath, target]) => [subpath, entries.get(subpath) ?? target]),
    ),
  };
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  writeFileSync(file, `${JSON.stringify(completed(readManifest()), null, 2)}\n`);
