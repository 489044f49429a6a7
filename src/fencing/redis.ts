// redisFence: for data kept in Redis, with tokens of a store that has them (Redis itself has none). The fence is a key beside the data. A write is one script that compares the fence with the
// text under which this token was admitted, and writes only if it is that text; so the check and the write are one step, whichever client sends it.
//
// THE ARGUMENT
//   one step   Redis runs a script alone. What the rule says of a token depends only on what is remembered, and the text is what is remembered. So an operation that was admitted under a
//              text is admitted wherever that text stands, and is written nowhere else. Texts are compared for equality, never as numbers: Lua's numbers are doubles, and take 2⁵³ + 1 for 2⁵³.
//   law 12     (raise, then read, then write) `raise` installs the token by such a script. Every write that an older leader has in flight compares an older text from then on, and is refused
//              however late it arrives. So no older write changes what the leader reads from this server after `raise`.
//   unknown    A script without an answer may be run later, under the same comparison. The caller is told STORE_TIMEOUT, not that it failed.
//   once       A script may arrive twice: a client of the user's may send a command again when its connection broke before the answer, as ioredis does unless it is told otherwise. So a write has a number of its
//              writer (write-numbers.ts), and the script that carries it out remembers the number in the same step, in a key beside the fence. A number that is remembered is not carried out again. Numbers are
//              remembered until another text is installed in the fence, and every copy that arrives after that compares the older text and is refused.
// Not promised: the fence is as durable as the data beside it. A failover to a replica that has not heard of the newest token, a restart without its last writes, a flush or an eviction forget it, and then an
// older leader is admitted again; the data written under the newer token is forgotten with it. Data that must survive that belongs into another database. What is remembered of numbers is forgotten in the same ways.
// Needs: every writer of the guarded keys writes through `write`. In a cluster fence and data must be in one slot: give both the same hash tag.
import { ConclaveError, type ErrorCode, invalidConfig } from "../base/errors.ts";
import { Recent } from "../base/recent.ts";
import { isClient, placeOfClient, portOf, type RedisClient, UrlPort } from "../clients/redis/client.ts";
import { isMissingRight, outcomeOf, type RedisWhereabouts } from "../clients/redis/errors.ts";
import { type RedisPort, scriptOf } from "../clients/redis/port.ts";
import { parseUrl, placeOf, problemOfUrl, tlsOfUrl } from "../clients/redis/url.ts";
import { show } from "../base/show.ts";
import { passwordHidden } from "../base/url.ts";
import { admit, adopted, type Adopted, type Lowering, type Move, moveDomain, type Remembered } from "./guard.ts";
import { prefixOf, resourceOf, textOf, tokenOf } from "./input.ts";
import { memoryOfText, textOfMemory } from "./memory-text.ts";
import { adoptByCall, adoptByCommand, type HowToAdopt } from "./refusals.ts";
import { type Verifier, verifierOf, type Verifying } from "./signed.ts";
import type { Fenced, Signed } from "./token.ts";
import { type WriteNumber, WriteNumbers } from "./write-numbers.ts";

const DEFAULT_PREFIX = "conclave-fence:";
const ANSWER_WITHIN_MS = 10_000;
/** How many resources are remembered. One that was forgotten is read once more. */
const RESOURCES_REMEMBERED = 10_000;
/** Lua's stack takes some more. A script that ran out of it would stop after the writes before. */
const ARGS_MAX = 7000;

/** One command on one key: `{ command: "HSET", key: "order:7", args: ["state", "paid"] }`. */
export interface RedisWrite {
  readonly command: string;
  readonly key: string;
  readonly args?: readonly string[] | undefined;
}

/** A guard for keys in Redis. */
export interface RedisFence<By extends Fenced | Signed = Fenced> {
  /** For a new leader, before it reads: refuses an older token, else installs this one. */
  raise(resource: string, by: By): Promise<void>;
  /**
   * Makes all of `writes` in one step, in their order, or none, and refuses. Redis takes nothing back: if one of them fails (another type under its key), those before it stand, and the error says so.
   * A write is carried out once, also if a client sends it twice. If its answer was lost it rejects with STORE_TIMEOUT: read before you write again.
   * Resolves to what Redis answered to each; a number above 2⁵³ is rounded, because it passes through Lua.
   */
  write(resource: string, by: By, writes: readonly RedisWrite[]): Promise<readonly unknown[]>;
  /** After a deliberate move to another store: tokens of the old domain stay refused. Or a repair, after a token that no store has granted. */
  adopt(resource: string, move: Move | Lowering): Promise<Adopted>;
  /** Closes a connection that the fence opened; the next call opens it anew. A client of yours stays open. */
  close(): Promise<void>;
}

