// Many sessions at a few names at once, over versions and over VACANT, one name or several, while backends are killed: what no interleaving may show.
import pg from "pg";
import { expect, it } from "vitest";
import { postgres } from "conclave/stores/postgres";
import * as server from "../../../scripts/servers/postgres.mjs";
import {
  asBid,
  type Claim,
  type Claimed,
  type FencedStore,
  type Hint,
  type Hold,
  type Refused,
  type Session,
  type Unknown,
  VACANT,
} from "conclave/stores/contract";
import { useServers } from "../../support/servers.ts";
import { call, claim, hold, open } from "../moves.ts";
import { byHand, newDatabase, sleep } from "./stage.ts";

const servers = useServers(server);
const NAMES = ["a", "b", "it's\n\"ü"];
const CROWD = 24;
/** At least so long, and until there were enough grants: on a busy machine that takes longer. */
const FOR_MS = 5_000;
const GRANTS = 50;
const LONGEST_MS = 40_000;

interface Grant {
  readonly name: string;
  readonly token: bigint;
  readonly sentAt: number;
  readonly heardAt: number;
}

/** What all of them have seen, by one clock. A name is somebody's from the answer to a claim until a release of it is sent. */
class Books {
  readonly holders = new Map<string, string>();
  readonly grants: Grant[] = [];
  readonly faults: string[] = [];

  take({ name, bid, token }: Hold, sentAt: number): void {
    const other = this.holders.get(name);
    if (other !== undefined) this.faults.push(`${bid} was granted ${name}, and ${other} holds it`);
    this.holders.set(name, bid);
    this.grants.push({ name, token: token?.value ?? 0n, sentAt, heardAt: performance.now() });
  }

  give({ name, bid }: Hold): void {
    if (this.holders.get(name) === bid) this.holders.delete(name);
  }

  /** Tokens of a name that do not grow: a grant that was heard of before another was asked for has the lesser one. */
  disorder(name: string): readonly string[] {
    const grants = this.grants.filter((grant) => grant.name === name);
    const byHearing = grants.toSorted((one, other) => one.heardAt - other.heardAt);
    const found = grants.length === new Set(grants.map(({ token }) => token)).size ? [] : [`a token of ${name}, twice`];
    let [greatest, next] = [0n, 0];
    for (const { token, sentAt } of grants.toSorted((one, other) => one.sentAt - other.sentAt)) {
      for (let before = byHearing[next]; before !== undefined && before.heardAt < sentAt; before = byHearing[++next])
        if (before.token > greatest) greatest = before.token;
      if (token <= greatest) found.push(`${name}: ${token} after ${greatest}`);
    }
    return found;
  }
}

/** One of the crowd: half of them on a connection of their own, which is made anew when it breaks, half by the URL. What has no answer is asked again, as a candidate would. */
class Member {
  readonly #url: string;
  readonly #byUrl: FencedStore;
  readonly #books: Books;
  readonly #id: number;
  #client: pg.Client | undefined;
  #store: FencedStore | undefined;
  #bids = 0;
  #mine: Hold[] = [];

  constructor(url: string, books: Books, id: number) {
    this.#url = url;
    this.#byUrl = postgres(url);
    this.#books = books;
    this.#id = id;
  }

  async run(isOver: () => boolean): Promise<void> {
    const spec = { nonce: `s${this.#id}`, candidate: `m${this.#id}`, ttlMs: 10_000 };
    const opened = await this.#sure((store) => store.keep(spec, [], call()));
    if (opened.kind !== "kept") throw new Error(opened.kind);
    while (!isOver()) await this.#move(opened.session);
    await this.#client?.end();
    await this.#byUrl.close();
  }

