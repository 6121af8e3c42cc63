/** A request that a page makes and shows: whether it is under way, and the error of the last one. */
export class PageRequest {
  busy = $state(false);
  error = $state.raw<unknown>(null);

  /** Does `work`; the page shows its error. True when it succeeded. Reads no state itself, so an effect may call it. */
  async run(work: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.error = null;
    try {
      await work();
      return true;
    } catch (problem) {
      this.error = problem;
      return false;
    } finally {
      this.busy = false;
    }
  }
}
