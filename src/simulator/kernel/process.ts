// A process of a world of tasks (task-world.ts): it lives or is dead, may be paused, and may be cut off from the store. What it is told while it is paused
// waits, and comes when it goes on. What was under way when it was killed never comes: the next life has another incarnation.

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
  /** What has become due while it was paused. */
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
