// A schedule in NestJS that runs each slot once per fleet. Start as many of these processes as you like: the one that leads bills. It says what it does, so that `npm run fleet` can kill and stop
// three of them and judge from outside which slots ran.
//
// Decorators are called as functions here, because Node reads no decorators. In TypeScript:
//
//   @Injectable()
//   class Billing {
//     @OncePerFleet("nightly-billing", { everyMs: 1000 }, { key: "bill", missed: "all" })
//     async bill({ slot, term }: SlotRun) { … }
//   }
//
//   npm run build && node examples/nestjs-fleet/main.mjs        in three terminals, with CONCLAVE_STORE=sqlite:./fleet.db
import { setTimeout as sleep } from "node:timers/promises";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ConclaveModule, OncePerFleet } from "conclave/nestjs";

const store = process.env["CONCLAVE_STORE"] ?? "memory:";
const ttlMs = Number(process.env["TTL_MS"] ?? 5_000);
const everyMs = Number(process.env["EVERY_MS"] ?? 1_000);
const mark = process.env["MARK"] === "after" ? "after" : "before";
let token = "";

class Billing {
  /**
   * With `mark: "after"` a slot may be billed again: then give the payment service the slot as its idempotency key. The work is so short that it does not look at its signal; longer work passes it on.
   *
   * @param {import("conclave/schedule").SlotRun} run
   */
  async bill({ slot, term }) {
    console.log(`begun ${slot.toISOString()} ${term.token.value}`);
    await sleep(everyMs / 4);
    console.log(`ended ${slot.toISOString()} ${term.token.value}`);
  }
}
Injectable()(Billing);
decorate(Billing.prototype, "bill", OncePerFleet("nightly-billing", { everyMs }, { key: "bill", missed: "all", mark }));

// oxlint-disable-next-line typescript/no-extraneous-class -- a module of Nest is a class
class App {}
Module({ imports: [ConclaveModule.forRoot({ store, ttlMs, onEvent: tell })], providers: [Billing] })(App);

/** @param {import("conclave").ConclaveEvent} event */
function tell(event) {
  if (event.type === "elected") {
    token = String(event.token?.value);
    console.log(`term ${token}`);
  } else if (event.type === "lost") console.log(`lost ${token}`);
  else if (event.type === "error") console.error(event.error.message);
}

/**
 * `@decorator method() {}`
 *
 * @template {object} T
 * @param {T} prototype
 * @param {keyof T & string} method
 * @param {MethodDecorator} decorator
 */
function decorate(prototype, method, decorator) {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) ?? {};
  decorator(prototype, method, descriptor);
  Object.defineProperty(prototype, method, descriptor);
}

const app = await NestFactory.createApplicationContext(App, { logger: ["error", "warn"] });
// On SIGTERM the module waits for a slot that is under way, and gives the seat back; then Nest ends the process with the same signal.
app.enableShutdownHooks();
