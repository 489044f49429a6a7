// The part of YAML that kubeconfig files are written in: block mappings and sequences, flow collections on one line, plain and quoted scalars, block scalars, comments. JSON is a part of it. Everything
// else (anchors, tags, several documents, quoted texts over several lines) is refused with its line number, never guessed.
//
// Every scalar is a text: a token of digits stays as it is. A scalar without a value (`~`, `null`, or nothing) is undefined.

export type Yaml = string | undefined | readonly Yaml[] | { readonly [key: string]: Yaml };

export class YamlError extends Error {
  override readonly name: string = "YamlError";
}

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

/** A file of 1 MB has more clusters in it than any user has. */
const LONGEST = 1_000_000;
const DEEPEST = 32;

export function parseYaml(text: string): Yaml {
  if (text.length > LONGEST) throw new YamlError("it has more than a million characters");
  const raw = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  return new Reader(raw).document();
}

class Reader {
  readonly #raw: readonly string[];
  /** The lines with something on them; a line of a sequence is replaced by the text behind its dash. */
  readonly #lines: Line[] = [];
  #at = 0;

  constructor(raw: readonly string[]) {
    this.#raw = raw;
    let isOver = false;
    raw.forEach((line, index) => {
      const bare = withoutComment(line).trimEnd();
      if (bare.trim() === "" || isOver) return;
      const indent = bare.length - bare.trimStart().length;
      if (bare.slice(0, indent).includes("\t")) throw wrong(index + 1, "a tab where spaces should be");
      if (bare === "---" && this.#lines.length === 0) return;
      if (bare === "...") isOver = true;
      else if (/^(?:---(?: |$)|%)/.test(bare)) throw wrong(index + 1, "a second document, or a directive");
      else this.#lines.push({ number: index + 1, indent, text: bare.trim() });
    });
  }

  document(): Yaml {
    const first = this.#lines[0];
    if (first === undefined) return undefined;
    if (/^[[{]/.test(first.text)) return flowOf(this.#lines.map(({ text }) => text).join(" "), first.number);
    const value = this.#block(first.indent, 0);
    const rest = this.#lines[this.#at];
    if (rest !== undefined) throw wrong(rest.number, "its indentation fits nothing above it");
    return value;
  }

  #block(indent: number, depth: number): Yaml {
    const line = this.#lines[this.#at];
    if (line === undefined) return undefined;
    if (depth > DEEPEST) throw wrong(line.number, "nested too deeply");
    if (isItem(line.text)) return this.#sequence(indent, depth);
    if (keyOf(line) !== undefined) return this.#mapping(indent, depth);
    this.#at++;
    return this.#scalar(line.text, line, indent - 1);
  }

  #sequence(indent: number, depth: number): readonly Yaml[] {
    const items: Yaml[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent !== indent || !isItem(line.text)) return items;
      const rest = line.text.slice(1).trimStart();
      if (rest === "") {
        this.#at++;
        items.push(this.#below(indent, depth));
      } else {
        const column = indent + line.text.length - rest.length;
        this.#lines[this.#at] = { ...line, indent: column, text: rest };
        items.push(this.#block(column, depth + 1));
      }
    }
  }

  #mapping(indent: number, depth: number): { readonly [key: string]: Yaml } {
    const entries = new Map<string, Yaml>();
    for (;;) {
      const line = this.#lines[this.#at];
      if (line === undefined || line.indent !== indent || isItem(line.text)) return Object.fromEntries(entries);
      const found = keyOf(line);
      if (found === undefined) throw wrong(line.number, "neither `key: value` nor an item of a list");
      if (entries.has(found.key))
        throw wrong(line.number, `${JSON.stringify(found.key)} stands here for the second time`);
      this.#at++;
      entries.set(found.key, this.#valueOf(found.rest, line, indent, depth));
    }
  }

  #valueOf(rest: string, line: Line, indent: number, depth: number): Yaml {
    if (rest === "") {
      const next = this.#lines[this.#at];
      // kubectl writes a list below its key without indenting it.
      if (next !== undefined && next.indent === indent && isItem(next.text)) return this.#sequence(indent, depth + 1);
      return this.#below(indent, depth);
    }
    return this.#scalar(rest, line, indent);
  }

  /** Reads the lines that are indented more than `indent`, if there are any. */
  #below(indent: number, depth: number): Yaml {
    const next = this.#lines[this.#at];
    return next !== undefined && next.indent > indent ? this.#block(next.indent, depth + 1) : undefined;
  }

  #scalar(text: string, line: Line, indent: number): Yaml {
    if (/^[|>]/.test(text)) return this.#blockScalar(text, line, indent);
    if (/^[[{]/.test(text)) return flowOf(text, line.number);
    if (/^["']/.test(text)) return quotedOf(text, line.number);
    if (/^[&*!@`%]/.test(text)) throw wrong(line.number, "an anchor, an alias, a tag or a reserved sign");
    const parts = [text];
    for (let next = this.#lines[this.#at]; next !== undefined && next.indent > indent; next = this.#lines[this.#at]) {
      if (keyOf(next) !== undefined) throw wrong(next.number, "its indentation fits nothing above it");
      parts.push(next.text);
      this.#at++;
    }
    return plainOf(parts.join(" "));
  }

  /** `|` keeps its lines, `>` joins them; `-` behind it drops the last line break. */
  #blockScalar(head: string, line: Line, indent: number): string {
    if (!/^[|>][-+]?$/.test(head)) throw wrong(line.number, "a block text with a number in its head");
    const taken: string[] = [];
    let index = line.number;
    for (; index < this.#raw.length; index++) {
      const raw = this.#raw[index] ?? "";
      if (raw.trim() !== "" && raw.length - raw.trimStart().length <= indent) break;
      taken.push(raw);
    }
    while ((this.#lines[this.#at]?.number ?? Infinity) <= index) this.#at++;
    const column = Math.min(...taken.filter((each) => each.trim() !== "").map((each) => each.search(/\S/)));
    const lines = taken.map((each) => each.slice(column));
    const body = lines.join(head.startsWith("|") ? "\n" : " ").trimEnd();
    return head.endsWith("-") ? body : `${body}\n`;
  }
}

function isItem(text: string): boolean {
  return text === "-" || text.startsWith("- ");
}

function keyOf({ text, number }: Line): { readonly key: string; readonly rest: string } | undefined {
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*:(?:\s+(.*))?$/.exec(text);
  if (quoted !== null) return { key: quotedOf(quoted[1] ?? "", number), rest: quoted[2] ?? "" };
  const plain = /^([^\s"'[\]{}&*!|>%@`,#?-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*))?$/.exec(text);
  return plain === null ? undefined : { key: plain[1] ?? "", rest: plain[2] ?? "" };
}

function plainOf(text: string): string | undefined {
  return text === "~" || text === "null" || text === "" ? undefined : text;
}

function quotedOf(text: string, number: number): string {
  if (/^'(?:[^']|'')*'$/.test(text)) return text.slice(1, -1).replaceAll("''", "'");
  if (!/^"(?:[^"\\]|\\.)*"$/.test(text)) throw wrong(number, "a quoted text that does not end on its line");
  try {
    return JSON.parse(text) as string;
  } catch {
    throw wrong(number, "an escape that JSON does not have");
  }
}

/** `{}` and `[]` on one line; the inside is JSON, or plain words. */
function flowOf(text: string, number: number): Yaml {
  try {
    return textsOnly(JSON.parse(text) as unknown);
  } catch {
    const inner = /^\[([^[\]{}"']*)\]$/.exec(text)?.[1];
    if (inner === undefined) throw wrong(number, "a collection in brackets that is not written as JSON");
    return inner.trim() === "" ? [] : inner.split(",").map((each) => plainOf(each.trim()));
  }
}

function textsOnly(value: unknown): Yaml {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(textsOnly);
  if (typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, textsOnly(each)]));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A # begins a comment at the beginning of a line and behind a space, outside of quotes. A quote counts where a value begins. */
function withoutComment(line: string): string {
  let quote = "";
  for (let index = 0; index < line.length; index++) {
    const sign = line[index];
    if (quote !== "") {
      if (quote === '"' && sign === "\\") index++;
      else if (sign === quote) quote = "";
    } else if ((sign === '"' || sign === "'") && /(?:^|[\s:,[{-])$/.test(line.slice(0, index))) quote = sign;
    else if (sign === "#" && (index === 0 || /\s/.test(line[index - 1] ?? ""))) return line.slice(0, index);
  }
  return line;
}

function wrong(number: number, what: string): YamlError {
  return new YamlError(`line ${number}: ${what}`);
}
