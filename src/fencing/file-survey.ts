// What a folder says about a fenced file: its eras and the claims of the present one, read anew each time. Only eras and claims are taken from the
// listing, because they are made once and never replaced: a file that is in a folder before a listing begins, and stays, is always listed; a file that is
// renamed meanwhile may be missed. Whether content is there is asked by its name.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { unless } from "./disk.ts";
import {
  type TokenFileName,
  compare,
  foreignFile,
  type Names,
  type ParsedFileName,
  type TokenPosition,
} from "./file-names.ts";
import type { Remembered } from "./guard.ts";
import { type FencingToken, parseToken } from "./token.ts";

export interface FolderSurvey {
  /** The latest era; −1 while there is none. */
  readonly era: bigint;
  /** The same in the terms of the guard's rule. */
  readonly remembered: Remembered | undefined;
  /** All claims, over all eras, the newest first. */
  readonly claims: readonly TokenPosition[];
  /** Every other file that carries a token: content, none, temporary. */
  readonly others: readonly TokenFileName[];
  /** File names of what is in `others`. */
  readonly files: ReadonlyMap<TokenFileName, string>;
}

export interface EraRecord {
  readonly domain: string;
  /** In an era that began with a repair: tokens of this domain count from this value on (in decimal), whatever was claimed of it in earlier eras. */
  readonly floor?: string | undefined;
}

/** Tries again when a listed file is gone: then a newer leader has tidied up. */
export async function survey(folder: string, names: Names): Promise<FolderSurvey> {
  for (;;) {
    const seen = await surveyOnce(folder, names);
    if (seen !== undefined) return seen;
  }
}

async function surveyOnce(folder: string, names: Names): Promise<FolderSurvey | undefined> {
  const listed = ((await unless("ENOENT", readdir(folder))) ?? []).flatMap((file) => {
    const parsed = names.parse(file);
    return parsed === undefined ? [] : [{ file, parsed }];
  });
  const parsed = listed.map((each) => each.parsed);
  const claims = parsed.filter(isClaimed).filter(({ kind }) => kind === "claim").toSorted((a, b) => compare(b, a)); // prettier-ignore
  const others = parsed.filter(isClaimed).filter(({ kind }) => kind !== "claim");
  const files = new Map(listed.map(({ file, parsed }) => [parsed as TokenFileName, file]));
  const eras = await readEras(folder, names, parsed);
  if (eras === undefined) return undefined;
  const remembered = await remember(folder, names, eras, claims);
  return remembered === "gone" ? undefined : { era: BigInt(eras.length) - 1n, remembered, claims, others, files };
}

const isClaimed = (parsed: ParsedFileName): parsed is TokenFileName => parsed.kind !== "era";

interface Era {
  readonly domain: string;
  readonly floor: bigint | undefined;
}

/** The eras, in order. */
async function readEras(folder: string, names: Names, parsed: readonly ParsedFileName[]): Promise<Era[] | undefined> {
  const count = parsed.filter(({ kind }) => kind === "era").length;
  const eras: Era[] = [];
  for (let era = 0n; era < BigInt(count); era++) {
    const text = await unless("ENOENT", readFile(path.join(folder, names.era(era)), "utf8"));
    if (text === undefined) throw foreignFile(names.era(era), "is missing, although later eras are there");
    eras.push(parseEra(names.era(era), text));
  }
  const stray = parsed.find(({ kind, era }) => kind === "claim" && era >= BigInt(count));
  // A first listing may show a claim and miss the era made just before it; the next one shows both.
  if (stray === undefined) return eras;
  const there = await unless("ENOENT", readFile(path.join(folder, names.era(stray.era))));
  if (there === undefined) throw foreignFile(names.era(stray.era), "is missing, although tokens of it are there");
  return undefined;
}

function parseEra(file: string, text: string): Era {
  try {
    const { domain, floor } = JSON.parse(text) as Partial<EraRecord>;
    const isFloor = floor === undefined || (typeof floor === "string" && /^(?:0|[1-9][0-9]{0,38})$/.test(floor));
    if (typeof domain === "string" && isFloor)
      return { domain, floor: floor === undefined ? undefined : BigInt(floor) };
  } catch (cause) {
    throw foreignFile(file, "cannot be read as an era", cause);
  }
  throw foreignFile(file, "cannot be read as an era");
}

/** Eras and claims in the terms of the guard's rule. */
async function remember(
  folder: string,
  names: Names,
  eras: readonly Era[],
  claims: readonly TokenPosition[],
): Promise<Remembered | undefined | "gone"> {
  const domain = eras.at(-1)?.domain;
  if (domain === undefined) return undefined;
  const left = new Map<string, bigint | undefined>();
  for (const former of eras)
    if (former.domain !== domain) left.set(former.domain, greatest(eras, claims, former.domain));
  const [newest] = claims;
  if (newest?.era === BigInt(eras.length) - 1n) {
    const token = await readClaim(folder, names, newest, domain);
    return token === undefined ? "gone" : { domain, mark: { value: token.value, bid: token.bid }, left };
  }
  const floor = greatest(eras, claims, domain);
  return { domain, mark: floor === undefined ? undefined : { value: floor, bid: undefined }, left };
}

/** The greatest value that was claimed since the last repair, or the value where the repair began. */
function greatest(eras: readonly Era[], claims: readonly TokenPosition[], domain: string): bigint | undefined {
  const repaired = eras.findLastIndex((era) => era.domain === domain && era.floor !== undefined);
  const values = claims
    .filter(({ era }) => Number(era) >= repaired && eras[Number(era)]?.domain === domain)
    .map(({ value }) => value);
  const floor = eras[repaired]?.floor;
  const all = floor === undefined ? values : [floor, ...values];
  return all.length === 0 ? undefined : all.reduce((a, b) => (a > b ? a : b));
}

/** The token that a claim stands for; `undefined` if the claim has been tidied away. */
export async function readClaim(
  folder: string,
  names: Names,
  position: TokenPosition,
  domain?: string,
): Promise<FencingToken | undefined> {
  const file = names.claim(position);
  const text = await unless("ENOENT", readFile(path.join(folder, file), "utf8"));
  if (text === undefined) return undefined;
  let token: FencingToken;
  try {
    token = parseToken(text);
  } catch (cause) {
    throw foreignFile(file, "does not hold a token", cause);
  }
  if (token.value !== position.value || (domain !== undefined && token.domain !== domain))
    throw foreignFile(file, `holds ${text}, which does not belong there`);
  return token;
}
