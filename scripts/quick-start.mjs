// @ts-check
// What the build does to the joined files so that Node loads them sooner (docs/adr/0099-a-driver-without-elections.md). It changes how the files ask for other code, never what the code does.

/** For each file that rolldown writes. @param {"esm" | "cjs"} format @returns {import("rolldown").Plugin} */
export function quickStart(format) {
  const steps = format === "esm" ? [withoutIdleImports, withNamespacesInside, builtinsAsTheyAre] : [withoutIdleImports];
  return {
    name: "quick start",
    renderChunk: (code) => steps.reduce((text, step) => step(text), code),
    // Here, because rolldown prints the code once more after renderChunk.
    generateBundle: (_, files) => {
      for (const [name, file] of Object.entries(files)) {
        if (file.type !== "chunk") continue;
        if (format === "esm" && file.name === RUNTIME) delete files[name];
        else file.code = asciiOnly(file.code);
      }
    },
  };
}

/** A file that is imported for nothing does nothing (package.json: sideEffects), and is not loaded: the command line would load all of the core at each start. @param {string} code */
function withoutIdleImports(code) {
  return code.replaceAll(/^import "(?:\.|node:)[^"]+";\n/gm, "");
}

const RUNTIME = "rolldown-runtime";

/** What rolldown has in a file of its own. Each file costs Node about 0.2 ms, and these are ten lines. */
const NAMESPACE = `const __exportAll = (all) => {
	const target = {};
	for (const name in all) Object.defineProperty(target, name, { get: all[name], enumerable: true });
	return Object.defineProperty(target, Symbol.toStringTag, { value: "Module" });
};`;

/** @param {string} code */
function withNamespacesInside(code) {
  return code.replace(
    new RegExp(`^import \\{ \\w+ as __exportAll \\} from "[^"]*/${RUNTIME}-[^"]+";$`, "m"),
    NAMESPACE,
  );
}

/**
 * `import … from "node:fs"` makes Node read every export of that module, and some of these load more when they are read: `fs` all of the streams (1.5 ms), `crypto` all of Web Crypto. What
 * `process.getBuiltinModule` gives (Node 20.16 and 22.3) is the module alone.
 * @param {string} code
 */
function builtinsAsTheyAre(code) {
  const imports = /^import (?:\* as )?(\w+|\{[^}]*\}) from "(node:[^"]+)";$/gm;
  return code.replaceAll(imports, (_, /** @type {string} */ names, /** @type {string} */ builtin) => {
    return `const ${names.replaceAll(" as ", ": ")} = process.getBuiltinModule("${builtin}");`;
  });
}

/** Of a file with one character beyond ASCII V8 keeps and reads every character in two bytes. Such characters stand in texts and comments only, so that an escape means the same. @param {string} code */
function asciiOnly(code) {
  return code.replaceAll(
    /[\u0080-\uFFFF]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
