// What npm would publish: pages and examples are in it, and what they link to is in it too.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("the tarball", () => {
  const files = listFiles();
  const isThere = (file: string): boolean =>
    files.has(file) || [...files].some((each) => each.startsWith(`${file.replace(/\/$/, "")}/`));

  it("holds the pages, the examples and the dashboards", () => {
    for (const file of [
      "README.md",
      "docs/README.md",
      "docs/api/conclave.md",
      "docs/monitoring/alerts.yml",
      "docs/monitoring/dashboard.json",
    ])
      expect([...files]).toContain(file);
    expect([...files].filter((file) => /^(?:src|test|scripts|testdata)\//.test(file))).toEqual([]);
  });

  it("holds what its pages link to", () => {
    const pages = [...files].filter((file) => file.endsWith(".md"));
    const broken = pages.flatMap((page) =>
      linksOf(readFileSync(path.join(root, page), "utf8"))
        .filter((link) => !isThere(path.posix.join(path.posix.dirname(page), link)))
        .map((link) => `${page}: leads to ${link}, which is not published`),
    );
    expect(broken).toEqual([]);
  });
});

function listFiles(): ReadonlySet<string> {
  const npm = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [packed] = JSON.parse(npm) as readonly [{ readonly files: readonly { readonly path: string }[] }];
  return new Set(packed.files.map((file) => file.path));
}

/** Relative ones, without their anchors; those in code are no links. */
function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/`[^`\n]*`/g, "");
  const links = prose.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g);
  return [...links]
    .map(([, inText, inTag]) => (inText ?? inTag ?? "").split("#")[0] ?? "")
    .filter((link) => link !== "" && !/^[a-z]+:/.test(link));
}
