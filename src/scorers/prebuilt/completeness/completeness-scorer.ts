import { InvalidInputError } from '../../../domain/errors.ts';
import { formatAll, formatPart } from '../../../domain/plural.ts';
import { createScorer } from '../../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../../evals/scorer-chain.ts';
import { checkOptions, type NoOptions } from '../shared/checked-options.ts';
import { nameTexts } from '../shared/name-findings.ts';
import { readInputText, readOutputText } from '../shared/run-texts.ts';
import { listElements } from './text-elements.ts';
import type { AgentRunInput } from '../../utils/agent-run-input.ts';

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
export function computeCompleteness({ inputElements, outputElements }: CompletenessElements): number {
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
export async function compareElements(
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
