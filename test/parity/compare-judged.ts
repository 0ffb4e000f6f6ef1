import type { Scorer, ScorerRunInput, ScorerRunResult } from '../../src/scorers/evals/index.ts';
import { scriptedModel } from '../support/fakes/scripted-model.ts';
import type {
  ScriptedModel,
  ScriptedModelCall,
  ScriptedModelReply,
} from '../support/fakes/scripted-model.ts';
import type { Comparison } from './comparison.ts';
import { MALFORMED } from './deviations.ts';
import { judgedScorer } from './judged-scorers.ts';
import { expectedRun, observeRun } from './observed-run.ts';
import { revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';
import { restatedCase } from './restated-case.ts';

interface RecordedCall {
  readonly step: string;
  readonly mentions?: readonly string[];
}

const STEPS = ['preprocess', 'analyze', 'generateReason'] as const;
type Step = (typeof STEPS)[number];
const GIVEN = ['input', 'output', 'options', 'groundTruth', 'requestContext', 'expectedTrajectory'] as const;
const RUN_FIELDS = ['input', 'groundTruth', 'requestContext', 'expectedTrajectory'] as const;

function buildInput(recorded: RecordedCase): ScorerRunInput {
  const fields = RUN_FIELDS.filter((field) => field in recorded);
  return {
    output: revive(recorded['output']),
    ...Object.fromEntries(fields.map((field) => [field, revive(recorded[field])])),
  };
}

/** Answers with the script's replies: objects in their order, and the text of the explanation where a text is asked for. */
function buildModel(recorded: RecordedCase): ScriptedModel {
  const replies = recorded['replies'] as Partial<Record<Step, ScriptedModelReply[]>>;
  const objects = [...(replies.preprocess ?? []), ...(replies.analyze ?? [])];
  const texts = [...(replies.generateReason ?? [])];
  return scriptedModel(
    ({ wantsObject }) => (wantsObject ? objects : texts).shift() ?? { fail: 'not scripted' },
  );
}

/**
 * Texts in the recorded questions, per question: of the case or of an earlier reply. A text that an earlier question of ours
 * had is left out: it is sent once. So the explanation is compared by the judge's findings only.
 */
function expectedMentions(
  recorded: RecordedCase,
  calls: readonly RecordedCall[],
  made: readonly ScriptedModelCall[],
): { step: string; mentions: string[] }[] {
  const replies = recorded['replies'] as Partial<Record<Step, ScriptedModelReply[]>>;
  return calls.map(({ step, mentions: named = [] }, index) => {
    const earlier = STEPS.slice(0, STEPS.indexOf(step as Step)).map((before) => replies[before]);
    const given = step === 'generateReason' ? [] : GIVEN.map((field) => recorded[field]);
    const known = JSON.stringify([given, earlier]);
    const isOurs = (text: string) =>
      known.includes(JSON.stringify(text).slice(1, -1)) &&
      !made.slice(0, index).some((call) => isNamed(call, text));
    return { step, mentions: named.filter(isOurs) };
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

/** Runs the scorer of a case as it is given; a judge that is asked again says the same again. */
export async function runRecorded(recorded: RecordedCase): Promise<ScorerRunResult> {
  const { preprocess = [], analyze = [] } = recorded['replies'] as Partial<
    Record<Step, ScriptedModelReply[]>
  >;
  const objects = [...preprocess, ...analyze];
  const model = scriptedModel(() => (objects.length > 1 ? objects.shift() : objects[0]) ?? {});
  return buildScorer(recorded, model).run(buildInput(recorded));
}

function buildScorer(recorded: RecordedCase, model: ScriptedModel): Scorer {
  const create = judgedScorer(String(recorded['factory'])) as (config: object) => Scorer;
  return create({ ...(revive(recorded['options']) as object), model });
}

/**
 * Result of a judged scorer on a recorded run and the recorded replies of its judge. Where the two do not fit each other, the
 * run is restated first, unless this difference is on the list of deviations.
 */
export async function compareJudged(recorded: RecordedCase): Promise<Comparison> {
  const isListed = MALFORMED.includes(recorded.id);
  return compareReplies((isListed ? undefined : restatedCase(recorded)) ?? recorded);
}

/** As `compareJudged`, with the case as it is given. */
export async function compareReplies(recorded: RecordedCase): Promise<Comparison> {
  const model = buildModel(recorded);
  const calls = (recorded['result'] as { calls: RecordedCall[] }).calls;

  const facts = expectedRun(recorded['result']);
  const run = await observeRun(() => buildScorer(recorded, model), buildInput(recorded), facts);

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
  return { ours: observed, recorded: { ...facts, calls: wanted, callCount: calls.length } };
}
