import type { EvalScores, GateResult, RunEvalsResult, ThresholdResult } from '../run-evals/eval-config.ts';

/** A result with its place: `turn 0 ` for a turn, '' for the whole evaluation. */
export type Placed<T> = T & { readonly place: string };

/** Lists the gates of an evaluation and of its turns. */
export function listGates({ gateResults = [], turnResults = [] }: RunEvalsResult): Placed<GateResult>[] {
  return [
    ...placed(gateResults),
    ...turnResults.flatMap((turn) => placed(turn.gateResults ?? [], turn.index)),
  ];
}

/** Lists the thresholds of an evaluation and of its turns. */
export function listThresholds({
  thresholdResults = [],
  turnResults = [],
}: RunEvalsResult): Placed<ThresholdResult>[] {
  return [
    ...placed(thresholdResults),
    ...turnResults.flatMap((turn) => placed(turn.thresholdResults ?? [], turn.index)),
  ];
}

/** Lists every mean by its path: `num`, `agent.num`, `steps.plan.num`. */
export function listMeans(scores: EvalScores, prefix = ''): [string, number][] {
  return Object.entries(scores).flatMap(([name, value]): [string, number][] => {
    if (typeof value === 'number') {
      return [[`${prefix}${name}`, value]];
    }
    return typeof value === 'object' && value !== null ? listMeans(value, `${prefix}${name}.`) : [];
  });
}

function placed<T>(results: readonly T[], turn?: number): Placed<T>[] {
  const place = turn === undefined ? '' : `turn ${turn} `;
  return results.map((result) => ({ ...result, place }));
}
