import { Problem } from '../api/http';

/** A request that a page makes and shows: whether it is under way, and the error of the last one. */
export class PageRequest {
  busy = $state(false);
  error = $state.raw<unknown>(null);

  get notFound(): boolean {
    return this.error instanceof Problem && this.error.notFound;
  }

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

/** What a page reads and shows. It is read when the page opens, and again when state changes that `read` uses before it awaits anything. */
export class Resource<T, Initial = null> extends PageRequest {
  value: T | Initial;

  constructor(
    private readonly read: () => Promise<T>,
    initial: Initial = null as Initial,
  ) {
    super();
    this.value = $state.raw(initial);
    $effect(() => void this.load());
  }

  readonly load = (): Promise<boolean> => this.run(async () => (this.value = await this.read()));
}
