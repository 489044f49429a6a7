// The simulator, the protocols and the lease machine run wherever JavaScript does: joined for a browser they ask for nothing of Node, and in a context that has
// nothing but the language a seed gives the same trace.
import { createContext, runInContext } from "node:vm";
import { fileURLToPath } from "node:url";
import { build, type OutputChunk } from "rolldown";
import { beforeAll, describe, expect, it } from "vitest";
import { formatEvent, huntNamed, huntNames, LeaseWorld, drawWorld, SUBJECTS } from "conclave/simulator";

const root = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = "the entry";
const SOURCE = `
  export * as simulator from "./src/simulator/index.ts";
  export * as protocols from "./src/protocols/index.ts";
  export * as machine from "./src/lease/machine.ts";
`;
let bundle: OutputChunk;

beforeAll(async () => {
  const { output } = await build({
    cwd: root,
    input: ENTRY,
    platform: "browser",
    logLevel: "silent",
    write: false,
    plugins: [
      {
        name: "entry",
        resolveId: (id: string) => (id === ENTRY ? `${root}entry.ts` : null),
        load: (id: string) => (id === `${root}entry.ts` ? SOURCE : null),
      },
    ],
    output: { format: "iife", name: "conclave" },
  });
  bundle = output[0];
}, 60_000);

describe("joined for a browser", () => {
  it("the simulator, the protocols and the lease machine import nothing", () => {
    expect([...bundle.imports, ...bundle.dynamicImports]).toEqual([]);
    expect(bundle.code).not.toMatch(/["']node:/);
    expect(bundle.code).not.toMatch(/\brequire\(/);
  });

  it("a seed of each world gives the same trace in a context with nothing but the language", () => {
    const context = createContext({});
    runInContext(bundle.code + ";globalThis.conclave = conclave;", context);
    expect(runInContext("typeof process + typeof structuredClone + typeof setTimeout", context)).toBe(
      "undefined".repeat(3),
    );
    for (const name of huntNames()) {
      const there = runInContext(
        `(() => {
          const { hash, trace } = conclave.simulator.huntNamed(${JSON.stringify(name)}).run(3, { isRecorded: true });
          return hash + "\\n" + trace.map(conclave.simulator.formatEvent).join("\\n");
        })()`,
        context,
      ) as string;
      const { hash, trace } = huntNamed(name).run(3, { isRecorded: true });
      expect(there, name).toBe(`${hash}\n${trace.map(formatEvent).join("\n")}`);
    }
    expect(runInContext("conclave.simulator.SUBJECTS.length", context)).toBe(SUBJECTS.length);
  });

  it("a world forks there too", () => {
    const context = createContext({});
    runInContext(bundle.code + ";globalThis.conclave = conclave;", context);
    const there = runInContext(
      `(() => {
        const { LeaseWorld, drawWorld } = conclave.simulator;
        const world = new LeaseWorld(drawWorld(8), false);
        for (let left = 50; left > 0; left--) world.step();
        const fork = world.fork();
        fork.run();
        return fork.trace.hash.text();
      })()`,
      context,
    ) as string;
    const here = new LeaseWorld(drawWorld(8), false);
    here.run();
    expect(there).toBe(here.trace.hash.text());
  });
});
