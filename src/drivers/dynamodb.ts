// The record of the DynamoDB driver. Its server is a stand-in for tests; the service itself has no fixed address, so there is no port.
import type { Driver } from "./driver.ts";

export const dynamodbDriver: Driver = {
  name: "dynamodb",
  schemes: ["dynamodb"],
  server: "dynamodb",
  addresses: async (url) => {
    const endpoint = new URLSearchParams(url.split("?")[1]).get("endpoint");
    const { hostname, port, protocol } = new URL(endpoint ?? "none:");
    return hostname === "" ? [] : [{ host: hostname, port: Number(port || (protocol === "https:" ? 443 : 80)) }];
  },
  promises: async () => {
    const { GUARANTEE, LOCK_CLIENT_GUARANTEE } = await import("../stores/dynamodb/guarantee.ts");
    return [
      { title: "`dynamodb:`", guarantee: GUARANTEE },
      { title: "`dynamodb:`, `layout=lock-client`", guarantee: LOCK_CLIENT_GUARANTEE },
    ];
  },
  open: async (url) => {
    const { dynamodb, lockClient } = await import("../stores/dynamodb.ts");
    return new URLSearchParams(url.split("?")[1]).get("layout") === "lock-client" ? lockClient(url) : dynamodb(url);
  },
  loadClient: async () => (await import("../clients/dynamodb/client.ts")).loadDynamoClient(),
  schema: async ({ schema }) => (await import("../stores/dynamodb.ts")).dynamodbSchema({ table: schema }),
};
