import { Injectable } from "@nestjs/common";
import type { Candidate, Election, Term } from "conclave";
import { IfLeading, InjectCandidate, InjectElection, WhileLeading } from "conclave/nestjs";

@Injectable()
export class BillingService {
  readonly polled: Term[] = [];

  constructor(
    @InjectCandidate() readonly candidate: Candidate,
    @InjectElection("billing") readonly election: Election,
  ) {}

  @WhileLeading("poller")
  async poll(term: Term): Promise<void> {
    this.polled.push(term);
    await term.ended;
  }

  @IfLeading("billing")
  async bill(day: string, term?: Term): Promise<string> {
    return `${day} billed with token ${term?.token.value}`;
  }
}
