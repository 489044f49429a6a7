// Two copies of one process, as a cloned virtual machine has them: when both keep one session, the second is refused where the store declares so (`refusesClones`). A store that does not declare it
// answers without beats, so that nobody relies on them.
import { randomUUID } from "node:crypto";
import type { Session } from "../../lease/exchange.ts";
import type { Bench, Case } from "./bench.ts";
import { check, checkEqual, checkHolds, checkKind } from "./check.ts";

export const cloneCases: readonly Case[] = [
  { name: "of two copies that keep one session the second is refused", run: refusesTheSecond },
  { name: "a keep renews over any beat that it names", run: renewsOverAny },
  { name: "a keep does not renew over the beat that it leaves itself", run: isNotDoubled },
  { name: "opening again with the same nonce and another beat answers session-lost", run: opensForOne },
  { name: "a copy that was overtaken ends nothing", run: endsNothing },
  { name: "a session that names no beats is kept and ended as ever", run: worksWithout },
];

/** Opens a session with a beat. Undefined if the store ignores beats, and says so. */
async function begin(bench: Bench): Promise<{ session: Session; beat: string } | undefined> {
  const beat = randomUUID();
  const session = await bench.open({ ...bench.spec(), beat });
  const expected = bench.guarantee.refusesClones === true ? [beat] : undefined;
  checkEqual(session.beats, expected, "an answer names the beat that stands if, and only if, the store refuses clones");
  return bench.guarantee.refusesClones === true ? { session, beat } : undefined;
}

async function refusesTheSecond(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { session, beat } = begun;
  const hold = await bench.win(session, bench.name());
  const [mine, other, next] = [randomUUID(), randomUUID(), randomUUID()];
  const kept = await bench.kept({ ...session, beats: [beat, mine] }, [hold]);
  checkEqual(kept.session.beats, [mine], "a keep leaves its last beat");
  const line = "once one copy has kept the session, the other is refused";
  checkKind(await bench.keep({ ...session, beats: [beat, other] }, [hold]), "session-lost", line);
  const again = await bench.kept({ ...session, beats: [mine, next] }, [hold]);
  checkHolds(again.lost, [], "the refusal takes nothing from the copy that goes on");
}

async function renewsOverAny(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { session, beat } = begun;
  const [lost, late, next] = [randomUUID(), randomUUID(), randomUUID()];
  await bench.kept({ ...session, beats: [beat, lost, late] });
  await bench.kept({ ...session, beats: [beat, lost, late, next] });
}

async function isNotDoubled(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { session, beat } = begun;
  const next = randomUUID();
  await bench.kept({ ...session, beats: [beat, next] });
  const line = "a keep finds one of the beats before its own";
  checkKind(await bench.keep({ ...session, beats: [beat, next] }), "session-lost", line);
}

async function opensForOne(bench: Bench): Promise<void> {
  const spec = { ...bench.spec(), beat: randomUUID() };
  const session = await bench.open(spec);
  if (bench.guarantee.refusesClones !== true)
    return checkEqual(session.beats, undefined, "it takes no notice of beats");
  const other = await bench.keep({ ...spec, beat: randomUUID() });
  checkKind(other, "session-lost", "an opening with another beat is not the same opening");
  checkEqual(await bench.open(spec), session, "opening again with the same nonce and beat is the same opening");
}

async function endsNothing(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  if (begun === undefined) return;
  const { session, beat } = begun;
  const hold = await bench.win(session, bench.name());
  const [mine, other, next] = [randomUUID(), randomUUID(), randomUUID()];
  await bench.kept({ ...session, beats: [beat, mine] }, [hold]);
  await bench.giveBack({ ...session, beats: [beat, other] }, [hold], true);
  const kept = await bench.kept({ ...session, beats: [mine, next] }, [hold]);
  checkHolds(kept.lost, [], "a copy that was overtaken takes nothing from the one that goes on");
  await bench.giveBack({ ...session, beats: [mine, next] }, [], true);
  checkKind(await bench.keep(session), "session-lost", "the copy that goes on can end its session");
}

async function worksWithout(bench: Bench): Promise<void> {
  const begun = await begin(bench);
  const session = begun?.session ?? (await bench.open());
  const { beats: _beats, ...plain } = session;
  const kept = await bench.kept(plain);
  check(kept.session.beats === undefined, "what names no beat is answered without one", "no beats", kept.session.beats);
  await bench.giveBack(plain, [], true);
  checkKind(await bench.keep(plain), "session-lost", "a session that is ended without beats is over");
}
