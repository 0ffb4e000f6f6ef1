import { HOUR_MS } from '../../domain/durations.ts';
import { computeBudgetMonth } from '../../domain/money/budget.ts';

/** Time after which earlier days are read again, milliseconds. Until then after midnight, they are read each time. */
const EARLIER_MS = HOUR_MS;

/**
 * Spending of the earlier days of a month. It hardly changes: the last calls of a day end soon after midnight. So a day needs few
 * reads of it.
 */
export class EarlierDays<T> {
  readonly #readRange: (range: { fromMs: number; toMs: number; openSinceMs: number }) => Promise<T>;
  readonly #none: T;
  #known: { readonly dayMs: number; readonly readAtMs: number; readonly spending: T } | undefined;

  /** @param none spending on the first day of a month */
  constructor(
    readRange: (range: { fromMs: number; toMs: number; openSinceMs: number }) => Promise<T>,
    none: T,
  ) {
    this.#readRange = readRange;
    this.#none = none;
  }

  /** Reads the spending of the month before a day. Throws what the store throws. */
  async read(dayMs: number, nowMs: number): Promise<T> {
    const monthMs = computeBudgetMonth(dayMs);
    if (monthMs === dayMs) {
      return this.#none;
    }
    const known = this.#known?.dayMs === dayMs ? this.#known : undefined;
    if (known !== undefined && known.readAtMs - dayMs > EARLIER_MS && nowMs - known.readAtMs < EARLIER_MS) {
      return known.spending;
    }
    const spending = await this.#readRange({ fromMs: monthMs, toMs: dayMs, openSinceMs: dayMs });
    this.#known = { dayMs, readAtMs: nowMs, spending };
    return spending;
  }
}
