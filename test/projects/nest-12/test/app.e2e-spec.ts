import { Test, TestingModule } from "@nestjs/testing";
import { INestApplication } from "@nestjs/common";
import { AppModule } from "./../src/app.module.js";
import { BillingService } from "./../src/billing.service.js";

describe("AppModule (e2e)", () => {
  let app: INestApplication;

  beforeEach(async () => {
    const moduleFixture: TestingModule = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = moduleFixture.createNestApplication();
    await app.init();
  });

  it("leads", async () => {
    const billing = app.get(BillingService);
    while (billing.polled.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(billing.polled[0].token.value).toBe(1n);
  });

  afterEach(() => app.close());
});
