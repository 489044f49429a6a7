import { Module } from "@nestjs/common";
import { ConclaveModule } from "conclave/nestjs";
import { BillingService } from "./billing.service";

@Module({
  imports: [
    ConclaveModule.forRootAsync({ useFactory: () => ({ store: process.env.STORE ?? "memory:" }) }),
    ConclaveModule.forFeature("billing"),
  ],
  providers: [BillingService],
})
export class AppModule {}
