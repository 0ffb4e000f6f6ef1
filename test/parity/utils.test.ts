import { describe, expect, it } from 'vitest';
import * as evals from '../../src/evals/index.ts';
import * as utils from '../../src/scorers/utils/index.ts';
import { againstRecording } from './against-recording.ts';
import { record, recordedCases, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

const { extractTrajectory, extractWorkflowTrajectory } = evals;

function call({ fn, args }: RecordedCase): unknown {
  const name = String(fn).replace(/^core\./, '');
  const subjects = { ...utils, extractTrajectory, extractWorkflowTrajectory };
  const subject = subjects[name as 'extractTrajectory'] as (...given: unknown[]) => unknown;
  try {
    return { value: record(placeholders(subject(...(revive(args) as unknown[])))) };
  } catch {
    return { error: 'thrown' };
  }
}

function expected({ result }: RecordedCase): unknown {
  const { value, error } = result as { value?: unknown; error?: unknown };
  return error === undefined ? { value } : { error: 'thrown' };
}

/** What no recording can hold is written as its kind there. */
function placeholders(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return value;
  }
  const copy: Record<string, unknown> = { ...value };
  if (copy['requestContext'] instanceof Map) {
    copy['requestContext'] = '<RequestContext>';
  }
  if (copy['createdAt'] instanceof Date) {
    copy['createdAt'] = '<now>';
  }
  return copy;
}

describe('the scorer utilities give what the reference gave', () => {
  it.each(recordedCases('utils'))('$id', (recorded) => {
    const outcome = againstRecording(`utils/${recorded.id}`, call(recorded), expected(recorded));
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