/** Options of `redisFence`. */
export interface RedisFenceOptions {
  /** The prefix of the fence's keys. @default "conclave-fence:" */
  readonly prefix?: string | undefined;
}

/** The same as the other form, for signed tokens. */
export function redisFence(source: string | RedisClient, options: RedisFenceOptions & Verifying): RedisFence<Signed>;
/** Takes a client of ioredis or redis (one server, or a cluster), or a URL. Data and fence must be on one server; the election is elsewhere. */
export function redisFence(source: string | RedisClient, options?: RedisFenceOptions): RedisFence;
export function redisFence(
  source: string | RedisClient,
  options: RedisFenceOptions & Partial<Verifying> = {},
): RedisFence<Fenced | Signed> {
  const verifier = verifierOf("redisFence", options, ["prefix"]);
  const prefix = prefixOf("redisFence", options?.prefix, DEFAULT_PREFIX);
  if (typeof source !== "string") {
    if (!isClient(source))
      throw invalidConfig("redisFence", [`${show(source)} is neither a URL, nor a client of ioredis or redis`]);
    return new KeyFence({
      port: portOf(source),
      place: placeOfClient(source),
      prefix,
      howToAdopt: adoptByCall,
      verifier,
    });
  }
  const problem = problemOfUrl(source);
  if (problem !== undefined) throw invalidConfig("redisFence", [problem]);
  const [server, another] = parseUrl(source).servers;
  if (server === undefined || another !== undefined)
    throw invalidConfig("redisFence", ["data and fence are in one server: name one"]);
  const flags = ["--guard", passwordHidden(source), ...(prefix === DEFAULT_PREFIX ? [] : ["--prefix", prefix])];
  const howToAdopt = adoptByCommand(flags);
  const [place, tls] = [placeOf(server), tlsOfUrl(server)];
  return new KeyFence({ port: new UrlPort(server), place, tls, prefix, howToAdopt, verifier });
}

// KEYS[1] the fence, KEYS[2] what is remembered of numbers, then one key for each write; without writes only the fence. ARGV[1] the text that must stand in the fence ("" for none), ARGV[2] the text to install ("" for
// none), ARGV[3] the writes as JSON, ARGV[4] the writer, ARGV[5] the number of this write, ARGV[6] the smallest number under way.
// Of each writer KEYS[2] has "12 9 10": the greatest number that was carried out, and those below it that were not and may still be. These are few: numbers mostly arrive in their order. Only a GET and an HMGET stand
// before the first write, so that a right that is missing is told before anything is written.
// Answers as JSON: what stands instead, or that this number was carried out before, or what each write was answered and the place of the one that failed. A number in an answer is written { n = "12" }, because JSON
// of Lua rounds it to 14 digits.
const WRITE = scriptOf(`local function plain(reply)
  if type(reply) == 'number' then return { n = string.format('%.0f', reply) } end
  if type(reply) == 'boolean' then return cjson.null end
  if type(reply) ~= 'table' then return reply end
  if reply.ok then return reply.ok end
  for index, item in ipairs(reply) do reply[index] = plain(item) end
  return reply
end
local fence = redis.call('GET', KEYS[1])
if (fence or '') ~= ARGV[1] then return cjson.encode({ stands = fence or '' }) end
local writes = cjson.decode(ARGV[3])
if #writes > 0 then
  local text = ARGV[2] ~= '' and ARGV[2] or ARGV[1]
  local number, lowest = tonumber(ARGV[5]), tonumber(ARGV[6])
  local kept = redis.call('HMGET', KEYS[2], 'text', ARGV[4])
  local greatest, isOpen, open = 0, false, {}
  if kept[1] == text and kept[2] then
    for digits in string.gmatch(kept[2], '%d+') do
      local each = tonumber(digits)
      if greatest == 0 then greatest = each
      elseif each == number then isOpen = true
      elseif each >= lowest then open[#open + 1] = digits end
    end
  end
  if number <= greatest and not isOpen then return cjson.encode({ repeated = true }) end
  for each = math.max(greatest + 1, lowest), number - 1 do open[#open + 1] = string.format('%.0f', each) end
  table.insert(open, 1, string.format('%.0f', math.max(greatest, number)))
  if kept[1] and kept[1] ~= text then redis.call('DEL', KEYS[2]) end
  redis.call('HSET', KEYS[2], 'text', text, ARGV[4], table.concat(open, ' '))
end
if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2]) end
local replies = {}
for index, write in ipairs(writes) do
  local reply = redis.pcall(write.command, KEYS[2 + index], unpack(write.args or {}))
  if type(reply) == 'table' and reply.err then return cjson.encode({ failed = index, why = reply.err }) end
  replies[index] = plain(reply)
end
return cjson.encode({ replies = replies })`);

