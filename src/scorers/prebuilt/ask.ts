import { createScorer } from '../evals/create-scorer.ts';
import { notScorable, type RunnableScorer, type ScoreLabel, type ScorerRunInput } from '../evals/scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { listChoices, type AskedAnswer, type AskedExample, type Choice } from '../../domain/asked-answer.ts';
import { SEEN_KINDS, type Verdict } from '../../domain/score.ts';
import { fenceEvidence, searchable, type Source } from '../shared/evidence.ts';
import {
  byNumber,
  buildFinding,
  enumSchema,
  FLAG,
  judgeAfterData,
  objectSchema,
  replyReader,
  TEXT,
} from '../shared/judged.ts';
import { readAnswer } from '../shared/messages.ts';
import { checkGiven, checkOptions } from '../shared/options.ts';
import { listRunEvidence, QUESTION_SOURCE, quotedPart, type Sight } from '../shared/run-evidence.ts';
import { findHolder } from '../shared/sentences.ts';
import { ASK_OPTION, ASK_OPTIONS } from './definitions.ts';

/** Raise with every change of the wording below. */
const ASK_PROMPT_VERSION = '1';

const ID = 'ask';

/** Most characters of evidence in the question: about 12,000 tokens. */
const EVIDENCE_CHARS = 48_000;

export interface AskOptions extends Sight {
  /** Default `{ type: 'boolean' }`, where true is good. */
  readonly answer?: AskedAnswer;
  /** Texts with their right answers, shown beside the run. */
  readonly examples?: readonly AskedExample[];
}

interface AskResults {
  analyzeStepResult: { answer: string; reason: string; quote: string };
}

/**
 * Scores a judge's answer to one question about the run: whether it is true, a level of a scale, or one of several options. An option
 * has no direction and no range: its name, the label, is the result.
 */
export function createAskScorer(config: {
  readonly model: JudgeModel;
  readonly ask: string;
  readonly options?: AskOptions;
}): RunnableScorer<ScorerRunInput, AskResults> {
  const { model, ask, options = {} } = config;
  checkGiven(ID, { ask }, ['ask']);
  checkOptions(ID, { ask }, { ask: ASK_OPTION });
  checkOptions(ID, options, ASK_OPTIONS);
  const { answer = { type: 'boolean' }, examples = [] } = options;
  const choices = listChoices(answer);
  return createScorer({
    id: ID,
    name: 'Own judge',
    description: 'Answer of a judge to a question about the run',
    judge: judgeAfterData(ID, model, askInstructions(ask, answer, examples.length > 0)),
    ...describeScale(answer, choices),
    version: '1',
    promptVersion: ASK_PROMPT_VERSION,
    options: { ...options, ask, answer },
    details: ({ run, results }) => {
      const found = (results as AskResults).analyzeStepResult;
      return { label: found.answer, verdicts: [buildVerdict(ask, found, listSeen(run, options))] };
    },
  })
    .analyze({
      description: 'The answer to the question',
      outputSchema: buildSchema(answer, choices),
      createPrompt: async ({ run }) => {
        const seen = listSeen(run, options);
        if (seen.sources.length === 0 && seen.answer === '') {
          return notScorable('the run holds nothing of what the judge sees');
        }
        return fenceEvidence(model, {
          sources: seen.sources,
          texts: [ask, seen.answer],
          beside: {
            ...(examples.length === 0 ? {} : { examples: byNumber(examples) }),
            ...(seen.answer === '' ? {} : { answer: seen.answer }),
          },
          maxChars: EVIDENCE_CHARS,
        });
      },
    })
    .generateScore(({ results }) => scoreOf(answer, choices, results.analyzeStepResult.answer))
    .generateReason(({ results }) => {
      const { answer: given, reason } = results.analyzeStepResult;
      return reason === '' ? given : `${given}: ${reason}`;
    }) as RunnableScorer<ScorerRunInput, AskResults>;
}

/** Lists what the judge sees of a run. Unlike other scorers, it sees question and answer only where `sees` names them. */
function listSeen(run: ScorerRunInput, { sees = SEEN_KINDS, earlierChars }: Sight) {
  const sources = listRunEvidence({ ...run, context: [] }, { sees, earlierChars });
  return {
    sources: sees.includes('question') ? sources : sources.filter(({ source }) => source !== QUESTION_SOURCE),
    answer: sees.includes('answer') ? readAnswer(run) : '',
  };
}

/** Returns direction, range and labels of the scores. */
function describeScale(answer: AskedAnswer, choices: readonly Choice[]) {
  if (answer.type === 'choice') {
    return {};
  }
  const steps = choices.length - 1;
  const labels = choices.map(({ name }, index): ScoreLabel =>
    index === steps ? { label: name } : { label: name, below: (index + 0.5) / steps },
  );
  const higherIsBetter = answer.type === 'score' || answer.good !== false;
  return { higherIsBetter, range: [0, 1] as const, labels };
}

/** Computes the score of an answer that is certain. */
function scoreOf({ type }: AskedAnswer, choices: readonly Choice[], given: string): number {
  return type === 'choice' ? 1 : choices.findIndex(({ name }) => name === given) / (choices.length - 1);
}

function buildSchema(
  { type }: AskedAnswer,
  choices: readonly Choice[],
): JsonJudgeSchema<AskResults['analyzeStepResult']> {
  const names = choices.map(({ name }) => name);
  return {
    jsonSchema: objectSchema({
      quote: TEXT,
      reason: TEXT,
      answer: type === 'boolean' ? FLAG : enumSchema(names),
    }),
    validate: replyReader((reply) => ({
      answer: type === 'boolean' ? String(reply.flag('answer')) : reply.word('answer', names),
      reason: reply.textIfAny('reason') ?? '',
      quote: reply.textIfAny('quote') ?? '',
    })),
  };
}

/** Builds the verdict: a quote that stands in nothing that the judge saw is left out. */
function buildVerdict(
  ask: string,
  { answer, reason, quote }: AskResults['analyzeStepResult'],
  seen: { readonly sources: readonly Source[]; readonly answer: string },
): Verdict {
  const verdict = buildFinding(ask, answer, reason);
  const shown = [...seen.sources, { source: -1, text: seen.answer }];
  const holder = quote === '' ? undefined : findHolder(quote, searchable(shown));
  return holder === undefined ? verdict : { ...verdict, quote: quotedPart(quote), ...holder };
}

const FORMS: Record<AskedAnswer['type'], string> = {
  boolean: 'answer: true or false.',
  score: 'answer: the level that fits best, from the worst to the best:',
  choice: 'answer: the option that fits best:',
};

/** Question of the user; the material is `{ examples?, …evidence by kind, answer? }`. */
function askInstructions(ask: string, answer: AskedAnswer, hasExamples: boolean): string {
  const choices = answer.type === 'boolean' ? [] : listChoices(answer);
  return [
    `Answer a question about the assistant's run above. Go by what it shows. Only operator sets rules; tools are calls with their results${hasExamples ? '; examples are other texts with their right answers' : ''}.`,
    `Question: ${ask.trim()}`,
    'quote: the shortest passage that decides, copied letter by letter; empty where none does. reason: one or two sentences.',
    FORMS[answer.type],
    ...choices.map(({ name, meaning }) => (meaning === '' ? `- ${name}` : `- ${name}: ${meaning}`)),
  ].join('\n');
}
