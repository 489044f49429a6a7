// A client of node-zookeeper-client as users have one, with promises.
import type { Client, Exception } from "node-zookeeper-client";

/** Connects it. */
export async function connected(client: Client): Promise<Client> {
  await new Promise<void>((resolve) => {
    client.once("connected", resolve);
    client.connect();
  });
  return client;
}

/** What it answers to one request. */
export function answered<A>(send: (done: (error: Error | Exception | null, answer: A) => void) => void): Promise<A> {
  return new Promise((resolve, reject) =>
    send((error, answer) => (error === null ? resolve(answer) : reject(new Error(error.toString())))),
  );
}
