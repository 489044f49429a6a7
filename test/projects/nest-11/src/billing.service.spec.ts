import { Test, TestingModule } from "@nestjs/testing";
import { memory } from "conclave/stores/memory";
import { ConclaveModule } from "conclave/nestjs";
import { BillingService } from "./billing.service";

describe("BillingService", () => {
  let app: TestingModule;

  beforeEach(async () => {
    app = await Test.createTestingModule({
      imports: [ConclaveModule.forRoot({ store: memory(), id: "test" }), ConclaveModule.forFeature("billing")],
      providers: [BillingService],
    }).compile();
    await app.init();
  });

  afterEach(() => app.close());

  it("leads, and bills", async () => {
    const billing = app.get(BillingService);
    while (!billing.election.isLeading()) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await billing.bill("monday")).toBe("monday billed with token 1");
    while (billing.polled.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(billing.polled[0].isHeld()).toBe(true);
  });
});
