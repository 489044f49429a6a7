// Makes the tables where there are none, so that nobody needs a second tool to begin. One message, one transaction, under a lock that all makers take: of forty
// processes that start at once the first makes them, and the others find them.
//
// Only where the schema is empty or not there. Tables of another layout, or of somebody else, are left as they are: an update is a decision (schema.ts).
// Only when a session is opened, by a store that has not met its tables yet: a store that merely looks makes nothing, and a schema that is dropped under a running
// election is not replaced by those who were in it, since its tokens would begin again in a new domain while an old leader still believes.
// It is said once, with the name of the database: candidates with a wrong URL would elect a leader of their own there.
import type { Refused, Unknown } from "../../base/outcome.ts";
import type { Database } from "../../clients/postgres/database.ts";
import { randomId } from "../../clients/random.ts";
import { mayNotMake, outcomeOf, type PostgresWhereabouts } from "./refusals.ts";
import { isDomainSql, makingSql } from "./schema.ts";

const PATIENCE_MS = 10_000;

export class Tables {
  readonly #database: Database;
  readonly #where: PostgresWhereabouts;
  readonly #isWanted: boolean;
  /** They have answered, or were made here: from then on nothing is made any more. */
  #areMet = false;

  constructor(database: Database, where: PostgresWhereabouts, isWanted: boolean) {
    this.#database = database;
    this.#where = where;
    this.#isWanted = isWanted;
  }

  /** `isBeforeBeats`: their functions take no notice of beats. Said once a store; the elections work as they did before. */
  met(isBeforeBeats: boolean): void {
    if (isBeforeBeats && !this.#areMet) this.#tellOfClones();
    this.#areMet = true;
  }

  /** Whether the server has said that there are none: no such schema, or no function of ours in it. */
  mayMake(cause: unknown): boolean {
    const { code } = (cause ?? {}) as { readonly code?: unknown };
    return this.#isWanted && !this.#areMet && (code === "3F000" || code === "42883");
  }

  /** undefined: asking again is worth while. */
  async make(): Promise<Refused | Unknown | undefined> {
    const { schema } = this.#where;
    const domain = `postgres-${randomId()}`;
    try {
      await this.#database.run(makingSql(schema, domain, PATIENCE_MS), PATIENCE_MS);
      const found = await this.#database.run(isDomainSql(schema, `'${domain}'`), PATIENCE_MS);
      if (found === true || found === "t") this.#tell();
      return undefined;
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      // No table either: something else is in that schema. The next answer says so.
      if (code === "42P01" || code === "3F000" || code === "42703") return undefined;
      return code === "42501" ? mayNotMake(error, this.#where) : outcomeOf(error, this.#where);
    }
  }

  #tellOfClones(): void {
    const { schema, place } = this.#where;
    process.emitWarning(
      `postgres: the functions in schema "${schema}" of ${place} are from a version of conclave that cannot tell two copies of a virtual machine apart: both would be renewed, and both could lead. Run the script of \`conclave schema postgres\` as the owner of the schema, while candidates run or not.`,
      { type: "ConclaveWarning", code: "CONCLAVE_CLONES_UNNOTICED" },
    );
  }

  #tell(): void {
    const { schema, place } = this.#where;
    process.emitWarning(
      `postgres: conclave has made its tables in schema "${schema}" of ${place}, where there were none. If the URL is wrong, this process elects a leader of its own there. Make them yourself and pass createTables: false, if that must never happen.`,
      { type: "ConclaveWarning", code: "CONCLAVE_TABLES_MADE" },
    );
  }
}
