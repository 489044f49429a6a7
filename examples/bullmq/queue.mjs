// Stands in for the `Worker` of bullmq, so that this example needs no Redis: the same constructor options, `run`, `close` and `on`, as far as the example uses them.
// In your service, delete this file and write: import { Worker } from "bullmq".

export class Worker {
  /**
   * @param {string} queue
   * @param {(job: { id: string }) => Promise<void>} processor
   * @param {{ autorun?: boolean, concurrency?: number }} [options]
   */
  constructor(queue, processor, options = {}) {
    this.queue = queue;
    this.processor = processor;
    this.jobs = 0;
    this.closing = false;
    /** @type {Promise<void>} */
    this.running = Promise.resolve();
    /** @type {(job: { id: string }) => void} */
    this.completed = () => {};
    if (options.autorun !== false) void this.run();
  }

  /**
   * @param {"completed"} _event
   * @param {(job: { id: string }) => void} listener
   */
  on(_event, listener) {
    this.completed = listener;
    return this;
  }

  /** Takes jobs until it is closed. */
  async run() {
    this.running = this.#work();
    await this.running;
  }

  async #work() {
    while (!this.closing) {
      const job = { id: String(++this.jobs) };
      await this.processor(job);
      this.completed(job);
    }
  }

  /** Takes no more jobs, and resolves when the present one is done. */
  async close() {
    this.closing = true;
    await this.running;
  }
}
