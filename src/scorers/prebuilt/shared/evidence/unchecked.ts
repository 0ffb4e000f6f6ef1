import { formatCount } from '../../../../domain/plural.ts';
import type { Verdict } from '../../../../domain/score.ts';

/** Verdict on a statement whose evidence was too long to read completely. It counts in no share. */
export const UNCHECKED = 'unchecked';

/** True for a verdict that counts. */
export function isChecked({ verdict }: Pick<Verdict, 'verdict'>): boolean {
  return verdict !== UNCHECKED;
}

/** Says in a sentence how many verdicts do not count; no sentence when all do. */
export function tellUnchecked(verdicts: readonly Pick<Verdict, 'verdict'>[], noun: string): string[] {
  const count = verdicts.filter((entry) => !isChecked(entry)).length;
  const [be, them] = count === 1 ? ['was', 'it'] : ['were', 'them'];
  return count === 0
    ? []
    : [`${formatCount(count, noun)} ${be} left out: not all evidence could be read for ${them}.`];
}
