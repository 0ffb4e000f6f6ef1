import { describe, expect, it } from 'vitest';
import { extractTrajectoryFromTrace } from '../../src/evals/index.ts';
import type { TraceSpan } from '../../src/evals/index.ts';
import { againstRecording } from './against-recording.ts';
import { record, recordedCases, revive } from './recorded-cases.ts';

/** The other cases of the section are about stored rows of traces, which are read by conventions here. */
const cases = recordedCases('trace').filter(({ id }) => id.startsWith('extractTrajectoryFromTrace/'));

describe('trajectories of traces are read as the reference read them', () => {
  it.each(cases)('$id', (recorded) => {
    const spans = revive(recorded['spans']) as TraceSpan[];
    const actual = { value: record(extractTrajectoryFromTrace(spans, recorded['rootId'] as string)) };
    const outcome = againstRecording(recorded.id, actual, recorded['result']);
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
