import { REPEAT_MARK } from '../judge/retry.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { CallSize, JudgeUseStore } from '../store/contracts/judge-use.ts';
import type { PlannedCell } from './planned-work.ts';
import type { RenderedRun } from './render-calls.ts';
import { renderStored } from './render-work.ts';

/** Most stored calls of one scorer and judge from which lengths and costs are learned. */
const MOST_SIZES = 2_000;

/** Stored calls of scorers, and their runs. */
export interface CallHistory {
  readonly sizes: readonly CallSize[];
  /** Runs that were rendered again, by the id of the score. */
  readonly stored: ReadonlyMap<string, RenderedRun>;
}

/** Reads what judged scorers asked before. Throws what the store throws. */
export async function readHistory(
  scoring: Scoring,
  cells: readonly PlannedCell[],
  rules: readonly PreparedRule[],
  { readSizes, tenant }: { readonly readSizes: JudgeUseStore['sizes']; readonly tenant: string },
): Promise<CallHistory> {
  const scorers = [...new Set(cells.flatMap(({ scorer }) => (scorer.isJudged ? [scorer.name] : [])))];
  if (scorers.length === 0) {
    return { sizes: [], stored: new Map() };
  }
  const sizes = await readSizes({
    tenant: tenant === '' ? undefined : tenant,
    scorers,
    repeatMark: REPEAT_MARK,
    limit: MOST_SIZES,
  });
  return { sizes, stored: await renderStored(scoring, sizes, rules) };
}
