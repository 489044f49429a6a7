// One round of the demo: the leader is killed, and another leads; that one is stopped past its ttl with a write under way, and a third leads. When the
// stopped one goes on, the ledger refuses its write. Everything that is told here was heard from the processes themselves.
//
// A failover lasts from the signal that was sent to the first entry of the successor that the ledger took, both on the clock of this host.
import type { Cast, HeardMessage, DemoPlayer } from "./cast.ts";
import { nowMs, type DemoMessage } from "./messages.ts";

export interface Failover {
  readonly how: "killed" | "stopped";
  readonly from: string;
  readonly fromToken: bigint;
  readonly to: string;
  readonly toToken: bigint;
  readonly ms: number;
}

export interface StaleWrite {
  readonly who: string;
  readonly token: bigint;
  /** The newest token that the ledger knew. */
  readonly newest: bigint;
}

export interface Round {
  readonly failovers: readonly Failover[];
  readonly staleWrites: readonly StaleWrite[];
  /** A sentence for each thing that did not come out as it should. */
  readonly problems: readonly string[];
}

export interface DemoStage {
  readonly cast: Cast;
  readonly ttlMs: number;
  /** Aborts when the demo is told to stop. */
  readonly signal: AbortSignal;
  tell(who: string, what: string, tone?: Tone): void;
}

export type Tone = "good" | "bad" | "calm";

/** How long a leader is watched before something is done to it. */
const CALM_MS = 600;
/** On a busy machine a leader may be replaced without a fault, or finish its write before it is stopped: then the scene is played again. */
const ATTEMPTS = 5;
const AGAIN = "again";
type Scene<T> = T | typeof AGAIN | { readonly problem: string };

/** `undefined` if the demo was told to stop meanwhile. */
export async function playRound(stage: DemoStage): Promise<Round | undefined> {
  const killed = await play(stage, killLeader);
  if (killed === undefined || "problem" in killed)
    return killed && { failovers: [], staleWrites: [], problems: [killed.problem] };
  const stopped = await play(stage, stopLeader);
  if (stopped === undefined) return undefined;
  if ("problem" in stopped) return { failovers: [killed], staleWrites: [], problems: [stopped.problem] };
  await sleep(CALM_MS, stage.signal);
  return { failovers: [killed, stopped.failover], staleWrites: [stopped.staleWrite], problems: [] };
}

async function play<T extends object>(
  stage: DemoStage,
  scene: (stage: DemoStage, leader: DemoPlayer) => Promise<Scene<T> | undefined>,
): Promise<T | { readonly problem: string } | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const leader = await someLeader(stage);
    if (leader === undefined) return stage.signal.aborted ? undefined : { problem: "nobody was elected" };
    await sleep(CALM_MS, stage.signal);
    if (stage.signal.aborted) return undefined;
    if (stage.cast.leader !== leader) continue;
    const played = await scene(stage, leader);
    if (played === undefined) return undefined;
    if (played !== AGAIN) return played;
  }
  return { problem: `${ATTEMPTS} attempts came to nothing: this machine is too busy for a ttl of ${stage.ttlMs} ms` };
}

async function killLeader(stage: DemoStage, leader: DemoPlayer): Promise<Scene<Failover> | undefined> {
  const { cast } = stage;
  const { who, token } = leader;
  stage.tell(who, "SIGKILL", "bad");
  cast.expectEndOf(leader);
  const next = nextWriter(stage, token);
  const atMs = nowMs();
  void leader.kill();
  const successor = await next;
  cast.replace(who);
  if (successor === undefined) return stage.signal.aborted ? undefined : { problem: `nobody took over from ${who}` };
  if (successor.said.at < atMs) return AGAIN;
  return tellFailover(stage, { how: "killed", from: who, fromToken: token, atMs }, successor);
}

