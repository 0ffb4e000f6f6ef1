import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import * as legacy from '../../src/legacy/index.ts';
import type { Metric } from '../../src/legacy/index.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { againstRecording } from './against-recording.ts';
import { record, recordedCases } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

/** Metrics whose verdicts stand under another name in the reply that we ask for. */
const RESULT_FORM = new Set(['AnswerRelevancyMetric', 'BiasMetric']);

const METRICS = new Map<string, unknown>(Object.entries(legacy));

type Verdicts = { verdict: string; statement?: string; claim?: string }[];

function replyOf(metric: string, reply: object): { json?: object; text?: string } {
  if ('reason' in reply) {
    return { text: String(reply.reason) };
  }
  if (!('verdicts' in reply)) {
    return { json: reply };
  }
  // The recorded replies fit any metric: each verdict names what it is about twice.
  const verdicts = (reply.verdicts as Verdicts).map(
    ({ statement: _statement, claim: _claim, ...rest }) => rest,
  );
  if (!RESULT_FORM.has(metric)) {
    return { json: { verdicts } };
  }
  return { json: { results: verdicts.map(({ verdict, ...rest }) => ({ ...rest, result: verdict })) } };
}

async function observe({ cls, ctor, measure, calls = [] }: RecordedCase): Promise<unknown> {
  const name = String(cls);
  const model = scriptedModel((calls as object[]).map((reply) => replyOf(name, reply)));
  const Class = METRICS.get(name) as new (...args: unknown[]) => Metric;
  const metric = new Class(...(ctor as unknown[]).map((arg) => (arg === '$MODEL' ? model : arg)));
  const [input, output] = measure as [string, string];
  try {
    const { score, info } = await metric.measure(input, output);
    const judged = (calls as object[]).length > 0 ? { judgeCalls: model.calls.length } : {};
    return { score, info: record(info), ...judged };
  } catch (error) {
    if (!(error instanceof AppError)) {
      throw error;
    }
    return { error: error.code };
  }
}

describe('legacy metrics measure as the reference measured', () => {
  it.each(recordedCases('legacy'))('$id', async (recorded) => {
    const outcome = againstRecording(recorded.id, await observe(recorded), recorded['result']);
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
