import { describe, expect, it } from 'vitest';
import type { ScorerRunInput } from '../../src/evals/index.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import type { ScriptedModelCall, ScriptedModelReply } from '../support/scripted-model.ts';
import { againstRecording } from './against-recording.ts';
import { JUDGED_SCORERS } from './judged-scorers.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { recordedCases, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

interface RecordedCall {
  readonly step: string;
  readonly mentions?: readonly string[];
}

const STEPS = ['preprocess', 'analyze', 'generateReason'] as const;
const RUN_FIELDS = ['input', 'groundTruth', 'requestContext', 'expectedTrajectory'] as const;
/** The explanation is asked for without a second copy of answer, context and question. */
const NOT_REPEATED = new Set(['generateReason']);

const cases = recordedCases('judge').filter(({ factory }) => String(factory) in JUDGED_SCORERS);

function inputOf(recorded: RecordedCase): ScorerRunInput {
  const fields = RUN_FIELDS.filter((field) => field in recorded);
  return {
    output: revive(recorded['output']),
    ...Object.fromEntries(fields.map((field) => [field, revive(recorded[field])])),
  };
}

/** What the recorded prompt named, per call; a text counts as named in its JSON form too. */
function mentions(calls: readonly RecordedCall[], made: readonly ScriptedModelCall[]): unknown {
  return calls.map(({ step, mentions: named = [] }, index) => ({
    step,
    mentions: NOT_REPEATED.has(step) ? [] : named.filter((text) => isNamed(made[index], text)),
  }));
}

function isNamed(call: ScriptedModelCall | undefined, text: string): boolean {
  const sent = `${call?.system}\n${call?.prompt}`;
  return sent.includes(text) || sent.includes(JSON.stringify(text).slice(1, -1));
}

function expectedMentions(calls: readonly RecordedCall[]): unknown {
  return calls.map(({ step, mentions: named = [] }) => ({
    step,
    mentions: NOT_REPEATED.has(step) ? [] : named,
  }));
}

describe('judged scorers score as the reference scored from the same verdicts', () => {
  it.each(cases)('$id', async (recorded) => {
    const replies = recorded['replies'] as Record<string, ScriptedModelReply[]>;
    const model = scriptedModel(STEPS.flatMap((step) => replies[step] ?? []));
    const create = JUDGED_SCORERS[String(recorded['factory'])] as (config: object) => never;
    const calls = (recorded['result'] as { calls: RecordedCall[] }).calls;

    const facts = expectedRun(recorded['result']);
    const run = await observeRun(
      () => create({ ...(revive(recorded['options']) as object), model }),
      inputOf(recorded),
      facts,
    );

    const observed = { ...run, calls: mentions(calls, model.calls), callCount: model.calls.length };
    const expected = { ...facts, calls: expectedMentions(calls), callCount: calls.length };
    const outcome = againstRecording(recorded.id, observed, expected);
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
