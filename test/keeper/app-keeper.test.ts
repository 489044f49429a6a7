// The keeper of an app: what it takes for a death, what it waits for, and what it gives back. Real processes; time is driven where it has to pass.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { afterAll, afterEach, expect, it } from "vitest";
import { sqlite } from "conclave/stores/sqlite";
import { asBid, type Call, type Session, VACANT } from "conclave/stores/contract";
import { identify } from "../../src/keeper/processes.ts";
import { happens, kill, nowMs, until } from "../supervisor/stage.ts";
import { A_WHILE_MS, idOf, KeeperStage, type LoneKeeper } from "./stage.ts";

const PATIENT = { timeout: 60_000 };
const stage = new KeeperStage();
afterEach(() => {
  for (const child of stage.started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => stage.end());

async function ends(pid: number | undefined): Promise<void> {
  kill(pid ?? -1, "SIGKILL");
  await until(() => !existsSync(`/proc/${pid}`), "it is gone");
}

function bereave(keeper: LoneKeeper, app: { readonly pid?: number | undefined }): void {
  kill(app.pid ?? -1, "SIGKILL");
  keeper.cut();
}

it("lets go when the app is dead, and ends", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  bereave(keeper, app);
  expect(await keeper.letsGo()).toBe(true);
  expect(await happens(() => keeper.hasEnded)).toBe(true);
  expect(existsSync(keeper.life), "rivals find the file that refuses, and know").toBe(true);
});

it("notices a death although somebody else has its pipe open", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  kill(app.pid ?? -1, "SIGKILL");
  expect(await keeper.letsGo()).toBe(true);
});

it("a pipe that has ended is no death", PATIENT, async () => {
  const keeper = await stage.keep(idOf(stage.play("exec sleep 1000", { isAlone: false })));
  keeper.tellOfSession();
  keeper.cut();
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
});

it("an app that is stopped is not dead; once it is killed it is", PATIENT, async () => {
  const app = stage.play("exec sleep 1000", { isAlone: false });
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  kill(app.pid ?? -1, "SIGSTOP");
  keeper.cut();
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  kill(app.pid ?? -1, "SIGKILL");
  expect(await keeper.letsGo()).toBe(true);
});

it("a process that has the app's number by now is not the app", PATIENT, async () => {
  const { pid } = idOf(stage.play("exec sleep 1000"));
  const keeper = await stage.keep({ pid, startedAt: "1" });
  keeper.tellOfSession();
  keeper.cut();
  expect(await keeper.letsGo()).toBe(true);
});

it("waits for a process with the app's mark, whatever its group and session", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  const child = stage.play("exec sleep 1000", { isMarked: true });
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  bereave(keeper, app);
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  await until(() => keeper.errors.includes(`process ${child.pid}, which it started, still runs`), "it says why");
  kill(child.pid ?? -1, "SIGSTOP");
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  await ends(child.pid);
  expect(await keeper.letsGo()).toBe(true);
});

it("waits for one without the mark that it has seen below the app", PATIENT, async () => {
  const file = stage.file("unmarked.pid");
  const app = stage.play(`env -i setsid sh -c 'echo $$ > ${file}; exec sleep 1000' & exec sleep 1000`);
  await until(() => existsSync(file) && readFileSync(file, "utf8") !== "", "it runs");
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  bereave(keeper, app);
  const child = Number(readFileSync(file, "utf8"));
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  await ends(child);
  expect(await keeper.letsGo()).toBe(true);
});

it("waits for a fork of the app that has not become another program yet, and so has no mark", PATIENT, async () => {
  const file = stage.file("fork.pid");
  const fork = `use POSIX; if (!fork) { exit if fork; POSIX::setsid(); open(F, ">", "${file}"); print F $$; close F; sleep 1000 } sleep 1000`;
  const app = stage.play(`exec perl -e '${fork}'`);
  await until(() => existsSync(file) && readFileSync(file, "utf8") !== "", "it runs");
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  bereave(keeper, app);
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  await ends(Number(readFileSync(file, "utf8")));
  expect(await keeper.letsGo()).toBe(true);
});

it("a stranger in the app's process group, as in a shell's pipeline, is not waited for", PATIENT, async () => {
  const [first, second] = [stage.file("first.pid"), stage.file("second.pid")];
  const sleeps = (file: string): string => `open(F, ">", "${file}"); print F $$; close F; exec "sleep", "1000"`;
  const pipeline = `$a = fork; if (!$a) { setpgrp(0, 0); ${sleeps(first)} } select(undef, undef, undef, 0.01) until -s "${first}"; if (!fork) { setpgrp(0, $a); ${sleeps(second)} } sleep 1000`;
  stage.play(`exec perl -e '${pipeline}'`);
  const pidIn = (file: string): number => (existsSync(file) ? Number(readFileSync(file, "utf8")) : 0);
  await until(() => pidIn(second) > 0 && pidIn(first) > 0, "both run");
  const app = identify(pidIn(first));
  if (app === undefined) throw new Error("it was not started");
  const keeper = await stage.keep(app);
  keeper.tellOfSession();
  bereave(keeper, app);
  expect(await keeper.letsGo()).toBe(true);
  expect(identify(pidIn(second)), "it lives").toBeDefined();
  kill(pidIn(second), "SIGKILL");
});

