// A store author proves a driver with the suite that every store of this package passes, in whatever test runner is at hand: here node:test.
//
//   npm run build && node --test examples/store-author/main.mjs
import { test } from "node:test";
import { memory } from "conclave/stores/memory";
import { storeConformance } from "conclave/testing";

for (const { name, run } of storeConformance(async () => memory())) void test(name, run);
