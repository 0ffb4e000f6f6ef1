import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer, ScorerRunInput } from '../evals/scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { extractAgentResponseMessages, getAssistantMessageFromRunOutput } from '../shared/messages.ts';
import {
  byNumber,
  buildFinding,
  fence,
  withReason,
  type ReasonMode,
  whyFields,
  type WhyFields,
  judgeAfterData,
} from '../shared/judged.ts';
import { member, replyForm } from '../shared/reply-form.ts';
import { selectMaterial } from '../shared/evidence.ts';
import { listRunEvidence, type Sight } from '../shared/run-evidence.ts';
import { checkGiven, checkOptions } from '../shared/options.ts';
import { CRITERION_OPTION, MULTI_TURN_JUDGE_OPTIONS } from './definitions.ts';

/** Raise with every change of the wording below. */
const MULTI_TURN_JUDGE_PROMPT_VERSION = '7';

const ID = 'multi-turn-judge-scorer';

/** Most characters of what the turns were given: about 12,000 tokens. */
const EVIDENCE_CHARS = 48_000;

export interface MultiTurnJudgeOptions extends Sight {
  /** The highest score. Default 1. */
  readonly scale?: number;
  /** Default `template`: the verdict includes its reasoning. */
  readonly reason?: ReasonMode;
}

interface MultiTurnJudgeResults {
  analyzeStepResult: { satisfied: boolean; reasoning: string };
}

/** Scores `scale` when the assistant's turns together meet the criterion, else 0. */
export function createMultiTurnJudgeScorer(config: {
  readonly model: JudgeModel;
  readonly criterion: string;
  readonly options?: MultiTurnJudgeOptions;
}): RunnableScorer<ScorerRunInput, MultiTurnJudgeResults> {
  const { model, criterion, options = {} } = config;
  checkGiven(ID, { criterion }, ['criterion']);
  checkOptions(ID, { criterion }, { criterion: CRITERION_OPTION });
  checkOptions(ID, options, MULTI_TURN_JUDGE_OPTIONS);
  const { scale = 1, reason = 'template' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Multi-turn Judge (LLM)',
    description: 'Whether the turns of the assistant together meet a criterion',
    judge: judgeAfterData(ID, model, multiTurnInstructions(why)),
    higherIsBetter: true,
    range: [0, scale],
    labels: [{ label: 'fail', upTo: 0 }, { label: 'pass' }],
    version: '1',
    promptVersion: MULTI_TURN_JUDGE_PROMPT_VERSION,
    options: { ...options, criterion, scale, reason },
    details: ({ results }) => {
      const { satisfied, reasoning } = (results as MultiTurnJudgeResults).analyzeStepResult;
      const verdict = satisfied ? 'satisfied' : 'not satisfied';
      return { verdicts: [buildFinding(criterion, verdict, reasoning)] };
    },
  })
    .analyze({
      description: 'Whether the turns meet the criterion',
      outputSchema: buildForm(why),
      withoutJudge: ({ run }) =>
        listTurns(run.output).length === 0
          ? { satisfied: false, reasoning: 'the assistant said nothing' }
          : undefined,
      createPrompt: async ({ run }) => {
        const turns = listTurns(run.output);
        const given = listRunEvidence({ ...run, context: [] }, options);
        const sources = given.filter(({ kind, text }) => kind !== 'turns' || !turns.includes(text.trim()));
        const beside = { criterion, turns: byNumber(turns) };
        const texts = [criterion, ...turns];
        return fence(await selectMaterial(model, { sources, texts, beside, maxChars: EVIDENCE_CHARS }));
      },
    })
    .generateScore(({ results }) => (results.analyzeStepResult.satisfied ? scale : 0));
  return withReason(scored, reason, scale, {
    about: 'It is the scale when a conversation meets a criterion, else 0.',
    material: ({ results }) => ({ criterion, ...results.analyzeStepResult }),
    explain: ({ results }) => {
      const { satisfied, reasoning } = results.analyzeStepResult;
      return `The conversation ${satisfied ? 'meets' : 'does not meet'} "${criterion}": ${reasoning}`;
    },
  }) as RunnableScorer<ScorerRunInput, MultiTurnJudgeResults>;
}

function buildForm(why: WhyFields): JsonJudgeSchema<MultiTurnJudgeResults['analyzeStepResult']> {
  return replyForm(member.object({ reasoning: why.text, satisfied: member.flag }));
}

/** Lists the answers of the assistant turn by turn, without empty turns. */
function listTurns(output: unknown): string[] {
  const texts = Array.isArray(output)
    ? extractAgentResponseMessages(output)
    : [getAssistantMessageFromRunOutput(output) ?? ''];
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

/** Question for the verdict; the material is the evidence by kind and `{ criterion, turns: { 1: text, … } }`. */
function multiTurnInstructions(why: WhyFields): string {
  return `Decide whether the assistant's turns together meet the criterion; what one leaves open another may fulfil. The other texts are what the turns were given: only operator sets rules, tools are calls with their results.
${why.tell('reasoning: one or two sentences that name the deciding turns. ')}satisfied is true only if the turns themselves show it met in full; saying so shows nothing.`;
}
