// The module, in real applications of NestJS. Its decorators are called as functions here; test/projects/nest-11 and nest-12 write them as users do.
import { type INestApplicationContext, Injectable, Module, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { type Candidate, createCandidate, type Election, type Term } from "conclave";
import {
  CONCLAVE_CANDIDATE,
  ConclaveModule,
  IfLeading,
  InjectCandidate,
  InjectElection,
  OncePerFleet,
  WhileLeading,
} from "conclave/nestjs";
import type { SlotRun } from "conclave/schedule";
import { memory } from "conclave/stores/memory";
import { afterEach, describe, expect, it } from "vitest";

let open: INestApplicationContext[] = [];
afterEach(async () => {
  await Promise.all(open.map((app) => app.close()));
  open = [];
});

async function start(imports: NonNullable<Parameters<typeof Module>[0]["imports"]>, ...providers: Type[]) {
  // oxlint-disable-next-line typescript/no-extraneous-class -- a module of Nest is a class
  class App {}
  Module({ imports, providers })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  open.push(app);
  return app;
}

/** `@decorator method() {}` */
function decorate<T extends object>(
  target: new (...args: never[]) => T,
  method: keyof T & string,
  decorator: object,
): void {
  const prototype = target.prototype as object;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method);
  if (descriptor === undefined) throw new Error(`no method ${method}`);
  (decorator as MethodDecorator)(prototype, method, descriptor);
  Object.defineProperty(prototype, method, descriptor);
}

function makeWorker() {
  class Worker {
    readonly terms: Term[] = [];
    isSettled = false;
    async work(term: Term): Promise<void> {
      this.terms.push(term);
      await term.ended;
      this.isSettled = true;
    }
  }
  decorate(Worker, "work", WhileLeading("worker"));
  Injectable()(Worker);
  return Worker;
}

describe("the module of NestJS", () => {
  it("runs a method while it leads, on one application of two, and hands over when that closes", async () => {
    const store = memory();
    const [First, Second] = [makeWorker(), makeWorker()];
    const first = await start([ConclaveModule.forRoot({ store, id: "a" })], First);
    await expect.poll(() => first.get(First).terms.length).toBe(1);
    const second = await start([ConclaveModule.forRootAsync({ useFactory: async () => ({ store, id: "b" }) })], Second);
    expect(second.get(Second).terms).toEqual([]);
    await first.close();
    expect(first.get(First).isSettled).toBe(true);
    expect(first.get(First).terms[0]?.isHeld()).toBe(false);
    await expect.poll(() => second.get(Second).terms.length).toBe(1);
    expect(second.get(Second).terms[0]?.token.value).toBe(2n);
  });

  it("injects the candidate, and elections of forFeature: the same that decorators lead", async () => {
    class Status {
      readonly candidate: Candidate;
      readonly election: Election;
      constructor(candidate: Candidate, election: Election) {
        this.candidate = candidate;
        this.election = election;
      }
    }
    InjectCandidate()(Status, undefined, 0);
    InjectElection("worker")(Status, undefined, 1);
    Injectable()(Status);
    const Worker = makeWorker();
    const root = ConclaveModule.forRoot({ store: memory(), id: "a" });
    const app = await start([root, ConclaveModule.forFeature("worker")], Status, Worker);
    const status = app.get(Status);
    expect(status.candidate.id).toMatch(/^a/);
    await expect.poll(() => status.election.term()).toBe(app.get(Worker).terms[0]);
  });

  it("lets calls through only while it leads, and waits for them when it closes", async () => {
    const store = memory();
    let finish = (): void => {};
    class Billing {
      readonly billed: unknown[] = [];
      async bill(day: string, term?: Term): Promise<string> {
        this.billed.push(day, term?.election);
        await new Promise<void>((resolve) => (finish = resolve));
        return `billed ${day}`;
      }
    }
    decorate(Billing, "bill", IfLeading("billing"));
    Injectable()(Billing);
    const rival = createCandidate({ store, id: "rival" });
    const term = await rival.election("billing").campaign();
    const app = await start([ConclaveModule.forRoot({ store, id: "app" })], Billing);
    const billing = app.get(Billing);
    expect(await billing.bill("monday")).toBeUndefined();
    await term.resign();
    await expect.poll(async () => (await rival.election("billing").leader())?.id).toMatch(/^app/);
    const call = billing.bill("tuesday");
    await expect.poll(() => billing.billed).toEqual(["tuesday", "billing"]);
    const closing = app.close();
    expect(await rival.election("billing").tryCampaign()).toBeUndefined();
    finish();
    expect(await call).toBe("billed tuesday");
    await closing;
    expect(await billing.bill("wednesday")).toBeUndefined();
    await expect.poll(() => rival.election("billing").tryCampaign()).toBeDefined();
    await rival.close();
  });

  it("logs a method that fails, and stands again after a pause", async () => {
    const fails: Error[] = [];
    class Worker {
      async work(): Promise<void> {
        if (fails.push(new Error("out of paper")) === 1) throw fails[0] as Error;
      }
    }
    decorate(Worker, "work", WhileLeading("worker"));
    Injectable()(Worker);
    await start([ConclaveModule.forRoot({ store: memory() })], Worker);
    await expect.poll(() => fails.length, { timeout: 10_000 }).toBe(2);
  });

  it("does not start with options that createCandidate refuses", async () => {
    await expect(start([ConclaveModule.forRoot({ store: memory(), ttlMs: -1 })])).rejects.toThrow(/ttlMs/);
  });
});

describe("OncePerFleet", () => {
  function makeBilling() {
    class Billing {
      readonly slots: string[] = [];
      readonly terms: Term[] = [];
      end: () => void = () => {};
      async bill({ slot, term }: SlotRun): Promise<void> {
        this.slots.push(slot.toISOString());
        this.terms.push(term);
      }
      async poll(term: Term): Promise<void> {
        await term.ended;
      }
    }
    decorate(Billing, "bill", OncePerFleet("billing", { everyMs: 100 }, { missed: "all" }));
    decorate(Billing, "poll", WhileLeading("billing"));
    Injectable()(Billing);
    return Billing;
  }

  it("runs the method once for each slot, on the application that leads, beside other methods; the next one goes on where it ended", async () => {
    const store = memory();
    const [First, Second] = [makeBilling(), makeBilling()];
    const first = await start([ConclaveModule.forRoot({ store, id: "a" })], First);
    const second = await start([ConclaveModule.forRoot({ store, id: "b" })], Second);
    const [a, b] = [first.get(First), second.get(Second)];
    await expect.poll(() => a.slots.length).toBeGreaterThan(2);
    expect(b.slots).toEqual([]);
    await first.close();
    await expect.poll(() => b.slots.length).toBeGreaterThan(2);
    const all = [...a.slots, ...b.slots].map((slot) => Date.parse(slot));
    const [begin = 0] = all;
    expect(all).toEqual(all.map((_, index) => begin + 100 * index));
    const memo = await second
      .get<Candidate>(CONCLAVE_CANDIDATE)
      .election("billing")
      .memo("conclave/schedule/Billing.bill");
    expect(memo?.value).toContain("slot");
  });
});
