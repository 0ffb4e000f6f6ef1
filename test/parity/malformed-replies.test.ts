import { describe, expect, it } from 'vitest';
import type { AppError } from '../../src/domain/errors.ts';
import { ScorerRunError } from '../../src/scorers/evals/index.ts';
import { compareReplies, runRecorded } from './compare-judged.ts';
import { DECISIONS } from './deviations.ts';
import { recordedCases } from './recorded-cases.ts';
import { restatedCase } from './restated-case.ts';

const cases = recordedCases('judge').filter((recorded) => restatedCase(recorded) !== undefined);
const weighed = DECISIONS.find(({ number }) => number === 16)?.cases ?? [];

describe('a judge whose verdicts are not one for each thing that it was asked about', () => {
  it.each(cases.filter(({ id }) => id !== 'rubric/judge-flips-required'))(
    '$id is asked once more, then the run fails',
    async (recorded) => {
      const error = await runRecorded(recorded).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ScorerRunError);
      const { failedStep, cause, result } = error as ScorerRunError;
      expect(failedStep).toBe('analyze');
      expect((cause as AppError).code).toBe('judge_malformed');
      expect(result.judge?.analyze?.executions.map(({ attemptCount }) => attemptCount)).toEqual([2]);
    },
  );

  it.each(cases.filter(({ id }) => !weighed.includes(id)))(
    '$id scores as recorded where a run holds what its verdicts are about',
    async (recorded) => {
      const { ours } = await compareReplies(restatedCase(recorded) ?? recorded);
      expect(ours).toHaveProperty('score', (recorded['result'] as { score: number }).score);
    },
  );
});
