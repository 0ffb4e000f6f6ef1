import { z } from 'zod';
import {
  ASK_CHARS,
  ASK_EXAMPLES,
  findChoiceFault,
  findExampleFault,
  type AskedAnswer,
} from '../../domain/asked-answer.ts';
import { SEEN_KINDS } from '../../domain/score.ts';
import { judgeModel } from './fields.ts';

/** Schemas of scorers that ask a judge a question of the user's. */

const question = z
  .string()
  .trim()
  .min(1, { error: 'must not be empty' })
  .max(ASK_CHARS)
  .describe('Question about the run, for a judge. With it, the entry needs neither use nor module.')
  .meta({ examples: ['Does the answer promise a refund?'] });

const checkChoices = (key: 'levels' | 'options') => (asked: AskedAnswer, context: z.RefinementCtx) => {
  const fault = findChoiceFault(asked);
  if (fault !== undefined) {
    context.addIssue({ code: 'custom', path: [key], message: fault });
  }
};

const kindOf = <Kind extends AskedAnswer['type']>(kind: Kind) =>
  z.literal(kind).describe('Kind of answer: boolean, score (levels) or choice (options).');

const answer = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: kindOf('boolean'),
      good: z.boolean().default(true).describe('Answer that is good.'),
    }),
    z
      .strictObject({
        type: kindOf('score'),
        levels: z
          .array(z.string().min(1))
          .describe('Levels from the worst to the best: a name, or a name, a colon and its meaning.'),
      })
      .superRefine(checkChoices('levels')),
    z
      .strictObject({
        type: kindOf('choice'),
        options: z
          .record(z.string().min(1), z.string())
          .describe(
            'Options by name, each with its meaning. They have no order: their scores are counted by label.',
          ),
      })
      .superRefine(checkChoices('options')),
  ])
  .describe('Kind of answer. Absent: boolean, true is good.');

const example = z
  .strictObject({
    text: z
      .string()
      .min(1)
      .optional()
      .describe('Answer to show, in the style of the answers of the runs.')
      .meta({ examples: ['You get your money back in 30 days.'] }),
    traceId: z
      .string()
      .regex(/^[0-9a-f]{32}$/, { error: 'must be a trace id: 32 digits and letters from a to f' })
      .optional()
      .describe(
        'Trace whose question and answer are shown, while its spans are stored: to runs of its tenant, but never to itself.',
      )
      .meta({ examples: ['0af7651916cd43dd8448eb211c80319c'] }),
    answer: z
      .union([z.boolean(), z.string().min(1)])
      .describe('Right answer: true, false, or the name of a level or an option.'),
  })
  .refine(({ text, traceId }) => (text === undefined) !== (traceId === undefined), {
    error: 'give text or traceId',
  });

/** Parts of a run that a judge is shown. */
export const seenParts = z
  .array(z.enum(SEEN_KINDS))
  .describe(
    'What the judge sees of a run. Absent: all. A prebuilt scorer always shows it question and answer.',
  );

/** Keys of an own judge in the entry of a scorer. */
export const ownJudgeKeys = {
  ask: question.optional(),
  answer: answer.optional(),
  examples: z
    .array(example)
    .max(ASK_EXAMPLES)
    .optional()
    .describe('Texts or runs with their right answers, which the judge is shown.'),
};

/** Schema of a question that is asked once. */
export const AskedOnce = z.strictObject({
  ask: question,
  answer: ownJudgeKeys.answer,
  sees: seenParts.min(1).optional(),
  judge: judgeModel('Judge that is asked. Absent: judges.default.').optional(),
});

/** Schema of a score whose verdicts a chat judge is to explain. */
export const ExplainedScore = z.strictObject({
  scoreId: z.guid().describe('Score of a decision judge on the trace.'),
  judge: judgeModel('Chat judge that is asked. Absent: judges.default.').optional(),
});

export type Asked = z.infer<typeof AskedOnce>;

const share = (description: string) =>
  z
    .number()
    .positive({ error: 'must be above 0' })
    .max(1, { error: 'must be at most 1' })
    .describe(description)
    .meta({ unit: 'share' });

/** Schema of two judges, of which the second is asked for some runs. */
export const Cascade = z
  .strictObject({
    judges: z
      .tuple([
        judgeModel('Judge that all sampled runs ask: a decision judge.'),
        judgeModel('Judge that some runs ask, too.'),
      ])
      .describe(
        'Two judges: a decision judge for all runs, and one for those about which it is least certain.',
      ),
    share: share('Mean share of the runs that ask the second judge.').default(0.2),
    floor: share('Least probability with which a run asks the second judge.').default(0.05),
  })
  .refine((cascade) => cascade.floor <= cascade.share, {
    path: ['floor'],
    error: 'must not be above share, the mean of what it bounds',
  })
  .describe(
    'Two judges for ask (boolean, score) or grounding. Means stay unbiased, and monitors watch the first judge.',
  );

/** Reports a cascade of a scorer that cannot have one. */
export function checkCascade(entry: OwnJudge, context: z.RefinementCtx): void {
  if (entry['cascade'] === undefined) {
    return;
  }
  const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const isAsked = entry.ask !== undefined || entry['use'] === 'ask';
  const asked = entry.answer ?? (Object(entry['options']) as OwnJudge).answer;
  if (!isAsked && entry['use'] !== 'grounding') {
    report(['cascade'], 'is for ask and grounding only; remove it');
  } else if (asked?.type === 'choice') {
    report(['cascade'], 'needs an answer with a mean: boolean or score');
  }
  if (entry['judge'] !== undefined) {
    report(['judge'], 'does not go with cascade, which names its judges; remove one of them');
  }
}

type OwnJudge = z.infer<z.ZodObject<typeof ownJudgeKeys>> & Readonly<Record<string, unknown>>;

/** Keys that say what the scorer is, or that the kind of answer says. */
const KEYS_OF_OTHERS = ['use', 'module', 'options', 'env', 'higherIsBetter', 'range'] as const;

/** Reports what does not go together in the entry of a scorer with or without a question. */
export function checkOwnJudge(entry: OwnJudge, context: z.RefinementCtx): void {
  const report = (path: (string | number)[], message: string) => {
    context.addIssue({ code: 'custom', path, message });
  };
  if (entry.ask === undefined) {
    for (const key of ['answer', 'examples'] as const) {
      if (entry[key] !== undefined) {
        report([key], 'belongs to a question: add ask, or remove it');
      }
    }
    return;
  }
  for (const key of KEYS_OF_OTHERS.filter((each) => entry[each] !== undefined)) {
    report([key], 'does not go with ask; remove one of them');
  }
  if (Array.isArray(entry['sees']) && entry['sees'].length === 0) {
    report(['sees'], 'shows the judge nothing; name what it sees, or remove the key');
  }
  const fault = findExampleFault(entry);
  if (fault !== undefined) {
    report(['examples', fault.index, 'answer'], fault.message);
  }
}
