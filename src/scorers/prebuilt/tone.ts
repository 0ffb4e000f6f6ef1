import Sentiment from 'sentiment';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { roundToTwoDecimals, composeText } from '../shared/texts.ts';
import { type AgentRunInput, readOutputText } from '../shared/messages.ts';
import { checkOptions } from '../shared/options.ts';
import { TONE_OPTIONS } from './definitions.ts';

const END = /\p{Sentence_Terminal}/u;

const ID = 'tone-scorer';

export interface ToneOptions {
  /** A text with the wanted tone. Without it, the sentences of the answer are compared with each other. */
  readonly referenceTone?: string;
}

interface ToneMatch {
  score: number;
  responseSentiment: number;
  referenceSentiment: number;
  difference: number;
}

interface ToneStability {
  score: number;
  avgSentiment: number;
  /** Population variance over the sentences. */
  sentimentVariance: number;
}

interface ToneResults {
  preprocessStepResult: ToneMatch | ToneStability;
}

const APOSTROPHES = /[’ʼ＇]/g;
/** Punctuation that the analyzer does not know: it would stay on the words. */
const MARKS = /(?![\0-\x7f])\p{P}/gu;

const analyzer = new Sentiment();

/**
 * Scores the evenness of the answer's tone, or its closeness to a reference: 1 − variance of the sentences' sentiment, or 1 −
 * difference to the reference, at least 0. English word lists (AFINN-165) and emoji.
 */
export function createToneScorer(options: ToneOptions = {}): RunnableScorer<AgentRunInput, ToneResults> {
  checkOptions(ID, options, TONE_OPTIONS);
  const { referenceTone } = options;
  return createScorer({
    id: ID,
    name: 'Tone Scorer',
    description: 'How even the tone of the answer is, or how near to a reference',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: referenceTone
      ? [{ label: 'other tone', below: 0.5 }, { label: 'same tone' }]
      : [{ label: 'uneven', below: 0.5 }, { label: 'even' }],
    version: '2',
    options: { referenceTone },
  })
    .preprocess(({ run }) => {
      const answer = readOutputText(run);
      return referenceTone ? compareTone(answer, referenceTone) : measureStability(answer);
    })
    .generateScore(({ results }) => results.preprocessStepResult.score)
    .generateReason(({ results }) => explain(results.preprocessStepResult));
}

function compareTone(answer: string, reference: string): ToneMatch {
  const responseSentiment = computeSentiment(answer);
  const referenceSentiment = computeSentiment(reference);
  const difference = Math.abs(responseSentiment - referenceSentiment);
  return { score: Math.max(0, 1 - difference), responseSentiment, referenceSentiment, difference };
}

function measureStability(answer: string): ToneStability {
  const sentiments = listSentences(answer).map(computeSentiment);
  const avgSentiment = computeMean(sentiments);
  const sentimentVariance = computeMean(sentiments.map((sentiment) => (sentiment - avgSentiment) ** 2));
  return { score: Math.max(0, 1 - sentimentVariance), avgSentiment, sentimentVariance };
}

function computeSentiment(text: string): number {
  const plain = composeText(text).replace(APOSTROPHES, "'").replace(MARKS, ' ');
  return analyzer.analyze(plain).comparative;
}

function explain(found: ToneMatch | ToneStability): string {
  return 'difference' in found
    ? `The sentiment of the answer is ${write(found.responseSentiment)}, of the reference ${write(found.referenceSentiment)}: a difference of ${write(found.difference)}.`
    : `The sentiment of the sentences is ${write(found.avgSentiment)} on average, with a variance of ${write(found.sentimentVariance)}.`;
}

function write(value: number): string {
  return String(roundToTwoDecimals(value));
}

function computeMean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Lists the sentences of a text: each a run of other characters and the full stops, exclamation or question marks of any script
 * after it.
 * Text after the last end mark counts only when there is no sentence at all. Works in one pass, because the text is untrusted.
 */
export function listSentences(text: string): string[] {
  const sentences: string[] = [];
  let from = 0;
  while (from < text.length && END.test(text[from] as string)) {
    from += 1;
  }
  for (let at = from; at < text.length; at += 1) {
    const isLastMark = END.test(text[at] as string) && !END.test(text[at + 1] ?? '');
    if (isLastMark) {
      sentences.push(text.slice(from, at + 1));
      from = at + 1;
    }
  }
  return sentences.length === 0 ? [text] : sentences;
}
