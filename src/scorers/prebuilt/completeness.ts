import type compromise from 'compromise';
import { createTurns } from '../../domain/waits.ts';
import { composeText, listWords, nameTexts } from '../shared/texts.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { formatAll, formatPart } from '../../domain/plural.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { checkOptions, type NoOptions } from '../shared/options.ts';
import { readInputText, readOutputText, type AgentRunInput } from '../shared/messages.ts';

/** Most characters that one search for sentences gets, so that it never blocks the process. */
const MAX_SLICE_CHARS = 4000;

/**
 * Longest sentence that is analysed whole. The cost of a sentence grows with the square of its length, so a longer one is
 * analysed in parts.
 */
const MAX_SENTENCE_CHARS = 400;
/** Time after which other work of the process may run, milliseconds. */
const TURN_MS = 5;

const MARKS = /[\u0300-\u036f]/g;
const NOT_PLAIN = /[^\p{Script=Latin}0-9]+/u;
const FOREIGN_LETTER = /(?=\p{L})\P{Script=Latin}/u;

/** The library. */
type Compromise = typeof compromise;

/** View of the verbs; the types of the library leave out its method. */
interface Verbs {
  toInfinitive(): { out(form: 'array'): string[] };
}

interface Found {
  readonly nouns: string[];
  readonly verbs: string[];
  readonly topics: string[];
  readonly terms: string[];
}

/**
 * Lists the elements of a text, each once: words of its nouns, its verbs in the infinitive, its topics, then all its words with
 * verbs in the infinitive; lower-cased, without accents. Words of other scripts come last, with their accents. It works sentence by
 * sentence: this gives the same lists as one pass over the whole text, in linear time, and other work can run between
 * sentences.
 */
async function listElements(text: string, signal?: AbortSignal): Promise<string[]> {
  // Loaded with the first text: it is large, and most processes never need it.
  const { default: nlp } = await import('compromise');
  const all: Found = { nouns: [], verbs: [], topics: [], terms: [] };
  const foreign: string[] = [];
  // Texts that agents write repeat lines; a sentence says the same every time.
  const known = new Map<string, Found>();
  const giveTurns = createTurns(TURN_MS, signal);
  for (const slice of listSlices(composeText(text).trim())) {
    for (const piece of listSentences(nlp, slice)) {
      await giveTurns();
      const found = known.get(piece) ?? (await lookAt(nlp, piece, giveTurns));
      known.set(piece, found);
      for (const kind of ['nouns', 'verbs', 'topics', 'terms'] as const) {
        all[kind].push(...found[kind]);
      }
      foreign.push(...listForeignWords(piece));
    }
  }
  // Each once before it is taken apart: a long text says most of its words many times, and this is one turn.
  const items = new Set([...all.nouns, ...all.verbs, ...all.topics, ...all.terms]);
  const plain = [...items].flatMap(listPlainWords);
  return [...new Set([...plain, ...foreign])];
}

function listSentences(nlp: Compromise, slice: string): string[] {
  const sentences = nlp.tokenize(slice).out('array') as string[];
  return sentences.flatMap((sentence) => listParts(sentence, MAX_SENTENCE_CHARS));
}

/** Analyses one sentence. Other work may run between its steps too, because a long sentence takes a while. */
async function lookAt(nlp: Compromise, sentence: string, giveTurns: () => Promise<void>): Promise<Found> {
  const doc = nlp(sentence);
  await giveTurns();
  const nouns = doc.nouns().out('array') as string[];
  await giveTurns();
  // Changes the document: from here on its verbs are infinitives.
  const verbs = (doc.verbs() as unknown as Verbs).toInfinitive().out('array');
  await giveTurns();
  const topics = doc.topics().out('array') as string[];
  await giveTurns();
  return { nouns, verbs, topics, terms: doc.terms().out('array') as string[] };
}

function listPlainWords(item: string): string[] {
  const plain = item.normalize('NFD').replace(MARKS, '').toLowerCase();
  return plain.split(NOT_PLAIN).filter((word) => word !== '');
}

/** Lists words with letters outside the Latin script; the word lists do not contain them. */
function listForeignWords(text: string): string[] {
  if (!FOREIGN_LETTER.test(text)) {
    return [];
  }
  return listWords(text).filter((word) => FOREIGN_LETTER.test(word));
}

/**
 * Cuts a text into slices of bounded length: at the end of a line, else at a possible end of a sentence, else between two
 * words.
 */
function listSlices(text: string): string[] {
  return cut(text, MAX_SLICE_CHARS, ['\n', '. ', '! ', '? ', ' ']);
}

/** Cuts a piece of a sentence into parts of at most `maxChars`, between words where possible. */
function listParts(sentence: string, maxChars: number): string[] {
  return cut(sentence, maxChars, [' ']);
}