it("waits for one that may be the app's child and cannot be looked at", PATIENT, async () => {
  const under = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
  const file = stage.file("hidden.pid");
  await stage.program(); // the folder is everybody's
  const prctl = process.arch === "x64" ? 157 : 167;
  const hide = `perl -e 'use POSIX; exit if fork; POSIX::setsid(); syscall(${prctl}, 4, 0); open(F, ">", "${file}"); print F $$; close F; sleep 1000'`;
  const app = stage.play(`${hide}; exec sleep 1000`, { under, env: { PATH: "/usr/bin:/bin" } });
  await until(() => existsSync(file) && readFileSync(file, "utf8") !== "", "it hides");
  const keeper = await stage.keep(idOf(app), { under });
  keeper.tellOfSession();
  bereave(keeper, app);
  const hidden = Number(readFileSync(file, "utf8"));
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  await until(
    () => keeper.errors.includes(`process ${hidden} may be its child and cannot be looked at`),
    "it says why",
  );
  await ends(hidden);
  expect(await keeper.letsGo()).toBe(true);
});

it("counts quietMs from when the last of them was gone", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  const child = stage.play("exec sleep 1000", { isMarked: true });
  const keeper = await stage.keep(idOf(app), { isDriven: true });
  keeper.tellOfSession(2000);
  bereave(keeper, app);
  await until(() => keeper.errors.includes("still runs"), "it has seen the death");
  keeper.setTime(3000);
  await ends(child.pid);
  expect(await keeper.letsGo(A_WHILE_MS), keeper.errors).toBe(false);
  keeper.setTime(4900);
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  keeper.setTime(5100);
  expect(await keeper.letsGo()).toBe(true);
});

it("gives up before 10 s, and then nothing is found of what rivals watch: the ttl decides", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  stage.play("exec sleep 1000", { isMarked: true });
  const keeper = await stage.keep(idOf(app), { isDriven: true });
  keeper.tellOfSession();
  bereave(keeper, app);
  await until(() => keeper.errors.includes("still runs"), "it has seen the death");
  keeper.setTime(9400);
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  expect(existsSync(keeper.life)).toBe(true);
  keeper.setTime(9600);
  expect(await happens(() => keeper.hasEnded)).toBe(true);
  expect(existsSync(keeper.life)).toBe(false);
});

it("told farewell it ends, and does nothing", PATIENT, async () => {
  const keeper = await stage.keep(idOf(stage.play("exec sleep 1000")));
  keeper.tellOfSession();
  keeper.tell({ word: "farewell" });
  expect(await happens(() => keeper.hasEnded)).toBe(true);
  expect(existsSync(keeper.life)).toBe(true);
});

it("signals that are meant for the app do not end it", PATIENT, async () => {
  const app = stage.play("exec sleep 1000");
  const keeper = await stage.keep(idOf(app));
  keeper.tellOfSession();
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) kill(keeper.process.pid ?? -1, signal);
  expect(await keeper.letsGo(A_WHILE_MS)).toBe(false);
  bereave(keeper, app);
  expect(await keeper.letsGo()).toBe(true);
});

it("a keeper that was told nothing before its app died ends", PATIENT, async () => {
  const ended = spawnSync(process.execPath, [await stage.program(), "test"], { input: "", timeout: 20_000 });
  expect(ended.status).toBe(0);
});

// ---- what is given back at a store

const call = (): Call => ({ signal: AbortSignal.timeout(10_000), sentAtMs: nowMs() });

/** A session that holds `name`. */
async function hold(store: ReturnType<typeof sqlite>, nonce: string, name: string): Promise<Session> {
  const kept = await store.keep({ nonce, candidate: "app", ttlMs: 60_000 }, [], call());
  if (kept.kind !== "kept") throw new Error(kept.kind);
  const { session } = kept;
  const [claimed] = await store.claim([{ session, name, bid: asBid(`${nonce}.1`), over: VACANT, value: "" }], call());
  expect(claimed?.kind).toBe("granted");
  return session;
}

it("ends the session of the dead, and touches no later one of the same name and candidate", PATIENT, async () => {
  const url = `sqlite:${stage.file("will.db")}`;
  const store = sqlite(url);
  const state = async (name: string) => {
    const looked = await store.look([{ name }], call());
    return looked.kind === "seen" ? looked.seats[0]?.state : looked.kind;
  };
  const session = await hold(store, "first", "x");
  await hold(store, "second", "later");
  const app = stage.play("exec sleep 1000");
  const keeper = await stage.keep(idOf(app));
  keeper.tell({ word: "session", key: 1, url, quietMs: 0, session, holds: [{ name: "later", bid: "first.2" }] });
  keeper.tell({ word: "claimed", key: 1, holds: [{ name: "x", bid: "first.1" }] });
  bereave(keeper, app);
  expect(await happens(() => keeper.hasEnded)).toBe(true);
  expect([await state("x"), await state("later")]).toEqual(["vacant", "held"]);
  expect((await store.keep(session, [], call())).kind).toBe("session-lost");
  await store.close();
});

it("gives nothing back that is over, or whose beats it does not know", PATIENT, async () => {
  const url = `sqlite:${stage.file("over.db")}`;
  const store = sqlite(url);
  const over = await hold(store, "over", "a");
  const cloned = await hold(store, "cloned", "b");
  const app = stage.play("exec sleep 1000");
  const keeper = await stage.keep(idOf(app));
  keeper.tell({ word: "session", key: 1, url, quietMs: 0, session: over, holds: [] });
  keeper.tell({ word: "over", key: 1 });
  keeper.tell({ word: "session", key: 2, url, quietMs: 0, session: cloned, holds: [] });
  keeper.tell({ word: "beats", key: 2, beats: ["00000000-0000-4000-8000-000000000000"] });
  bereave(keeper, app);
  expect(await happens(() => keeper.hasEnded)).toBe(true);
  for (const session of [over, cloned]) expect((await store.keep(session, [], call())).kind).toBe("kept");
  await store.close();
});
