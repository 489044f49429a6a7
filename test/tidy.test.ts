// The repository, checked as a whole: who imports whom, and whether files, exports and docs agree. What each file of src has to be is in sources.test.ts.
// Reads only.
// Every rule reports all its findings at once, each as `file:line: what is wrong and what to do`.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { publicModules, readManifest } from "../scripts/exports.mjs";
import {
  at,
  files,
  findImports,
  lineOf,
  namedImports,
  NOT_A_DRIVER,
  offeredBy,
  parse,
  read,
  root,
  sources,
} from "./support/repository.ts";

/** Who may import whom: a folder, or a module without its `.ts`. A folder may always import itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "src/base": [],
  "src/lease": ["src/base"],
  "src/protocols": ["src/base"],
  "src/simulator": [
    "src/base",
    "src/lease",
    "src/protocols",
    "src/fencing/rule",
    "src/failover/choice",
    "src/failover/detector",
    "src/failover/guard-machine",
    "src/failover/machine",
    "src/failover/orders",
    "src/failover/record",
    "src/failover/shots",
    "src/failover/strays",
    "src/failover/state",
    "src/failover/yielding",
    "src/partitions/assign",
    "src/partitions/chunk",
    "src/partitions/controller",
    "src/partitions/layout",
    "src/partitions/member",
    "src/partitions/revision",
    "src/schedule/machine",
    "src/schedule/mark",
    "src/schedule/slots",
    "src/stonith/limits",
    "src/stonith/machine",
    "src/stonith/orders",
    "src/stonith/record",
    "src/stonith/steps",
    "src/stonith/state",
  ],
  "src/fencing": ["src/base", "src/clients", "src/election/clock"],
  "src/clients": ["src/base"],
  "src/stores": ["src/base", "src/lease", "src/clients", "src/simulator/models"],
  "src/drivers": ["src/base", "src/clients", "src/fencing", "src/stores"],
  "src/election": [
    "src/base",
    "src/lease",
    "src/fencing",
    "src/stores/contract",
    "src/stores/call",
    "src/stores/host-clock",
    "src/stores/mailbox",
    "src/drivers/open-store",
    "src/telemetry/log",
    "src/keeper",
  ],
  "src/failover": [
    "src/base",
    "src/clients/postgres",
    "src/clients/redis",
    "src/election",
    "src/keeper",
    "src/lease/events",
    "src/stonith/config",
    "src/stonith/limits",
    "src/stonith/record",
    "src/stonith/shooter",
    "src/stonith/state",
    "src/stores/contract",
    "src/supervisor",
    "src/telemetry",
  ],
  "src/keeper": ["src/base", "src/lease/exchange", "src/stores/contract", "src/drivers/open-store"],
  "src/transport": ["src/base"],
  "src/schedule": [
    "src/base",
    "src/clients/load-peer",
    "src/election",
    "src/lease/events",
    "src/stores/contract",
    "src/stores/memos",
  ],
  "src/partitions": [
    "src/base",
    "src/election",
    "src/fencing/token",
    "src/lease/state",
    "src/protocols/rendezvous",
    "src/stores/contract",
    "src/stores/memos",
  ],
  "src/stonith": [
    "src/base",
    "src/election",
    "src/fencing/token",
    "src/keeper",
    "src/lease/events",
    "src/stores/contract",
    "src/supervisor",
  ],
  "src/supervisor": [
    "src/base",
    "src/election",
    "src/keeper",
    "src/fencing/token",
    "src/lease/events",
    "src/schedule",
    "src/stores/contract",
    "src/drivers/open-store",
  ],
  "src/cluster": ["src/base", "src/protocols", "src/transport"],
  "src/health": ["src/base", "src/lease/events"],
  "src/fastify": ["src/election", "src/stores/contract", "src/drivers/open-store"],
  "src/nestjs": ["src/election", "src/schedule", "src/stores/contract", "src/drivers/open-store"],
  "src/telemetry": ["src/base", "src/lease/events", "src/lease/exchange"],
  "src/testing": ["src/base", "src/lease", "src/fencing", "src/stores", "src/election", "src/simulator/models"],
  "src/cli": [
    "src/index",
    "src/testing/index",
    "src/fencing/index",
    "src/drivers",
    "src/stores",
    "src/base/outcome", // how a request without an answer is told
    "src/base/url",
    "src/simulator/index",
    "src/protocols/index",
    "src/supervisor/index",
    "src/failover/index",
    "src/stonith/index",
    "src/partitions",
    "src/schedule",
    "src/telemetry/index",
  ],
  "src/index": [
    "src/election",
    "src/stores/contract",
    "src/drivers/open-store",
    "src/base",
    "src/lease",
    "src/fencing",
  ],
};

/** Those who may look inside a driver, besides the drivers: the fakes are the store in memory, with a clock that is set by hand. */
const MAY_LOOK_INSIDE: Readonly<Record<string, string>> = { "src/testing": "src/stores/memory" };