interface FenceParts extends Pick<RedisWhereabouts, "place" | "tls"> {
  readonly port: RedisPort;
  readonly prefix: string;
  readonly howToAdopt: HowToAdopt;
  readonly verifier: Verifier | undefined;
}

interface Change {
  readonly key: string;
  readonly next: (before: Remembered | undefined) => Remembered;
  readonly writes: readonly RedisWrite[];
  readonly number: () => WriteNumber;
}

interface Changed {
  readonly after: Remembered;
  readonly isNew: boolean;
  readonly replies: readonly unknown[];
}

class KeyFence implements RedisFence<Fenced | Signed> {
  readonly #port: RedisPort;
  readonly #prefix: string;
  readonly #where: RedisWhereabouts;
  readonly #howToAdopt: HowToAdopt;
  readonly #verifier: Verifier | undefined;
  /** The fence's text as last seen. If it is out of date, the comparison fails, and its answer shows what is there. */
  readonly #known = new Recent<string, string>(RESOURCES_REMEMBERED);
  /** The numbers of a resource that was forgotten begin anew under another writer. */
  readonly #numbers = new Recent<string, WriteNumbers>(RESOURCES_REMEMBERED);

  constructor({ port, place, tls, prefix, howToAdopt, verifier }: FenceParts) {
    this.#port = port;
    this.#prefix = prefix;
    this.#howToAdopt = howToAdopt;
    this.#verifier = verifier;
    const grant = `ACL SETUSER NAME ~${prefix}* +eval +evalsha +get +set +hmget +hset +del, and the keys and commands of your writes`;
    this.#where = { place, tls, grant };
  }

  async raise(resource: string, by: Fenced | Signed): Promise<void> {
    await this.#admit(resource, by, []);
  }

  async write(resource: string, by: Fenced | Signed, writes: readonly RedisWrite[]): Promise<readonly unknown[]> {
    const problems = Array.isArray(writes) ? writes.flatMap(problemsOfWrite) : [NO_WRITE];
    if (problems.length > 0) throw invalidConfig("redisFence", problems);
    return (await this.#admit(resource, by, writes)).replies;
  }

  async #admit(resource: string, by: Fenced | Signed, writes: readonly RedisWrite[]): Promise<Changed> {
    const token = tokenOf(by, this.#verifier, resource);
    textOf(token);
    return await this.#change(resource, (before) => admit(resource, before, token, this.#howToAdopt), writes);
  }

  async adopt(resource: string, move: Move | Lowering): Promise<Adopted> {
    const { after, isNew } = await this.#change(resource, (before) => moveDomain(resource, before, move), []);
    return adopted(after, move, isNew);
  }

  async close(): Promise<void> {
    await this.#port.close();
  }

  /** All tries of a write have the same number: one that seems to have been refused may have been carried out by a copy that arrived before. */
  async #change(
    resource: string,
    next: (before: Remembered | undefined) => Remembered,
    writes: readonly RedisWrite[],
  ): Promise<Changed> {
    const key = `${this.#prefix}${resourceOf(resource)}`;
    const numbers = this.#numbers.get(key) ?? new WriteNumbers();
    this.#numbers.set(key, numbers);
    const number = numbers.begin();
    try {
      return await this.#try({ key, next, writes, number: () => numbers.tell(number) });
    } finally {
      numbers.settle(number);
    }
  }

  /** The change is repeated only while the comparison shows another fence than the one assumed; each time the rule is asked anew. */
  async #try({ key, next, writes, number }: Change): Promise<Changed> {
    let known = this.#known.get(key) ?? "";
    for (let isFresh = false; ; isFresh = true) {
      const before = known === "" ? undefined : memoryOfText(known, () => edited(key));
      const after = rule(before, next, isFresh);
      const isLook = after === "look first";
      const install = isLook || after === before ? "" : textOfMemory(after);
      // To look, it compares with a text that no fence holds.
      const answer = await this.#run(key, isLook ? NO_TEXT : known, install, isLook ? [] : writes, number());
      if (typeof answer["stands"] === "string") {
        known = answer["stands"];
        this.#known.set(key, known);
        continue;
      }
      if (isLook) continue;
      if (answer["repeated"] === true) throw repeatedWrite(this.#where.place);
      if (install !== "") this.#known.set(key, install);
      if (typeof answer["failed"] === "number") throw failedWrite(answer["failed"], String(answer["why"]), writes);
      return { after, isNew: install !== "", replies: listOf(answer["replies"]).map(answered) };
    }
  }

