// fileFence: a file of which readers always see what the newest leader left. The token is in the file name and readers take the greatest, so a
// write of an old leader may land at any time: it lands in another file, which nobody reads. For processes that share a folder, on file systems with
// hard links and atomic renames. Names: file-names.ts.
//
// raise    1 claim the token (exclusive, durable)   2 settle: give it what was there, by a second link to the same bytes   3 look whether it is still the newest
// write    1 raise   2 write a temporary file, sync it   3 look   4 rename it to the token's name, sync the folder   5 look again
// read     the greatest token that has settled; looks again afterwards whether a greater one has settled meanwhile
//
// THE ARGUMENT
//   readers    A file of an older token is never read once a greater one has settled. So a delayed old write is never seen after `raise` returned.
//   no loss    A write that was acknowledged is kept by every successor. Its step 5 saw no greater claim, so the rename came before any greater claim;
//              a successor claims first and looks for content afterwards, so it takes over these bytes or later ones.
//   settling   The content of the greatest settled predecessor is taken: linked to a temporary name; then all greater predecessors are looked at
//              again. If one has settled meanwhile, that one is taken instead, since the link may have caught a late write to a file already passed over.
//              Nobody takes the source away: only a newest settled token tidies up, and if that is not this one it is greater, and this one refused.
//   crash      A claim, content or era is on the disk, and its name too, before anyone is told. A torn temporary file has a name that is never read.
//              A claim that never settled is passed over by readers, and refuses older writers all the same.
//   tidying    Only files older than a settled token are removed, which nobody reads; of a former era the greatest claim stays, so that its domain's
//              tokens stay refused.
// A write that is refused in step 5 came too late to be acknowledged, and perhaps early enough to be taken over: the error says so.
import { access, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { ConclaveError } from "../base/errors.ts";
import { show } from "../base/show.ts";
import { urlOfFile } from "../base/url.ts";
import { linkNew, removeIfThere, renameIfThere, syncFolder, touch, unless, writeNew } from "./disk.ts";
import { compare, Names, type TokenPosition } from "./file-names.ts";
import { type EraRecord, readClaim, type FolderSurvey, survey } from "./file-survey.ts";
import {
  admit,
  adopted,
  type Adopted,
  isLowering,
  type Lowering,
  type Move,
  moveDomain,
  type Remembered,
} from "./guard.ts";
import { folderOf, resourceOf, textOf, tokenOf } from "./input.ts";
import { adoptByCommand, type HowToAdopt, overtaken } from "./refusals.ts";
import { type Verifier, verifierOf, type Verifying } from "./signed.ts";
import { type Fenced, type FencingToken, makeToken, type Signed } from "./token.ts";

/** What the newest term left in a guarded file. */
export interface FileContent {
  readonly content: Buffer;
  /** The token of the term that wrote it, or that took it over when it was raised. */
  readonly token: FencingToken;
}

/** A guard for one file that several processes share. */
export interface FileFence<By extends Fenced | Signed = Fenced> {
  /** For a new leader, before it reads: from now on older writes are refused, and never seen. */
  raise(by: By): Promise<void>;
  /** Replaces the whole content. Resolves when it would survive a crash, and no newer token had come by then. */
  write(content: string | Uint8Array, by: By): Promise<void>;
  /** What the newest term left; `undefined` if nothing was written yet. Needs no token. */
  read(): Promise<FileContent | undefined>;
  /** After a deliberate move to another store: tokens of the old domain stay refused. Or a repair, after a token that no store has granted. */
  adopt(move: Move | Lowering): Promise<Adopted>;
}

/** The same as the other form, for signed tokens. */
export function fileFence(folder: string, name: string, options: Verifying): FileFence<Signed>;
/** Guards the file `name` in `folder`, which is made if it is not there. */
export function fileFence(folder: string, name: string): FileFence;
export function fileFence(folder: string, name: string, options?: Verifying): FileFence<Fenced | Signed> {
  return new FolderFence(folderOf("fileFence", folder), resourceOf(name), verifierOf("fileFence", options, []));
}

class FolderFence implements FileFence<Fenced | Signed> {
  readonly #folder: string;
  readonly #name: string;
  readonly #names: Names;
  readonly #howToAdopt: HowToAdopt;
  readonly #verifier: Verifier | undefined;

  constructor(folder: string, name: string, verifier: Verifier | undefined) {
    this.#verifier = verifier;
    this.#folder = folder;
    this.#name = name;
    this.#names = new Names(name);
    this.#howToAdopt = adoptByCommand(["--guard", urlOfFile("file", path.resolve(folder))]);
  }

  async raise(by: Fenced | Signed): Promise<void> {
    await this.#raise(tokenOf(by, this.#verifier, this.#name));
  }

  async write(content: string | Uint8Array, by: Fenced | Signed): Promise<void> {
    if (typeof content !== "string" && !((content as unknown) instanceof Uint8Array))
      throw new ConclaveError(
        "CONFIG_INVALID",
        `fileFence: the content is neither a text nor a Uint8Array, but ${show(content)}. Nothing was written.`,
      );
    const token = tokenOf(by, this.#verifier, this.#name);
    const position = await this.#raise(token);
    const temporary = await this.#writeTemporary(position, Buffer.from(content));
    try {
      await this.#check(token, position);
    } catch (refusal) {
      await removeIfThere(temporary);
      throw refusal;
    }
    const renamed = await renameIfThere(temporary, this.#path(this.#names.content(position)));
    await syncFolder(this.#folder);
    await this.#check(token, position, renamed);
    if (!renamed) throw new ConclaveError("STORE_FOREIGN_DATA", `fileFence: somebody removed ${temporary}.`);
  }

  async read(): Promise<FileContent | undefined> {
    for (;;) {
      const { claims } = await this.#survey();
      const source = await this.#greatestSettled(claims);
      const found = source === undefined ? undefined : await this.#readAt(source);
      const later = await this.#greatestSettled((await this.#survey()).claims);
      const isNewest =
        (source === undefined) === (later === undefined) && (!source || !later || compare(source, later) === 0);
      if (isNewest && found !== "gone") return found;
    }
  }

  async adopt(move: Move | Lowering): Promise<Adopted> {
    for (let changed = false; ; changed = true) {
      const { era, remembered } = await this.#survey();
      const after = moveDomain(this.#name, remembered, move);
      if (after === remembered) return adopted(after, move, changed);
      await this.#beginEra(
        era + 1n,
        isLowering(move) ? { domain: move.domain, floor: `${move.to}` } : { domain: move.to },
      );
    }
  }

  /** Claims, settles, and leaves nothing older behind. */
  async #raise(token: FencingToken): Promise<TokenPosition> {
    const position = await this.#claim(token);
    await this.#settle(position);
    await this.#check(token, position);
    await this.#tidy(position);
    return position;
  }

  /** Repeats until the folder shows that this token is the newest. */
  async #claim(token: FencingToken): Promise<TokenPosition> {
    for (;;) {
      const seen = await this.#survey();
      if (seen.remembered === undefined) {
        await this.#beginEra(0n, { domain: token.domain });
        continue;
      }
      const position = { era: seen.era, value: token.value };
      if (this.#admit(seen, token) === seen.remembered) return position;
      await this.#publish(this.#names.claim(position), position, Buffer.from(textOf(token)));
    }
  }

  #admit({ remembered }: FolderSurvey, token: FencingToken): Remembered {
    return admit(this.#name, remembered, token, this.#howToAdopt);
  }

  /** Gives a claimed token its content, once: the content of the greatest settled predecessor. */
  async #settle(position: TokenPosition): Promise<void> {
    while (!(await this.#isSettled(position))) {
      const older = (await this.#survey()).claims.filter((claim) => compare(claim, position) < 0);
      const source = await this.#greatestSettled(older);
      if (source !== undefined && (await this.#exists(this.#names.content(source))))
        await this.#takeOver(source, position, older);
      else await touch(this.#path(this.#names.none(position)));
      await syncFolder(this.#folder);
    }
  }

  async #takeOver(source: TokenPosition, position: TokenPosition, older: readonly TokenPosition[]): Promise<void> {
    const temporary = await this.#linkTemporary(this.#names.content(source), position);
    if (temporary === undefined) return;
    if (isSame(source, await this.#greatestSettled(older)))
      await linkNew(temporary, this.#path(this.#names.content(position)));
    await removeIfThere(temporary);
  }

  /** Refuses if this token is not the newest any more. `landed`: the write may have been seen. */
  async #check(token: FencingToken, position: TokenPosition, landed = false): Promise<void> {
    const seen = await this.#survey();
    const { era, remembered } = seen;
    try {
      if (this.#admit(seen, token) === remembered && era === position.era) return;
    } catch (refusal) {
      const mark = remembered?.domain === token.domain ? remembered.mark : undefined;
      if (!landed || mark === undefined) throw refusal;
      throw overtaken(this.#name, makeToken({ domain: token.domain, value: mark.value, bid: mark.bid ?? "" }), token);
    }
    throw new ConclaveError("STORE_FOREIGN_DATA", `fileFence: somebody removed ${this.#names.claim(position)}.`);
  }

  async #tidy(position: TokenPosition): Promise<void> {
    const { claims, others, files }: FolderSurvey = await this.#survey();
    for (const other of others)
      if (compare(other, position) < 0) await removeIfThere(this.#path(files.get(other) ?? ""));
    const kept = new Set<bigint>([position.era]);
    for (const claim of claims) {
      if (compare(claim, position) >= 0) continue;
      if (kept.has(claim.era)) await removeIfThere(this.#path(this.#names.claim(claim)));
      kept.add(claim.era);
    }
  }

  /** The first of `claims` (the newest comes first) that has content or is known to have none. */
  async #greatestSettled(claims: readonly TokenPosition[]): Promise<TokenPosition | undefined> {
    for (const claim of claims) if (await this.#isSettled(claim)) return claim;
    return undefined;
  }

  async #isSettled(position: TokenPosition): Promise<boolean> {
    return (await this.#exists(this.#names.content(position))) || this.#exists(this.#names.none(position));
  }

  async #readAt(position: TokenPosition): Promise<FileContent | undefined | "gone"> {
    const token = await readClaim(this.#folder, this.#names, position);
    if (token === undefined) return "gone";
    const content = await unless("ENOENT", readFile(this.#path(this.#names.content(position))));
    return content === undefined ? undefined : { content, token };
  }

  async #beginEra(era: bigint, record: EraRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await this.#publish(this.#names.era(era), { era, value: 0n }, Buffer.from(JSON.stringify(record)));
  }

  /** Writes a whole file under a name that nobody had before; if another process had it, that file stays. */
  async #publish(file: string, position: TokenPosition, content: Buffer): Promise<void> {
    const temporary = await this.#writeTemporary(position, content);
    await linkNew(temporary, this.#path(file));
    await removeIfThere(temporary);
    await syncFolder(this.#folder);
  }

  #writeTemporary(position: TokenPosition, content: Buffer): Promise<string> {
    return writeNew((attempt) => this.#path(this.#names.temporary(position, attempt)), content);
  }

  /** Makes a temporary second name; `undefined` if the first is gone. */
  async #linkTemporary(file: string, position: TokenPosition): Promise<string | undefined> {
    for (let attempt = 0; ; attempt++) {
      const temporary = this.#path(this.#names.temporary(position, attempt));
      const linked = await linkNew(this.#path(file), temporary);
      if (linked !== "exists") return linked === "linked" ? temporary : undefined;
    }
  }

  async #exists(file: string): Promise<boolean> {
    return (
      (await unless(
        "ENOENT",
        access(this.#path(file)).then(() => true),
      )) ?? false
    );
  }

  #survey(): Promise<FolderSurvey> {
    return survey(this.#folder, this.#names);
  }

  #path(file: string): string {
    return path.join(this.#folder, file);
  }
}

function isSame(a: TokenPosition | undefined, b: TokenPosition | undefined): boolean {
  return a === undefined || b === undefined ? a === b : compare(a, b) === 0;
}