  async #move(session: Session): Promise<void> {
    const dice = Math.random();
    if (dice < 0.2) return await this.#keep(session);
    if (dice < 0.5) return await this.#release(session);
    await this.#claim(session);
  }

  async #keep(session: Session): Promise<void> {
    const kept = await this.#sure((store) => store.keep(session, this.#mine, call()));
    if (kept.kind !== "kept" || kept.lost.length > 0) this.#books.faults.push(`m${this.#id} was robbed: ${kept.kind}`);
  }

  async #release(session: Session): Promise<void> {
    const holds = this.#mine.splice(0, 1 + Math.floor(Math.random() * 2));
    for (const each of holds) this.#books.give(each);
    if (holds.length > 0) await this.#sure((store) => store.release({ session, holds, endSession: false }, call()));
  }

  async #claim(session: Session): Promise<void> {
    const names = NAMES.filter((name) => this.#mine.every((each) => each.name !== name))
      .toSorted(() => Math.random() - 0.5)
      .slice(0, Math.random() < 0.7 ? 1 : 3);
    if (names.length === 0) return;
    const looked = await this.#sure((store) =>
      store.look(
        names.map((name) => ({ name })),
        call(),
      ),
    );
    if (looked.kind !== "seen") return;
    const isByVersion = Math.random() < 0.5;
    const claims = looked.seats.flatMap(({ name, version, state }): Claim[] => {
      // Nobody vouches for the silence of its holder.
      if (isByVersion && state !== "vacant") return [];
      const bid = asBid(`m${this.#id}.${++this.#bids}`);
      return [{ session, name, bid, over: isByVersion ? version : VACANT, value: "" }];
    });
    if (claims.length > 0) await this.#hear(claims);
  }

  async #hear(claims: readonly Claim[]): Promise<void> {
    const sentAt = performance.now();
    let answers: readonly Claimed[] = [];
    await this.#sure(async (store) => {
      answers = await store.claim(claims, call());
      return answers[0] ?? { kind: "unknown", cause: "no answer" };
    });
    for (const answer of answers) {
      if (answer.kind === "session-lost") this.#books.faults.push(`m${this.#id} has lost its session`);
      if (answer.kind !== "granted") continue;
      this.#books.take(answer.hold, sentAt);
      this.#mine.push(answer.hold);
    }
  }

  async #sure<A extends { readonly kind: string }>(
    ask: (store: FencedStore) => Promise<A>,
  ): Promise<Exclude<A, Unknown | Refused>> {
    for (;;) {
      this.#store ??= await this.#connect();
      const answer: A | Refused = await ask(this.#store);
      if (answer.kind !== "unknown" && answer.kind !== "refused") return answer as Exclude<A, Unknown | Refused>;
      const { code } = ((answer as Partial<Refused>).cause ?? {}) as { readonly code?: unknown };
      if (code === "40P01") this.#books.faults.push("a circle of locks");
      this.#store = undefined;
    }
  }

  async #connect(): Promise<FencedStore> {
    if (this.#id % 2 === 1) return this.#byUrl;
    void this.#client?.end().catch(() => {});
    this.#client = new pg.Client(this.#url);
    this.#client.on("error", () => {});
    await this.#client.connect();
    return postgres(this.#client);
  }
}

it("a crowd over versions and over VACANT: one holds a name, tokens grow, locks never wait in a circle", async () => {
  const url = await newDatabase(servers().urls[0] ?? "");
  const books = new Books();
  const startedAt = performance.now();
  const isOver = (): boolean => {
    const forMs = performance.now() - startedAt;
    return forMs > LONGEST_MS || (forMs > FOR_MS && books.grants.length > GRANTS);
  };
  const crowd = Array.from({ length: CROWD }, (_, id) => new Member(url, books, id).run(isOver));
  while (!isOver()) {
    await sleep(100);
    await byHand(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%conclave.%' ORDER BY random() LIMIT 1",
    );
  }
  await Promise.all(crowd);
  expect(books.faults).toEqual([]);
  expect(NAMES.flatMap((name) => books.disorder(name))).toEqual([]);
  expect(books.grants.length).toBeGreaterThan(GRANTS);
}, 60_000);

it("a name twice in one call is granted once", async () => {
  const store = postgres(await newDatabase(servers().urls[0] ?? ""));
  const session = await open(store);
  const twice = (...bids: readonly string[]): Promise<readonly Claimed[]> =>
    store.claim(
      bids.map((bid) => ({ session, name: "x", bid: asBid(bid), over: VACANT, value: "" })),
      call(),
    );
  expect(await twice("d.1", "d.2")).toMatchObject([{ kind: "granted" }, { kind: "beaten", seat: { state: "held" } }]);
  await store.release({ session, holds: [{ name: "x", bid: asBid("d.1") }], endSession: false }, call());
  expect(await twice("d.3", "d.3")).toMatchObject([
    { kind: "granted", hold: { token: { value: 2n } } },
    { kind: "granted", hold: { token: { value: 2n } } },
  ]);
  await store.close();
});

it("a watcher that begins when the seat is free is told so, also beside one who has been told before", async () => {
  const store = postgres(await newDatabase(servers().urls[0] ?? ""));
  const session = await open(store);
  const watch = (): AsyncIterator<Hint> => store.watch([{ name: "x" }], call())[Symbol.asyncIterator]();
  await store.release({ session, holds: [await hold(store, session, "x")], endSession: false }, call());
  expect((await watch().next()).value).toMatchObject({ seat: { state: "vacant" } });
  expect(await claim(store, session, "x")).toMatchObject({ kind: "granted" });
  const looked = await store.look([{ name: "x" }], call());
  const bid = looked.kind === "seen" ? looked.seats[0]?.holder?.bid : undefined;
  if (bid === undefined) throw new Error("nobody holds it");
  await store.release({ session, holds: [{ name: "x", bid }], endSession: false }, call());
  expect((await watch().next()).value).toMatchObject({ seat: { state: "vacant" } });
  await store.close();
});
