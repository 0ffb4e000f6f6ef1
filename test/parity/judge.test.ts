import { describe, expect, it } from 'vitest';
import type { ScorerRunInput } from '../../src/evals/index.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import type { ScriptedModelCall, ScriptedModelReply } from '../support/scripted-model.ts';
import { againstRecording } from './against-recording.ts';
import { judgedScorer } from './judged-scorers.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { recordedCases, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

interface RecordedCall {
  readonly step: string;
  readonly mentions?: readonly string[];
}

const STEPS = ['preprocess', 'analyze', 'generateReason'] as const;
type Step = (typeof STEPS)[number];
const GIVEN = ['input', 'output', 'options', 'groundTruth', 'requestContext', 'expectedTrajectory'] as const;
const RUN_FIELDS = ['input', 'groundTruth', 'requestContext', 'expectedTrajectory'] as const;
/** The explanation is asked for without a second copy of answer, context and question. */
const NOT_REPEATED = new Set(['generateReason']);

const cases = recordedCases('judge');

function inputOf(recorded: RecordedCase): ScorerRunInput {
  const fields = RUN_FIELDS.filter((field) => field in recorded);
  return {
    output: revive(recorded['output']),
    ...Object.fromEntries(fields.map((field) => [field, revive(recorded[field])])),
  };
}

/** The script's replies in the order of the questions; a question that is asked again because its reply was unfit has none. */
function repliesOf(recorded: RecordedCase): ScriptedModelReply[] {
  const replies = recorded['replies'] as Partial<Record<Step, ScriptedModelReply[]>>;
  const unfit = recorded['expectJudgeFailure'] === true && replies.analyze?.[0]?.json !== undefined;
  const again = unfit ? [{ fail: 'not scripted' }] : [];
  return [
    ...(replies.preprocess ?? []),
    ...(replies.analyze ?? []),
    ...again,
    ...(replies.generateReason ?? []),
  ];
}

/**
 * What the recorded questions named, per question: texts of the case or of an earlier reply. A text that an earlier question
 * of ours has named is not looked for again: it is sent once.
 */
function expectedMentions(
  recorded: RecordedCase,
  calls: readonly RecordedCall[],
  made: readonly ScriptedModelCall[],
): { step: string; mentions: string[] }[] {
  const replies = recorded['replies'] as Partial<Record<Step, ScriptedModelReply[]>>;
  return calls.map(({ step, mentions: named = [] }, index) => {
    const earlier = STEPS.slice(0, STEPS.indexOf(step as Step)).map((before) => replies[before]);
    const known = JSON.stringify([GIVEN.map((field) => recorded[field]), earlier]);
    const isOurs = (text: string) =>
      known.includes(JSON.stringify(text).slice(1, -1)) &&
      !made.slice(0, index).some((call) => isNamed(call, text));
    return { step, mentions: NOT_REPEATED.has(step) ? [] : named.filter(isOurs) };
  });
}

function isNamed(call: ScriptedModelCall | undefined, text: string): boolean {
  const sent = `${call?.system}\n${call?.prompt}`;
  return sent.includes(text) || sent.includes(JSON.stringify(text).slice(1, -1));
}

/** Sentences made in code are recorded by what they name. */
function reasonAsRecorded(reason: unknown, recorded: unknown): unknown {
  const template = recorded as { $template?: true; mentions?: string[] } | undefined;
  return template?.$template === true
    ? { $template: true, mentions: template.mentions?.filter((text) => String(reason).includes(text)) }
    : reason;
}

describe('judged scorers score as the reference scored from the same verdicts', () => {
  it.each(cases)('$id', async (recorded) => {
    const model = scriptedModel(repliesOf(recorded));
    const create = judgedScorer(String(recorded['factory'])) as (config: object) => never;
    const calls = (recorded['result'] as { calls: RecordedCall[] }).calls;

    const facts = expectedRun(recorded['result']);
    const run = await observeRun(
      () => create({ ...(revive(recorded['options']) as object), model }),
      inputOf(recorded),
      facts,
    );

    const wanted = expectedMentions(recorded, calls, model.calls);
    const named = wanted.map(({ step, mentions }, index) => ({
      step,
      mentions: mentions.filter((text) => isNamed(model.calls[index], text)),
    }));

    const observed = {
      ...run,
      ...('reason' in run ? { reason: reasonAsRecorded(run['reason'], facts['reason']) } : {}),
      calls: named,
      callCount: model.calls.length,
    };
    const expected = { ...facts, calls: wanted, callCount: calls.length };
    const outcome = againstRecording(recorded.id, observed, expected);
    expect(outcome.actual).toEqual(outcome.expected);
  });
});