  async #run(
    key: string,
    expected: string,
    install: string,
    writes: readonly RedisWrite[],
    { writer, number, settledBelow }: WriteNumber,
  ): Promise<Readonly<Record<string, unknown>>> {
    const keys = writes.length === 0 ? [key] : [key, `${key}${NUMBERS}`, ...writes.map((write) => write.key)];
    const commands = JSON.stringify(writes.map(({ command, args = [] }) => ({ command, args })));
    try {
      const reply = await within(
        this.#port.run(WRITE, keys, [expected, install, commands, writer, `${number}`, `${settledBelow}`]),
      );
      return JSON.parse(Buffer.isBuffer(reply) ? reply.toString("utf8") : String(reply)) as Record<string, unknown>;
    } catch (error) {
      if (error instanceof Late) this.#port.doubt();
      throw errorOf(error, this.#where, key);
    }
  }
}

const NO_TEXT = "?";
/** A name of a resource has no NUL in it, so that this is the fence of no other resource. A hash tag in the name is one of this key, too. */
const NUMBERS = "\0numbers";

class Late extends Error {}

function within<T>(promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    signal.addEventListener("abort", () => reject(new Late(`no answer within ${ANSWER_WITHIN_MS} ms`)), { once: true });
    promise.then(resolve, reject);
  });
}

/** A refusal by what is only remembered here may be out of date, because the fence may have been moved to another domain. */
function rule(
  before: Remembered | undefined,
  next: (before: Remembered | undefined) => Remembered,
  isFresh: boolean,
): Remembered | "look first" {
  try {
    return next(before);
  } catch (refusal) {
    if (isFresh) throw refusal;
    return "look first";
  }
}

const NO_WRITE =
  'writes are a list, and each write is { command: "SET", key: "order:7", args: ["paid"] }, all of them texts';

function problemsOfWrite(write: RedisWrite | undefined): string[] {
  const { command, key, args = [] } = Object(write) as RedisWrite;
  const isText = (text: unknown): boolean => typeof text === "string";
  if (!isText(command) || !isText(key) || !Array.isArray(args) || !args.every(isText)) return [NO_WRITE];
  return args.length > ARGS_MAX
    ? [`${command} ${show(key)} has ${args.length} args, and may have ${ARGS_MAX}: make several writes of it`]
    : [];
}

function failedWrite(place: number, why: string, writes: readonly RedisWrite[]): ConclaveError {
  const { command, key } = writes[place - 1] as RedisWrite;
  const before =
    place === 1 ? "Nothing was written" : `The ${place - 1} before it stand, what follows it was not written`;
  return new ConclaveError(
    codeOfWrite(why),
    `redisFence: ${command} ${JSON.stringify(key)} failed (${why}). ${before}.`,
  );
}

function codeOfWrite(why: string): ErrorCode {
  if (isMissingRight(why)) return "STORE_DENIED";
  if (/\bOOM\b/.test(why)) return "STORE_FULL";
  // What is wrong is in the write itself, whatever stands under its key.
  const isWrong = /unknown (?:redis )?command|wrong number of arg|not allowed from script|syntax error/i.test(why);
  return isWrong ? "CONFIG_INVALID" : "STORE_FOREIGN_DATA";
}

/** What Redis answered to one write, out of the script's JSON. An object is a number, or an empty list. */
function answered(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(answered);
  if (typeof reply !== "object" || reply === null) return reply;
  return "n" in reply ? Number(reply.n) : [];
}

/** Lua does not tell an empty list from an empty object. */
function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function repeatedWrite(place: string): ConclaveError {
  return new ConclaveError(
    "STORE_TIMEOUT",
    `redisFence: the client has sent a write again, because the connection to ${place} broke before the answer came. It was not carried out again. It was most likely carried out before, and what Redis answered then is lost: read before you write again.`,
  );
}

function errorOf(error: unknown, where: RedisWhereabouts, key: string): ConclaveError {
  const outcome = outcomeOf(error, where);
  const { cause } = outcome;
  if (outcome.kind === "unknown")
    return new ConclaveError(
      "STORE_TIMEOUT",
      `redisFence: ${where.place} did not answer. It may have been written, or may still be; read before you write again.`,
      { cause },
    );
  if (/CROSSSLOT/.test(outcome.message))
    return new ConclaveError(
      "STORE_UNSUPPORTED",
      'redisFence: in a cluster fence and data must be in one slot: write the same hash tag into both, as in the resource "{orders}" and the key "{orders}:7". Nothing was written.',
      { cause },
    );
  if (/WRONGTYPE/.test(cause instanceof Error ? cause.message : "")) return edited(key);
  // A store tries again by itself, and a fence does not.
  const message = outcome.message
    .replace(/^redis:/, "redisFence:")
    .replace(" It is tried again.", " Nothing was written.");
  return new ConclaveError(outcome.code, message, { cause, retryable: outcome.retryable });
}

function edited(key: string): ConclaveError {
  const message = `redisFence: ${key} does not hold what a fence holds: somebody has edited it. Nothing was written. Put the newest token back, or use another prefix.`;
  return new ConclaveError("STORE_FOREIGN_DATA", message);
}
