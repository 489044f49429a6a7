// What our own connections use of pg. The first test fails when a new version of pg comes without it, before any user notices.
import pg from "pg";
import { describe, expect, it } from "vitest";
import { missingPart } from "../../../src/clients/postgres/pg-parts.ts";

it("the installed pg has all of it", () => {
  expect(missingPart(pg.Client)).toBeUndefined();
});

describe("a pg that lacks", () => {
  const stream = { destroy: () => {}, ref: () => {}, unref: () => {} };
  const connection = { query: () => {}, stream };
  const whole = { connection, query: (request: unknown): unknown => request };
  const LACKS: readonly (readonly [part: string, client: object])[] = [
    ["Client.connection.query", { ...whole, connection: undefined }],
    ["Client.connection.query", { ...whole, connection: { stream } }],
    ["Client.connection.stream.destroy", { ...whole, connection: { ...connection, stream: undefined } }],
    ["Client.connection.stream.unref", { ...whole, connection: { ...connection, stream: { ...stream, unref: 1 } } }],
    ["Client.query of a Submittable", { ...whole, query: () => Promise.reject(new Error("no text")) }],
    [
      "Client.query of a Submittable",
      {
        ...whole,
        query: () => {
          throw new TypeError("no text");
        },
      },
    ],
  ];

  it.each(LACKS)("%s is noticed", (part, client) => {
    function Client(this: object): void {
      Object.assign(this, client);
    }
    expect(missingPart(Client as unknown as new () => object)).toBe(part);
  });
});
