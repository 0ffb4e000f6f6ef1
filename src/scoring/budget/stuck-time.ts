/**
 * Time in which requests for money found none, and none was served. The limit of a wait is one for all requests of this time: behind the
 * lease of a killed process, each of them would hold its place for the whole wait.
 */
export class StuckTime {
  readonly #gapMs: number;
  #current: { readonly sinceMs: number; readonly lastMs: number } | undefined;

  /** @param gapMs time without such a request after which the next one begins a new time, milliseconds */
  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** Notes that a request found no money. Returns the time since which requests wait without success, Unix milliseconds. */
  note(askedAtMs: number, nowMs: number): number {
    const current = this.#current;
    const isRecent = current !== undefined && askedAtMs - current.lastMs <= this.#gapMs;
    const sinceMs = isRecent ? Math.min(current.sinceMs, askedAtMs) : askedAtMs;
    this.#current = { sinceMs, lastMs: nowMs };
    return sinceMs;
  }

  /** Ends the time: a request was served. */
  end(): void {
    this.#current = undefined;
  }
}
