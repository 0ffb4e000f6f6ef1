import { types } from 'node:util';
import { isBoolean, isShare, isText } from '../prebuilt/shared/checked-options.ts';
import type { OptionRules } from '../prebuilt/shared/checked-options.ts';
import { extractAgentResponseMessages } from '../utils/run-output.ts';
import { textSimilarity } from '../utils/text-similarity.ts';
import { createCheck } from './check-scorer.ts';
import type { CheckScorer } from './check-scorer.ts';
import { listMessages } from './messages-of.ts';

export interface CaseOptions {
  /** Default true. */
  readonly ignoreCase?: boolean;
}

/** Passes when the answer contains `target`. */
export function includes(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; found: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'includes',
    name: 'Includes',
    description: 'Whether the answer holds a text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = foldCase({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, found: texts.output.includes(texts.target) };
    },
    score: ({ found }) => Number(found),
  });
}

/** Passes when the answer does not contain `target`. */
export function excludes(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; excluded: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'excludes',
    name: 'Excludes',
    description: 'Whether the answer is free of a text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = foldCase({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, excluded: !texts.output.includes(texts.target) };
    },
    score: ({ excluded }) => Number(excluded),
  });
}

/** Passes when the answer equals `target`, white space included. */
export function equals(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; isEqual: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'equals',
    name: 'Equals',
    description: 'Whether the answer is a given text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = foldCase({ output: readAnswer(run, ''), target }, ignoreCase);
      return { ...texts, isEqual: texts.output === texts.target };
    },
    score: ({ isEqual }) => Number(isEqual),
  });
}

/**
 * Passes when the pattern matches somewhere in the answer or, with `exact`, the whole answer. `exact` anchors the pattern as it
 * is written, so alternatives need a group, `/(?:a|b)/`. Keeps no state between runs.
 */
export function matches(
  pattern: RegExp,
  options: { readonly exact?: boolean } = {},
): CheckScorer<{ output: string; pattern: string; matched: boolean }> {
  const { exact = false } = options;
  return createCheck({
    id: 'matches',
    name: 'Matches',
    description: 'Whether the answer matches a pattern',
    options: { pattern, exact },
    given: { ...options, pattern },
    rules: { pattern: isPattern, exact: isBoolean },
    needs: ['pattern'],
    look: (run) => {
      const output = readAnswer(run, '');
      return { output, pattern: String(pattern), matched: stateless(pattern, exact).test(output) };
    },
    score: ({ matched }) => Number(matched),
  });
}

/** Measures the similarity of the answer and `target`, 0 to 1. With a threshold the score is 1 when it is reached, else 0. */
export function similarity(
  target: string,
  options: CaseOptions & { readonly threshold?: number } = {},
): CheckScorer<{ output: string; target: string; score: number; threshold: number | undefined }> {
  const { ignoreCase = true, threshold } = options;
  return createCheck({
    id: 'similarity',
    name: 'Similarity',
    description: 'How much the answer looks like a text',
    options: { target, ignoreCase, threshold },
    ...asked(target, options, { threshold: isShare }),
    look: (run) => {
      const texts = foldCase({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, score: textSimilarity(texts.output, texts.target), threshold };
    },
    score: ({ score }) => (threshold === undefined ? score : Number(score >= threshold)),
  });
}

const isPattern = { fits: types.isRegExp, is: 'a regular expression' };

/** Checks the options of a text check. */
function asked(target: string, options: CaseOptions, more: OptionRules = {}) {
  return {
    given: { ...options, target },
    rules: { target: isText, ignoreCase: isBoolean, ...more },
    needs: ['target'],
  };
}

/** Removes the flags that make a match depend on the previous one. */
function stateless({ source, flags }: RegExp, exact: boolean): RegExp {
  return new RegExp(exact ? `^${source}$` : source, flags.replace(/[gy]/g, ''));
}

function readAnswer({ output }: { readonly output?: unknown }, separator: string): string {
  if (output === undefined || output === null || typeof output === 'string') {
    return output ?? '';
  }
  return extractAgentResponseMessages(listMessages(output)).join(separator);
}

function foldCase<T extends { output: string; target: string }>(texts: T, ignoreCase: boolean): T {
  return ignoreCase
    ? { ...texts, output: texts.output.toLowerCase(), target: texts.target.toLowerCase() }
    : texts;
}
