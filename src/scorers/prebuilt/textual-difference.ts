import { formatCount } from '../../domain/plural.ts';
import { createScorer } from '../evals/create-scorer.ts';
import { type RunnableScorer, notScorable } from '../evals/scorer.ts';
import { formatPercent, composeText } from '../shared/texts.ts';
import { checkOptions, type NoOptions } from '../shared/options.ts';
import { readInputText, readOutputText, type AgentRunInput } from '../shared/messages.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bits of one machine word of the row. */
const WORD_BITS = 32;

/** Machine words that are processed before other work may run: some 20 ms. */
const WORDS_PER_TURN = 4_000_000;

const ID = 'textual-difference-scorer';

/** Largest product of the lengths of two compared texts: 200,000 characters each, some seconds of one core. */
const MAX_CELLS = 200_000 ** 2;

interface TextualDifferenceResults {
  preprocessStepResult: {
    /** 2 × common subsequence ÷ both lengths; the score. */
    ratio: number;
    /** 1 − lengthDiff. */
    confidence: number;
    /** Number of words that differ. */
    changes: number;
    /** Difference of the lengths ÷ the greater one. */
    lengthDiff: number;
  };
}

/** Scores the share of question and answer that is equal text in the same order: 1 equal, 0 nothing in common. */
export function createTextualDifferenceScorer(
  options: NoOptions = {},
): RunnableScorer<AgentRunInput, TextualDifferenceResults> {
  checkOptions(ID, options, {});
  return createScorer({
    id: ID,
    name: 'Textual Difference Scorer',
    description: 'How much of the texts of question and answer is the same, in the same order',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'different', below: 0.5 }, { label: 'similar', below: 1 }, { label: 'same' }],
    version: '2',
  })
    .preprocess(({ run, abortSignal }) => {
      const [input, output] = [composeText(readInputText(run)), composeText(readOutputText(run))];
      const cells = input.length * output.length;
      return cells > MAX_CELLS
        ? notScorable(`the texts are too long to compare (${input.length} and ${output.length} characters)`)
        : compare(input, output, abortSignal);
    })
    .generateScore(({ results }) => results.preprocessStepResult.ratio)
    .generateReason(({ score, results: { preprocessStepResult } }) =>
      score === 1
        ? 'Question and answer are equal.'
        : `${formatPercent(score)} of both texts are equal in the same order; ${formatCount(preprocessStepResult.changes, 'word differs', 'words differ')}.`,
    );
}

async function compare(
  input: string,
  output: string,
  signal: AbortSignal | undefined,
): Promise<TextualDifferenceResults['preprocessStepResult']> {
  const longest = Math.max(input.length, output.length);
  const lengthDiff = longest === 0 ? 0 : Math.abs(input.length - output.length) / longest;
  return {
    ratio: await computeRatio(input, output, signal),
    confidence: 1 - lengthDiff,
    changes: countChanges(input, output),
    lengthDiff,
  };
}

async function computeRatio(input: string, output: string, signal: AbortSignal | undefined): Promise<number> {
  if (input === output) {
    return 1;
  }
  if (input === '' || output === '') {
    return 0;
  }
  return (2 * (await commonSubsequenceLength(input, output, signal))) / (input.length + output.length);
}

function countChanges(input: string, output: string): number {
  if (input === output) {
    return 0;
  }
  const [inputWords, outputWords] = [splitWords(input), splitWords(output)];
  if (inputWords.join(' ') === outputWords.join(' ')) {
    return 1;
  }
  return Math.max(inputWords.length, outputWords.length) - commonWords(inputWords, outputWords);
}

function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** Counts the words in both texts; a repeated word counts as often as in the text that has it less often. */
function commonWords(first: readonly string[], second: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of first) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  let common = 0;
  for (const word of second) {
    const left = counts.get(word) ?? 0;
    if (left > 0) {
      counts.set(word, left - 1);
      common += 1;
    }
  }
  return common;
}

/**
 * Computes the length of the longest common subsequence of two texts in UTF-16 units, bit-parallel: 32 cells of the row at a
 * time and memory linear in the shorter text (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004). Other work runs
 * between the parts of long texts; an aborted signal ends the work with its reason.
 */
export async function commonSubsequenceLength(
  first: string,
  second: string,
  signal?: AbortSignal,
): Promise<number> {
  const [shorter, longer] = first.length <= second.length ? [first, second] : [second, first];
  const words = Math.ceil(shorter.length / WORD_BITS);
  const positions = indexPositions(shorter, words);
  // A zero bit marks a cell where the length grows by one.
  const row = new Uint32Array(words).fill(0xffffffff);
  const perTurn = Math.max(1, Math.floor(WORDS_PER_TURN / Math.max(1, words)));
  for (let from = 0; from < longer.length; from += perTurn) {
    if (from > 0) {
      await nextTurn(undefined, { signal });
    }
    const turn = longer.slice(from, from + perTurn);
    for (let index = 0; index < turn.length; index += 1) {
      const matches = positions.get(turn.charCodeAt(index));
      if (matches !== undefined) {
        advance(row, matches);
      }
    }
  }
  return countZeros(row, shorter.length);
}

/** Builds the bit positions of each character in a text. */
function indexPositions(text: string, words: number): Map<number, Uint32Array> {
  const positions = new Map<number, Uint32Array>();
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    let bits = positions.get(code);
    if (bits === undefined) {
      bits = new Uint32Array(words);
      positions.set(code, bits);
    }
    const word = Math.floor(index / WORD_BITS);
    bits[word] = (bits[word] as number) | (1 << (index % WORD_BITS));
  }
  return positions;
}

/** Computes row = (row + (row & matches)) | (row & ~matches), with the carry passed from word to word. */
function advance(row: Uint32Array, matches: Uint32Array): void {
  let carry = 0;
  for (let word = 0; word < row.length; word += 1) {
    const before = row[word] as number;
    const both = (before & (matches[word] as number)) >>> 0;
    const sum = before + both + carry;
    carry = sum > 0xffffffff ? 1 : 0;
    row[word] = sum | (before & ~(matches[word] as number));
  }
}

function countZeros(row: Uint32Array, bits: number): number {
  let zeros = 0;
  for (let bit = 0; bit < bits; bit += 1) {
    const word = row[Math.floor(bit / WORD_BITS)] as number;
    zeros += (word >>> (bit % WORD_BITS)) & 1 ? 0 : 1;
  }
  return zeros;
}
