import type { ScorerRunResult } from '../scorer.ts';
import type { EvalScores, EvalVerdict, GateResult, ThresholdConfig, ThresholdResult } from './eval-config.ts';

/** What one scorer has given so far. */
interface Entry {
  readonly id: string;
  readonly group: readonly string[];
  readonly threshold: ThresholdConfig | undefined;
  readonly scores: number[];
}

/** Collects the scores of several scorers over many runs. */
export interface ScoreTally {
  /** Books a result; true when it could not be scored. */
  add(
    scorer: {
      readonly id: string;
      readonly group?: readonly string[];
      readonly threshold?: ThresholdConfig | undefined;
    },
    result: ScorerRunResult,
  ): boolean;
  /** Means by group and id; scorers without any score are left out. */
  scores(): EvalScores;
  thresholdResults(): ThresholdResult[];
  gateResults(): GateResult[];
}

/** Scorers are told apart by group and id. */
export function createScoreTally(): ScoreTally {
  const entries = new Map<string, Entry>();
  const filled = (): { entry: Entry; mean: number }[] =>
    [...entries.values()]
      .filter(({ scores }) => scores.length > 0)
      .map((entry) => ({
        entry,
        mean: entry.scores.reduce((sum, score) => sum + score, 0) / entry.scores.length,
      }));

  return {
    add({ id, group = [], threshold }, { score, notScorable }) {
      const key = JSON.stringify([...group, id]);
      const entry = entries.get(key) ?? { id, group, threshold, scores: [] };
      entries.set(key, entry);
      if (typeof score === 'number') {
        entry.scores.push(score);
      }
      return notScorable !== undefined;
    },
    scores() {
      const scores: Record<string, unknown> = {};
      for (const { entry, mean } of filled()) {
        let into = scores;
        for (const name of entry.group) {
          into = (into[name] ??= {}) as Record<string, unknown>;
        }
        into[entry.id] = mean;
      }
      return scores as EvalScores;
    },
    thresholdResults: () =>
      filled().flatMap(({ entry: { id, threshold }, mean }) =>
        threshold === undefined
          ? []
          : [{ id, passed: keeps(mean, threshold), averageScore: mean, threshold }],
      ),
    gateResults: () => filled().map(({ entry: { id }, mean }) => ({ id, passed: mean >= 1, score: mean })),
  };
}

function keeps(mean: number, threshold: ThresholdConfig): boolean {
  const { min = -Infinity, max = Infinity } = typeof threshold === 'number' ? { min: threshold } : threshold;
  return mean >= min && mean <= max;
}

/** Undefined where there was nothing to go by. */
export function verdictOf(
  gates: readonly GateResult[],
  thresholds: readonly ThresholdResult[],
): EvalVerdict | undefined {
  if (gates.length + thresholds.length === 0) {
    return undefined;
  }
  if (gates.some(({ passed }) => !passed)) {
    return 'failed';
  }
  return thresholds.some(({ passed }) => !passed) ? 'scored' : 'passed';
}