async function stopLeader(
  stage: DemoStage,
  leader: DemoPlayer,
): Promise<Scene<{ readonly failover: Failover; readonly staleWrite: StaleWrite }> | undefined> {
  const { cast } = stage;
  const { who, token } = leader;
  const answer = answerTo(stage, leader);
  if (!(await beginsToCompose(stage, leader))) return stage.signal.aborted ? undefined : AGAIN;
  const others = cast.players.filter((player) => player !== leader);
  for (const other of others) other.tell(`mind ${leader.pid}`);
  const next = nextWriter(stage, token);
  const atMs = nowMs();
  leader.stop();
  stage.tell(who, `SIGSTOP, with an entry under way that carries token ${token}`, "bad");
  const successor = await next;
  if (stage.signal.aborted) return undefined;
  const failover =
    successor === undefined
      ? undefined
      : tellFailover(stage, { how: "stopped", from: who, fromToken: token, atMs }, successor);
  stage.tell(who, "SIGCONT: goes on as if nothing had happened", "calm");
  const resumedAtMs = nowMs();
  leader.resume();
  const said = await answer;
  for (const other of others) other.tell("mind 0");
  if (stage.signal.aborted) return undefined;
  if (failover === undefined) {
    stage.tell(
      who,
      "had kept everybody out, as a process does that is stopped in the middle of a commit; again",
      "calm",
    );
    return AGAIN;
  }
  if (said === undefined) return { problem: `${who} never tried to write after it went on` };
  if (said.event === "wrote") {
    if (said.at >= resumedAtMs)
      return { problem: `the ledger took an entry of ${who} with token ${token} after one with ${failover.toToken}` };
    stage.tell(who, "had written its entry before it was stopped; again", "calm");
    return AGAIN;
  }
  return { failover, staleWrite: tellRefusal(stage, leader, said) };
}

/** From now on its thread is blocked, in the middle of careless work. */
async function beginsToCompose({ cast, signal }: DemoStage, leader: DemoPlayer): Promise<boolean> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(2000)]);
  const begins = cast.hears(
    ({ player, said }) => (player === leader && said.event === "composing" ? said : undefined),
    within,
  );
  leader.tell("compose");
  return (await begins) !== undefined;
}

type LedgerAnswer = Extract<DemoMessage, { readonly composed: boolean }>;

/** How the ledger answered the entry that the leader was composing. */
function answerTo({ cast, signal, ttlMs }: DemoStage, leader: DemoPlayer): Promise<LedgerAnswer | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(20_000 + 5 * ttlMs)]);
  return cast.hears(
    ({ player, said }) =>
      player === leader && (said.event === "wrote" || said.event === "refused") && said.composed ? said : undefined,
    within,
  );
}

type Wrote = Extract<DemoMessage, { readonly event: "wrote" }>;

/** The first entry with a greater token that the ledger takes from now on. */
function nextWriter({ cast, signal, ttlMs }: DemoStage, token: bigint): Promise<HeardMessage<Wrote> | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(10_000 + 3 * ttlMs)]);
  return cast.hears(
    ({ player, said }) => (said.event === "wrote" && BigInt(said.token) > token ? { player, said } : undefined),
    within,
  );
}

async function someLeader({ cast, signal, ttlMs }: DemoStage): Promise<DemoPlayer | undefined> {
  if (cast.leader !== undefined) return cast.leader;
  const within = AbortSignal.any([signal, AbortSignal.timeout(20_000 + 3 * ttlMs)]);
  return await cast.hears(({ player, said }) => (said.event === "elected" ? player : undefined), within);
}

function tellFailover(
  stage: DemoStage,
  { how, from, fromToken, atMs }: Pick<Failover, "how" | "from" | "fromToken"> & { readonly atMs: number },
  { player, said }: HeardMessage<Wrote>,
): Failover {
  const ms = said.at - atMs;
  const toToken = BigInt(said.token);
  const after = how === "killed" ? "after the kill" : `after the stop (ttl ${stage.ttlMs} ms)`;
  stage.tell(player.who, `leads with token ${toToken}; its first entry was taken ${ms.toFixed(0)} ms ${after}`, "good");
  return { how, from, fromToken, to: player.who, toToken, ms };
}

function tellRefusal(
  stage: DemoStage,
  { who }: DemoPlayer,
  said: Extract<DemoMessage, { readonly event: "refused" }>,
): StaleWrite {
  const staleWrite = { who, token: BigInt(said.token), newest: BigInt(said.newest) };
  stage.tell(who, `writes its entry late: token ${staleWrite.token} < ${staleWrite.newest}: refused`, "good");
  return staleWrite;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
