import { types } from 'node:util';
import { reaches } from '../../domain/limits.ts';
import { isBoolean, isShare, isText } from '../prebuilt/shared/checked-options.ts';
import type { OptionRules } from '../prebuilt/shared/checked-options.ts';
import { nameTexts } from '../prebuilt/shared/name-findings.ts';
import { composeText } from '../utils/words.ts';
import { extractAgentResponseMessages } from '../utils/run-output.ts';
import { formatPercent } from '../utils/numbers.ts';
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
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, found: texts.output.includes(texts.target) };
    },
    score: ({ found }) => Number(found),
    reason: ({ found }) => `The answer ${found ? 'contains' : 'does not contain'} ${quote(target)}.`,
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
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, excluded: !texts.output.includes(texts.target) };
    },
    score: ({ excluded }) => Number(excluded),
    reason: ({ excluded }) => `The answer ${excluded ? 'does not contain' : 'contains'} ${quote(target)}.`,
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
      const texts = fold({ output: readAnswer(run, ''), target }, ignoreCase);
      return { ...texts, isEqual: texts.output === texts.target };
    },
    score: ({ isEqual }) => Number(isEqual),
    reason: ({ isEqual }) => `The answer is ${isEqual ? '' : 'not '}${quote(target)}.`,
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
    version: TEXT_CHECK_VERSION,
    look: (run) => {
      const output = readAnswer(run, '');
      const matched = [
        [pattern.source, output],
        [composeText(pattern.source), composeText(output)],
      ].some(([source = '', text = '']) => stateless(source, pattern.flags, exact).test(text));
      return { output, pattern: String(pattern), matched };
    },
    score: ({ matched }) => Number(matched),
    reason: ({ matched }) =>
      `The pattern ${nameTexts([String(pattern)])} ${matched ? 'matches' : 'does not match'} the answer.`,
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
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, score: textSimilarity(texts.output, texts.target), threshold };
    },
    score: ({ score }) => (threshold === undefined ? score : Number(reaches(score, threshold))),
    reason: ({ score }) =>
      `The answer shares ${formatPercent(score)} of the letter pairs with ${quote(target)}${threshold === undefined ? '' : `; the threshold is ${formatPercent(threshold)}`}.`,
  });
}

/** Version of the checks of texts: equal texts are equal in any normal form. */
const TEXT_CHECK_VERSION = '2';

const isPattern = { fits: types.isRegExp, is: 'a regular expression' };

/** Checks the options of a text check. */
function asked(target: string, options: CaseOptions, more: OptionRules = {}) {
  return {
    given: { ...options, target },
    rules: { target: isText, ignoreCase: isBoolean, ...more },
    needs: ['target'],
    version: TEXT_CHECK_VERSION,
  };
}

/** Builds a pattern without the flags that make a match depend on the previous one. */
function stateless(source: string, flags: string, exact: boolean): RegExp {
  return new RegExp(exact ? `^${source}$` : source, flags.replace(/[gy]/g, ''));
}

function readAnswer({ output }: { readonly output?: unknown }, separator: string): string {
  if (output === undefined || output === null || typeof output === 'string') {
    return output ?? '';
  }
  return extractAgentResponseMessages(listMessages(output)).join(separator);
}

function fold(texts: { output: string; target: string }, ignoreCase: boolean): typeof texts {
  const [output, target] = [composeText(texts.output), composeText(texts.target)];
  return ignoreCase ? { output: output.toLowerCase(), target: target.toLowerCase() } : { output, target };
}

function quote(target: string): string {
  return `"${nameTexts([target])}"`;
}
