// Jest without any transformation: it takes the CommonJS build.
const { createCandidate, elect, isConclaveError, openStore } = require("conclave");
const { fakeTerm } = require("conclave/testing");
const { memory } = require("conclave/stores/memory");

test("leads", async () => {
  await expect(elect("x", { store: memory() }).lead(async (term) => term.token.value)).resolves.toBe(1n);
});

test("leads in a file of SQLite, whose driver is loaded by its URL, and renews by a thread", async () => {
  const candidate = createCandidate({ store: await openStore("sqlite:jest.db"), renewal: "thread" });
  await expect(candidate.election("x").lead(async (term) => term.isHeld())).resolves.toBe(true);
  await candidate.close();
});

test("recognises errors, and has the testing kit", () => {
  let error;
  try {
    elect("x", { store: memory(), ttlMs: -1 });
  } catch (caught) {
    error = caught;
  }
  expect(isConclaveError(error)).toBe(true);
  expect(fakeTerm().isHeld()).toBe(true);
});
