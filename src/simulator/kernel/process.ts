// A process of a world of tasks (task-world.ts): it lives or is dead, may be paused, and may be cut off from the store. Tasks that become due while it is paused
// wait until it goes on. Tasks of a process that was killed are dropped: its next life has another incarnation.

export abstract class Process {
  /** By this number the hash of a run tells one process from another. */
  readonly tag: number;
  isAlive = true;
  /** Lives that have ended. */
  incarnation = 0;
  /** Pauses that have not ended; it runs when there is none. */
  pauses = 0;
  /** Cuts that have not ended; it reaches the store when there is none. */
  cuts = 0;
  /** Tasks that have become due while it was paused. */
  readonly deferred: (() => void)[] = [];

  constructor(tag: number) {
    this.tag = tag;
  }

  /** Ends this life. A world adds what else is lost with it. */
  kill(): void {
    this.isAlive = false;
    this.incarnation++;
    this.deferred.length = 0;
  }

  /** Begins the next life, with nothing of the one before. */
  restart(): void {
    this.isAlive = true;
  }
}