function cut(text: string, maxChars: number, marks: readonly string[]): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (text.length - from > maxChars) {
    const window = text.slice(from, from + maxChars);
    const end = marks.map((mark) => window.lastIndexOf(mark) + mark.length).find((at) => at > maxChars / 2);
    from += end ?? maxChars;
    pieces.push(window.slice(0, end ?? maxChars));
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** Longest word that is covered only by the equal word. */
const EXACT_CHARS = 3;

/**
 * Smallest ratio of lengths: a word covers another when one contains the other and the shorter is longer than this share of the
 * longer.
 */
const MIN_SHARE = 0.6;

/** Longest word whose pieces are looked up; longer words are compared one by one. */
const MAX_INDEXED_CHARS = 40;

const ID = 'completeness-scorer';

export interface CompletenessElements {
  inputElements: string[];
  outputElements: string[];
  /** Elements of the input that the output does not contain exactly; a similar form may still cover one. */
  missingElements: string[];
  elementCounts: { input: number; output: number };
}

export interface CompletenessResults {
  preprocessStepResult: CompletenessElements;
}

/** Scores the share of the question's elements that the answer covers: covered elements ÷ elements. English grammar. */
export function createCompletenessScorer(
  options: NoOptions = {},
): RunnableScorer<AgentRunInput, CompletenessResults> {
  checkOptions(ID, options, {});
  return createScorer({
    id: ID,
    name: 'Completeness Scorer',
    description: 'How much of what the question speaks of the answer speaks of too',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'incomplete', below: 0.5 }, { label: 'partial', below: 1 }, { label: 'complete' }],
    version: '2',
  })
    .preprocess(async ({ run, abortSignal }) => {
      if (run.input === undefined || run.output === undefined) {
        throw new InvalidInputError('completeness needs run.input and run.output of an agent run');
      }
      return compareElements(readInputText(run), readOutputText(run), abortSignal);
    })
    .generateScore(({ results: { preprocessStepResult: elements } }) => computeCompleteness(elements))
    .generateReason(({ results: { preprocessStepResult: elements } }) => explain(elements));
}

/**
 * Computes covered elements ÷ elements of the input. An input without elements is complete only with an output without
 * elements.
 */
function computeCompleteness({ inputElements, outputElements }: CompletenessElements): number {
  if (inputElements.length === 0) {
    return outputElements.length === 0 ? 1 : 0;
  }
  const uncovered = listUncovered(inputElements, outputElements).length;
  return (inputElements.length - uncovered) / inputElements.length;
}

function explain({ inputElements, outputElements }: CompletenessElements): string {
  const total = inputElements.length;
  if (total === 0) {
    return 'The question has no words to cover.';
  }
  const uncovered = listUncovered(inputElements, outputElements);
  return uncovered.length === 0
    ? `The answer covers ${formatAll(total, 'element')} of the question.`
    : `${formatPart(uncovered.length, total, 'element')} ${total === 1 ? 'is' : 'are'} not covered: ${nameTexts(uncovered)}.`;
}

/** Compares the elements of two texts. */
async function compareElements(
  input: string,
  output: string,
  signal?: AbortSignal,
): Promise<CompletenessElements> {
  const inputElements = await listElements(input, signal);
  const outputElements = await listElements(output, signal);
  const given = new Set(outputElements);
  return {
    inputElements,
    outputElements,
    missingElements: inputElements.filter((element) => !given.has(element)),
    elementCounts: { input: inputElements.length, output: outputElements.length },
  };
}

/** Lists the `wanted` words that `given` does not cover. Both lists have each word once. */
export function listUncovered(wanted: readonly string[], given: readonly string[]): string[] {
  const words = new Set(given);
  const pieces = new Set(given.flatMap(listPieces));
  const longest = given.filter((word) => word.length > MAX_INDEXED_CHARS * MIN_SHARE);
  return wanted.filter((word) => {
    if (words.has(word)) {
      return false;
    }
    if (word.length <= EXACT_CHARS) {
      return true;
    }
    return !(
      pieces.has(word) ||
      listPieces(word).some((piece) => words.has(piece)) ||
      (word.length > MAX_INDEXED_CHARS * MIN_SHARE && longest.some((other) => isNear(word, other)))
    );
  });
}

/** Lists the pieces of a word that are long enough to cover it; empty for a word above the length limit. */
function listPieces(word: string): string[] {
  if (word.length > MAX_INDEXED_CHARS) {
    return [];
  }
  const pieces: string[] = [];
  for (let length = word.length - 1; length / word.length > MIN_SHARE; length -= 1) {
    for (let from = 0; from + length <= word.length; from += 1) {
      pieces.push(word.slice(from, from + length));
    }
  }
  return pieces;
}

function isNear(one: string, other: string): boolean {
  const [shorter, longer] = one.length < other.length ? [one, other] : [other, one];
  return shorter.length / longer.length > MIN_SHARE && longer.includes(shorter);
}
