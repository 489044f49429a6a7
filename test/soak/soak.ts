// A soak: candidates as real processes on real servers, and for as long as it is wanted random faults to both, drawn from a seed. They note when they hold,
// and write to a resource with a fence, also when they no longer should. At the end a judge reads both (judge.ts).
import { readFileSync } from "node:fs";
import { Database } from "../stores/sqlite/by-hand.ts";
import { type Player, sleep, Stage } from "../support/processes.ts";
import { Chance } from "./chance.ts";
import { forge, judgeSoak, type Sabotage, type SoakVerdict } from "./judge.ts";
import { type Arena, etcdArena, postgresArena } from "./servers.ts";

export interface SoakOptions {
  readonly store: "etcd" | "postgres";
  readonly minutes: number;
  readonly seed: number;
  readonly sabotage?: Sabotage | undefined;
  /** Ends it early, and it is judged all the same. */
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface SoakReport extends SoakVerdict {
  readonly store: string;
  readonly seed: number;
  readonly seconds: number;
  /** How often each fault came. */
  readonly faults: Readonly<Record<string, number>>;
  /** Writes that the fence has refused: of terms that were over. */
  readonly refused: number;
}

const CANDIDATES = 5;
const TTL_MS = 3000;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const arena = await (options.store === "etcd" ? etcdArena() : postgresArena());
  const stage = new Stage();
  const crowd = new Crowd(stage, arena.store);
  const startedAt = performance.now();
  const faults: Record<string, number> = {};
  const counted = (name: string): void => void (faults[name] = (faults[name] ?? 0) + 1);
  try {
    await crowd.fill();
    await run(options, arena, crowd, counted, startedAt);
    await crowd.end();
    const accepted = readAccepted(stage.file("ledger.db"));
    const [log, writes] = forge(options.sabotage, readFileSync(stage.file("log"), "utf8"), accepted);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const { store, seed } = options;
    return { store, seed, seconds, faults, refused: crowd.refused, ...judgeSoak(log, writes) };
  } finally {
    await stage.end();
    await arena.stop();
  }
}

/** Two strands of faults, to the servers and to the candidates, each drawn from a seed of its own. */
async function run(
  { minutes, seed, signal, progress }: SoakOptions,
  arena: Arena,
  crowd: Crowd,
  counted: (fault: string) => void,
  startedAt: number,
): Promise<void> {
  const until = startedAt + minutes * 60_000;
  const isOver = (): boolean => signal.aborted || performance.now() > until;
  const strand = async (offset: number, faults: Arena["faults"], restMs: number): Promise<void> => {
    const chance = new Chance(seed * 2 + offset);
    while (!isOver()) {
      await sleep(chance.between(restMs / 4, restMs));
      const name = chance.of(Object.keys(faults));
      counted(name);
      await faults[name]?.(chance);
    }
  };
  const told = setInterval(() => {
    const secondsLeft = Math.max(0, Math.round((until - performance.now()) / 1000));
    progress(`${secondsLeft} s left, ${crowd.elected} terms begun, ${crowd.refused} stale writes refused`);
  }, 5000);
  try {
    await Promise.all([strand(0, arena.faults, 6000), strand(1, crowd.faults, 3000)]);
  } finally {
    clearInterval(told);
  }
}

/** The candidates. There are always as many. */
class Crowd {
  readonly #stage: Stage;
  readonly #store: string;
  readonly #all: Player[] = [];
  #alive: Player[] = [];

  constructor(stage: Stage, store: string) {
    this.#stage = stage;
    this.#store = store;
  }

  get elected(): number {
    return this.#count("elected");
  }

  get refused(): number {
    return this.#count("refused");
  }

  #count(event: string): number {
    return this.#all.reduce((sum, { heard }) => sum + heard.filter((each) => each.event === event).length, 0);
  }

  async fill(): Promise<void> {
    while (this.#alive.length < CANDIDATES) {
      const player = await this.#stage.start({
        store: this.#store,
        id: `c${this.#all.length}`,
        ttlMs: TTL_MS,
        drainMs: 300,
        log: this.#stage.file("log"),
        ledger: this.#stage.file("ledger.db"),
      });
      this.#all.push(player);
      this.#alive.push(player);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#alive.map((player) => player.kill()));
  }

  /** The leader more often than another. */
  #one(chance: Chance): Player {
    const leaders = this.#alive.filter(({ leads }) => leads);
    return chance.of(leaders.length > 0 && chance.next() < 0.7 ? leaders : this.#alive);
  }

  readonly faults: Arena["faults"] = {
    "candidate killed": async (chance) => {
      const player = this.#one(chance);
      await player.kill();
      this.#alive = this.#alive.filter((each) => each !== player);
      await this.fill();
    },
    /** It may wake long after its term was given to another, and then it writes. */
    "candidate stopped": async (chance) => {
      const player = this.#one(chance);
      player.signal("SIGSTOP");
      player.tell("write");
      await sleep(chance.between(100, 3 * TTL_MS));
      player.signal("SIGCONT");
    },
    "candidate blocked": async (chance) => {
      const player = this.#one(chance);
      if (player.leads) player.tell(`block ${Math.round(chance.between(100, 2 * TTL_MS))}`);
    },
    "candidate resigns": async (chance) => {
      const player = this.#one(chance);
      player.tell("resign");
      await sleep(chance.between(50, 1000));
      player.tell("stand");
    },
    "all write": async () => {
      for (const player of this.#alive) player.tell("write");
    },
  };
}

/** In the order of their commits. */
function readAccepted(file: string): readonly string[] {
  const database = new Database(file);
  const rows = database.prepare("SELECT token FROM entry ORDER BY rowid").all() as { token: string }[];
  database.close();
  return rows.map(({ token }) => token);
}
