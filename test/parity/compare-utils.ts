import * as evals from '../../src/scorers/evals/index.ts';
import * as utils from '../../src/scorers/shared/utils.ts';
import type { Comparison } from './comparison.ts';
import { record, revive } from './recorded-cases.ts';
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

/** Replaces values that no recording can have by their kind. */
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

/** Result of a scorer utility for recorded arguments. */
export async function compareUtils(recorded: RecordedCase): Promise<Comparison> {
  return { ours: call(recorded), recorded: expected(recorded) };
}
