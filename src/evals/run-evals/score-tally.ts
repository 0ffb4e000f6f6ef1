import { reaches } from '../../domain/limits.ts';
import type { EvalScores, EvalVerdict, GateResult, ThresholdConfig, ThresholdResult } from './eval-config.ts';
import type { EvalScore } from './list-scores.ts';

/** Scores recorded under one name so far. */
interface Entry {
  readonly id: string;
  readonly group: readonly string[];
  readonly threshold: ThresholdConfig | undefined;
  readonly scores: number[];
}

/** Collects the scores of several scorers over many runs. */
export interface ScoreTally {
  /** Adds a score in its place in the result. */
  add(score: EvalScore, group?: readonly string[]): void;
  /** Returns the means by group and name. */
  scores(): EvalScores;
  thresholdResults(): ThresholdResult[];
  gateResults(): GateResult[];
}

/** Creates a tally that separates scores by group and name. */
export function createScoreTally(): ScoreTally {
  const entries = new Map<string, Entry>();
  const means = (): { entry: Entry; mean: number }[] =>
    [...entries.values()].map((entry) => ({
      entry,
      mean: entry.scores.reduce((sum, score) => sum + score, 0) / entry.scores.length,
    }));

  return {
    add({ name: id, score, threshold }, group = []) {
      const key = JSON.stringify([...group, id]);
      const entry = entries.get(key) ?? { id, group, threshold, scores: [] };
      entries.set(key, entry);
      entry.scores.push(score);
    },
    scores() {
      const scores: Record<string, unknown> = {};
      for (const { entry, mean } of means()) {
        let into = scores;
        for (const name of entry.group) {
          into = (into[name] ??= {}) as Record<string, unknown>;
        }
        into[entry.id] = mean;
      }
      return scores as EvalScores;
    },
    thresholdResults: () =>
      means().flatMap(({ entry: { id, threshold }, mean }) =>
        threshold === undefined
          ? []
          : [{ id, passed: keeps(mean, threshold), averageScore: mean, threshold }],
      ),
    gateResults: () =>
      means().map(({ entry: { id }, mean }) => ({ id, passed: reaches(mean, 1), score: mean })),
  };
}

function keeps(mean: number, threshold: ThresholdConfig): boolean {
  const { min = -Infinity, max = Infinity } = typeof threshold === 'number' ? { min: threshold } : threshold;
  return reaches(mean, min) && reaches(max, mean);
}

/** Finds the verdict; undefined when no gate and no threshold had a score to compare. */
export function findVerdict(
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