/** Modules that are of use only to those who have a package, and so may import it. It is an optional peer. */
const GLUE: Readonly<Record<string, readonly string[]>> = {
  "src/fastify": ["fastify"],
  "src/nestjs": ["@nestjs/common", "@nestjs/core"],
  "src/telemetry/opentelemetry": ["@opentelemetry/api"],
  "src/telemetry/prom-client": ["prom-client"],
};

/** Folders of test that are about no single folder of src. */
const TEST_FOLDERS = ["defences", "incidents", "mutants", "projects", "soak", "support", "types"];

/** Tests of the repository as a whole. */
const WHOLE_TESTS = [
  "docs",
  "examples",
  "examples-on-servers",
  "imports",
  "package",
  "patches",
  "sources",
  "tarball",
  "tidy",
  "wrong-arguments",
];

/** What no file may hold. Written with [brackets], so that this file does not hold it either. */
const UNWANTED: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a path of one machine; write a relative one", /(?<![\w.-])[/](?:work|farm)[/]/g],
  [
    "a registry host; npm knows its own",
    /registry[.](?:npmjs|yarnpkg|npmmirror)[.]|npm[.]pkg[.]github[.]|"resolved": "[h]ttp/g,
  ],
  ["an unfinished thought; finish it", /\b(?:TO[D]O|FIX[M]E)\b/g],
];
const UNWANTED_IN_TESTS: typeof UNWANTED = [
  ["a test left out or singled out", /\b(?:it|test|describe|suite)[.](?:only|skip|todo)\b/g],
];

/** `src/lease/deadline.ts` → `src/lease`; `src/index.ts` → `src/index`. */
const folderOf = (file: string): string => file.split("/").slice(0, 2).join("/").replace(/\.ts$/, "");

const isWithin = (file: string, place: string): boolean => file === `${place}.ts` || file.startsWith(`${place}/`);

function isGlue(file: string, specifier: string): boolean {
  return (
    readManifest().peerDependencies[specifier] !== undefined &&
    Object.entries(GLUE).some(([place, packages]) => isWithin(file, place) && packages.includes(specifier))
  );
}

function findUnwanted(file: string, unwanted: typeof UNWANTED): readonly string[] {
  const text = read(file);
  if (text.includes("\0")) return [];
  return unwanted.flatMap(([what, pattern]) =>
    [...text.matchAll(pattern)].map((match) => `${file}:${lineOf(text, match.index)}: "${match[0]}" is ${what}`),
  );
}

/** Both ways: each file is named in the page by its path, and each path in the page is a file. */
function compareWithPage(folder: string, isListed: (name: string) => boolean, page: string): readonly string[] {
  if (!existsSync(path.join(root, folder))) return [`${folder}/: this folder is missing`];
  if (!existsSync(path.join(root, page))) return [`${page}: this page is missing`];
  const present = readdirSync(path.join(root, folder)).filter(isListed);
  const mentions = read(page).matchAll(new RegExp(`\\b${folder}/([\\w.-]*\\w)`, "g"));
  const named = [...mentions].map((match) => match[1] ?? "").filter(isListed);
  return [
    ...present.filter((name) => !named.includes(name)).map((name) => `${page}: does not name ${folder}/${name}`),
    ...named.filter((name) => !present.includes(name)).map((name) => `${page}: names ${folder}/${name}, which is gone`),
  ];
}

