// A client of DynamoDB over a map: as much of its expressions as the driver writes. It is for tests that play thousands of orders of requests; that the service
// understands the same expressions in the same way is what the conformance suite on dynalite shows.
import type { DynamoClient } from "conclave/stores/dynamodb";
import type { Attribute, Item } from "../../../src/clients/dynamodb/client.ts";

interface Request {
  readonly Key: { readonly key: { readonly S: string } };
  readonly ConditionExpression: string;
  readonly UpdateExpression: string;
  readonly ExpressionAttributeNames: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues: Readonly<Record<string, Attribute>>;
  readonly RequestItems: Readonly<Record<string, { readonly Keys: readonly Request["Key"][] }>>;
}

export class ModelClient implements DynamoClient {
  readonly items = new Map<string, Item>();

  async send(command: never): Promise<unknown> {
    const { input } = command as { readonly input: Request };
    switch ((command as object).constructor.name) {
      case "DescribeTableCommand":
        return { Table: SHAPE };
      case "GetItemCommand":
        return { Item: this.items.get(input.Key.key.S) };
      case "BatchGetItemCommand":
        return { Responses: { model: this.#all(input.RequestItems["model"]?.Keys ?? []) } };
      case "UpdateItemCommand":
        return this.#update(input);
      default:
        return { Items: [] };
    }
  }

  #all(keys: readonly Request["Key"][]): readonly Item[] {
    return keys.map(({ key }) => this.items.get(key.S)).filter((item) => item !== undefined);
  }

  #update(request: Request): object {
    const key = request.Key.key.S;
    const item = this.items.get(key);
    if (!new Expression(request.ConditionExpression, request, item).holds())
      throw Object.assign(new Error("The conditional request failed"), {
        name: "ConditionalCheckFailedException",
        ...(item === undefined ? {} : { Item: item }),
      });
    this.items.set(key, { ...updated(request, item ?? { key: { S: key } }) });
    return {};
  }
}

const SHAPE = {
  TableId: "model",
  KeySchema: [{ AttributeName: "key" }],
  AttributeDefinitions: [{ AttributeName: "key", AttributeType: "S" }],
};

function updated(request: Request, item: Item): Item {
  const [, setting = "", removing = ""] = /^SET (.*?)(?: REMOVE (.*))?$/.exec(request.UpdateExpression) ?? [];
  const next: Record<string, Attribute> = { ...item };
  for (const [, name = "", first, value = ""] of setting.matchAll(/#(\w+) = (if_not_exists\(#\w+, )?(:\w+)/g)) {
    if (first !== undefined && item[name] !== undefined) continue;
    next[name] = request.ExpressionAttributeValues[value] ?? {};
  }
  for (const [, name = ""] of removing.matchAll(/#(\w+)/g)) delete next[name];
  return next;
}

/** Recursive descent: OR of ANDs of terms. */
class Expression {
  readonly #words: string[];
  readonly #request: Request;
  readonly #item: Item;

  constructor(text: string, request: Request, item: Item | undefined) {
    this.#words = text.match(/[(),]|[^\s(),]+/g) ?? [];
    this.#request = request;
    this.#item = item ?? {};
  }

  holds(): boolean {
    let is = this.#all();
    while (this.#words[0] === "OR") {
      this.#words.shift();
      is = this.#all() || is;
    }
    return is;
  }

  #all(): boolean {
    let is = this.#one();
    while (this.#words[0] === "AND") {
      this.#words.shift();
      is = this.#one() && is;
    }
    return is;
  }

  #one(): boolean {
    const word = this.#words.shift() ?? "";
    if (word === "(") {
      const is = this.holds();
      this.#words.shift();
      return is;
    }
    if (word.startsWith("attribute_")) {
      const [, path = ""] = this.#words.splice(0, 3);
      return (this.#attribute(path) !== undefined) === (word === "attribute_exists");
    }
    const operator = this.#words.shift();
    const stands = JSON.stringify(this.#attribute(word));
    if (operator === "=") return stands === JSON.stringify(this.#value(this.#words.shift()));
    const list = this.#words.splice(0, this.#words.indexOf(")") + 1).filter((each) => each.startsWith(":"));
    return list.some((each) => JSON.stringify(this.#value(each)) === stands);
  }

  #attribute(path: string): Attribute | undefined {
    return this.#item[this.#request.ExpressionAttributeNames[path] ?? ""];
  }

  #value(name: string | undefined): Attribute | undefined {
    return this.#request.ExpressionAttributeValues[name ?? ""];
  }
}
