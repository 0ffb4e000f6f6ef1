import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';

/** Numbers by the code of a reason. */
export type ReasonCounts = Readonly<Record<string, number>>;

/** Adds reasons to counts by their codes. */
export function countReasons(counts: ReasonCounts, reasons: readonly string[]): ReasonCounts {
  return reasons.reduce<ReasonCounts>((sums, reason) => {
    const code = readReasonCode(reason);
    return { ...sums, [code]: (sums[code] ?? 0) + 1 };
  }, counts);
}