describe("the folders of src", () => {
  it("import each other only in the agreed directions", () => {
    const problems = sources.flatMap((source) => {
      const from = folderOf(source.fileName);
      const allowed = MAY_IMPORT[from];
      if (!allowed) return [`${source.fileName}: no rule says what ${from} may import; add it to MAY_IMPORT`];
      return findImports(source)
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier, at }) => ({ at, to: path.posix.join(path.posix.dirname(source.fileName), specifier) }))
        .filter(({ to }) => ![from, ...allowed].some((place) => isWithin(to, place)))
        .map(({ to, at }) => `${at}: imports ${to}; ${from} may import ${allowed.join(", ") || "nothing"}`);
    });
    expect(problems).toEqual([]);
  });

  it("know a driver by its file in src/stores and its record, and leave alone what is in the driver's folder; the record knows its guarantee", () => {
    const problems = sources.flatMap((source) => {
      const from = folderOf(source.fileName);
      if (from === "src/stores") return [];
      return findImports(source)
        .map(({ specifier, at }) => ({ at, to: path.posix.join(path.posix.dirname(source.fileName), specifier) }))
        .filter(({ to }) => /^src\/stores\/[^/]+\//.test(to) && !isWithin(to, MAY_LOOK_INSIDE[from] ?? "nobody"))
        .filter(({ to }) => from !== "src/drivers" || !to.endsWith("/guarantee.ts"))
        .map(({ to, at }) => `${at}: imports ${to}; what speaks to a server belongs in src/clients`);
    });
    expect(problems).toEqual([]);
  });

  it("import nothing from npm, but for modules that are the glue to a package: there are no runtime dependencies", () => {
    const problems = sources.flatMap((source) =>
      findImports(source)
        .filter(({ specifier }) => !/^(?:\.|node:)/.test(specifier))
        .filter(({ specifier }) => !isGlue(source.fileName, specifier))
        .map(({ specifier, at }) => `${at}: imports ${specifier}; only own files and node: built-ins may be imported`),
    );
    expect(problems).toEqual([]);
  });
});

