import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module";
import { BillingService } from "./billing.service";

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  app.enableShutdownHooks();
  await app.listen(0);
  const billing = app.get(BillingService);
  await until(() => billing.polled.length > 0 && billing.election.isLeading());
  console.log(await billing.bill("monday"));
  await app.close();
  if (billing.polled[0].isHeld()) throw new Error("it leads although it was closed");
}
void bootstrap();
