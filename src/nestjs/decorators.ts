// Decorators of methods. They only leave a mark on the method; explorer.ts acts on it once the application has started.
import type { UnfencedTerm } from "../election/term.ts";
import type { ScheduleOptions } from "../schedule/schedule.ts";
import type { When } from "../schedule/when.ts";

const WHILE_LEADING = Symbol.for("conclave.nestjs.while-leading");
const IF_LEADING = Symbol.for("conclave.nestjs.if-leading");
const ONCE_PER_FLEET = Symbol.for("conclave.nestjs.once-per-fleet");

type Method = (...args: unknown[]) => unknown;

/** Where `IfLeading` finds the terms: object that has the method → by name, what runs work in the present term. */
export type RunInTerm = (work: (term: UnfencedTerm) => Promise<unknown>) => Promise<unknown>;
const runs = new WeakMap<object, ReadonlyMap<string, RunInTerm>>();

/** What is known of the elections that the methods of an object name. */
export function connect(instance: object, byName: ReadonlyMap<string, RunInTerm>): void {
  runs.set(instance, byName);
}

/**
 * Runs the method each time this process is elected, with the term as its argument, until the method settles or the application closes. It gets
 * `term.signal`, and must end soon after that has aborted. If it rejects, the error is logged, others may lead, and this process stands again after a
 * pause; if it resolves, this process has done its part and does not stand again.
 */
export function WhileLeading(election: string): MethodDecorator {
  return (_target, _key, descriptor) => mark(descriptor.value, WHILE_LEADING, election);
}

/**
 * Lets calls of the method through only while this process leads; otherwise they resolve with undefined. The term is added as the last argument. Closing the
 * application waits for calls that run. For methods that a schedule calls in every replica: `@Cron("0 3 * * *") @IfLeading("nightly-billing")`.
 */
export function IfLeading(election: string): MethodDecorator {
  return (_target, key, descriptor) => {
    const method = descriptor.value as Method | undefined;
    if (typeof method !== "function") return;
    const guarded = async function (this: object, ...args: unknown[]): Promise<unknown> {
      const run = runs.get(this)?.get(election);
      return await run?.(async (term) => await method.call(this, ...args, term));
    };
    // What other decorators have left on the method, such as a schedule, stays.
    for (const found of Reflect.ownKeys(method))
      if (!(found in guarded))
        Object.defineProperty(guarded, found, Reflect.getOwnPropertyDescriptor(method, found) ?? {});
    Object.defineProperty(guarded, "name", { value: String(key) });
    mark(guarded, IF_LEADING, election);
    (descriptor as PropertyDescriptor).value = guarded;
  };
}

/**
 * Runs the method once per fleet for each slot, on the process that leads, with `{ slot, isCatchUp, signal, term }` as its argument: `@OncePerFleet("nightly-billing", { cron: "0 3 * * *" })`.
 * The options are those of `schedule`; the key is the class and the method unless you give one, so give one before you rename either. See docs/ONCE-PER-FLEET.md.
 */
export function OncePerFleet(election: string, when: When, options: ScheduleOptions = {}): MethodDecorator {
  return (_target, _key, descriptor) => mark(descriptor.value, ONCE_PER_FLEET, { election, when, options });
}

function mark(method: unknown, kind: symbol, value: string | Slots): void {
  if (typeof method === "function") Object.defineProperty(method, kind, { value });
}

/** What `OncePerFleet` was told. */
export interface Slots {
  readonly election: string;
  readonly when: When;
  readonly options: ScheduleOptions;
}

export interface Marked {
  readonly kind: "while" | "if" | "slots";
  readonly election: string;
  readonly method: string;
  /** Of "slots". */
  readonly slots?: Slots;
}

/** The marked methods of an object, inherited ones too. */
export function markedMethods(instance: object): readonly Marked[] {
  const found = new Map<string, Marked>();
  for (
    let proto = Object.getPrototypeOf(instance);
    proto !== null && proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto)
  )
    for (const name of Object.getOwnPropertyNames(proto)) {
      const method: unknown = Object.getOwnPropertyDescriptor(proto, name)?.value;
      if (typeof method !== "function" || found.has(name)) continue;
      const marks = method as unknown as Readonly<Record<symbol, unknown>>;
      const running = marks[WHILE_LEADING] as string | undefined;
      const asking = marks[IF_LEADING] as string | undefined;
      const slots = marks[ONCE_PER_FLEET] as Slots | undefined;
      if (slots !== undefined) found.set(name, { kind: "slots", election: slots.election, method: name, slots });
      else if (running !== undefined) found.set(name, { kind: "while", election: running, method: name });
      else if (asking !== undefined) found.set(name, { kind: "if", election: asking, method: name });
    }
  return [...found.values()];
}