describe("test mirrors src", () => {
  const names = (pattern: RegExp, text = files.join("\n")): readonly string[] => [
    ...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? "")),
  ];
  /** In `NAME.test.ts`, or in files of a folder `NAME`. */
  const withoutTests = (folder: string, subjects: readonly string[]): readonly string[] =>
    subjects
      .filter((name) => !files.some((file) => new RegExp(`^${folder}/${name}(?:/.*)?\\.test\\.ts$`).test(file)))
      .map((name) => `${folder}/${name}.test.ts: is missing; what tests it belongs there, or into ${folder}/${name}/`);

  it("folder by folder, with few others beside", () => {
    const mirrored = names(/^src\/([^/\n]+)\//gm);
    expect(names(/^test\/([^/\n]+)\//gm).toSorted()).toEqual([...mirrored, ...TEST_FOLDERS].toSorted());
    expect(names(/^test\/([^/\n]+)\.test\.ts$/gm).toSorted()).toEqual(WHOLE_TESTS.toSorted());
  });

  it("with one place for each driver, fence and command", () => {
    const drivers = names(/^src\/stores\/(\w+)\.ts$/gm).filter((name) => name !== "contract");
    const fences = names(/^src\/fencing\/([\w-]+)\.ts$/gm).filter((name) =>
      /^export function (?:\w+Fence|fencedHandler)\(/m.test(read(`src/fencing/${name}.ts`)),
    );
    const commands = names(/^ {2}(\w+): \{/gm, read("src/cli/commands.ts"));
    expect([drivers, fences, commands].map((subjects) => subjects.length > 3)).toEqual([true, true, true]);
    const problems = [
      ...withoutTests(
        "test/stores",
        drivers.filter((name) => !NOT_A_DRIVER.includes(`src/stores/${name}.ts`)),
      ),
      ...withoutTests("test/fencing", fences),
      ...withoutTests("test/cli", commands),
    ];
    expect(problems).toEqual([]);
  });
});

describe("a test", () => {
  /** `src/lease/exchange.ts#Bid` → `conclave/stores/contract`: what public modules offer, from the files that declare it. */
  const offered = new Map(
    publicModules().flatMap(({ name, source }) => [...offeredBy(source)].map((it) => [it, name])),
  );

  it("imports by its public name what has one; the inside of a part is for tests of that part", () => {
    const tests = files.filter((file) => /^test\/(?!projects\/).*\.ts$/.test(file)).map(parse);
    const problems = tests.flatMap((source) =>
      namedImports(source).flatMap(({ from, name, node }) => {
        const better = offered.get(`${from}#${name}`);
        return better === undefined ? [] : [`${at(source, node)}: imports ${name} by path; import it from ${better}`];
      }),
    );
    expect(problems).toEqual([]);
  });
});

describe("the repository", () => {
  it("holds no machine paths, registry hosts or unfinished thoughts", () => {
    expect(files.flatMap((file) => findUnwanted(file, UNWANTED))).toEqual([]);
  });

  it("leaves out no test and singles out none", () => {
    const tests = files.filter((file) => file.startsWith("test/") && /\.m?ts$/.test(file));
    expect(tests.flatMap((file) => findUnwanted(file, UNWANTED_IN_TESTS))).toEqual([]);
  });

  it("lists every incident of test/incidents in docs/INCIDENTS.md, and no other", () => {
    expect(compareWithPage("test/incidents", () => true, "docs/INCIDENTS.md")).toEqual([]);
  });

  it("has every test that docs/INCIDENTS.md names for an incident on a store, and names every incident of a store there", () => {
    const rows = (read("docs/INCIDENTS.md").split("## On which store")[1] ?? "")
      .split("\n")
      .filter((line) => line.startsWith("| "));
    const fileOf = (name: string): string =>
      `test/${/^(?:incidents|election)\//.test(name) ? "" : "stores/"}${name}.test.ts`;
    const named = rows.flatMap((row) =>
      [...row.matchAll(/`([\w-]+\/[\w-]+)`/g)].map(([, name = ""]) => ({ row, name })),
    );
    const missing = named.map(({ name }) => fileOf(name)).filter((file) => !files.includes(file));
    const ofStores = files.filter((file) => /^test\/stores\/[^/]+\/incidents\.test\.ts$/.test(file));
    const unlisted = ofStores.flatMap((file) => {
      const tried = [...read(file).matchAll(/^\/\/ Taken out \(([\w-]+)\)/gm)].map(([, slug = ""]) => slug);
      const isListed = (slug: string): boolean =>
        named.some(({ row, name }) => fileOf(name) === file && row.startsWith(`| ${slug} |`));
      return tried.filter((slug) => !isListed(slug)).map((slug) => `${file}: ${slug}`);
    });
    expect({ named: named.length > 50, stores: ofStores.length, missing, unlisted }).toEqual({
      named: true,
      stores: 4,
      missing: [],
      unlisted: [],
    });
  });

  it("lists every patch of test/mutants in docs/MUTANTS.md, and no other", () => {
    const isPatch = (name: string): boolean => name.endsWith(".patch");
    expect(compareWithPage("test/mutants", isPatch, "docs/MUTANTS.md")).toEqual([]);
    expect(compareWithPage("test/mutants/protocols", isPatch, "docs/MUTANTS.md")).toEqual([]);
  });

  it("lists every mutant of the four protocols under the trap that it is", () => {
    const OF_FOUR = /^(?:bully|chang-roberts|lelann|raft|zab)-.*(?=\.patch$)/;
    const patches = files.flatMap((file) => OF_FOUR.exec(path.basename(file))?.[0] ?? []);
    const traps = read("docs/MUTANTS.md").split("## Every trap of a protocol")[1] ?? "";
    const listed = [...traps.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name ?? "");
    expect(listed.toSorted()).toEqual(patches.toSorted());
  });
});
