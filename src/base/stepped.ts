// What a step of a pure machine returns, where the machine makes a new state of the old one: a host keeps the state and carries out the effects.
export interface Stepped<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}
