import { formatAll, formatPart } from '../../../../domain/plural.ts';
import type { Verdict } from '../../../../domain/score.ts';
import { nameFindings } from '../name-findings.ts';
import { isQuotedIn } from './find-quote.ts';
import { isChecked, tellUnchecked, type UNCHECKED } from './unchecked.ts';

const CLAIMING = ['sentence that claims something', 'sentences that claim something'] as const;

export const GROUNDING_VERDICTS = ['supported', 'contradicted', 'unsupported', 'no_claim'] as const;
export type GroundingVerdict = (typeof GROUNDING_VERDICTS)[number];

/** Verdict of the judge on one sentence. */
export interface JudgedSentence {
  verdict: GroundingVerdict;
  quotes: { source: number; quote: string }[];
  reason: string;
}

/** A sentence of the answer with its verdict. */
export interface GroundedSentence {
  sentence: string;
  /** `unchecked`: the evidence for this sentence was too long to read completely. */
  verdict: GroundingVerdict | typeof UNCHECKED;
  quotes: { source: number; quote: string; found: boolean }[];
  reason: string;
}

/**
 * Checks the judge's verdicts against the sources in code: without a quote that its source contains, a sentence is not
 * supported, whatever the judge answered.
 */
export function verifySentence(
  sentence: string,
  { verdict, quotes, reason }: JudgedSentence,
  sources: ReadonlyMap<number, string>,
): GroundedSentence {
  const looked = quotes.map(({ source, quote }) => ({
    source,
    quote,
    found: isQuotedIn(quote, sources.get(source) ?? ''),
  }));
  const isBacked = looked.some(({ found }) => found);
  if (verdict === 'supported' && !isBacked) {
    const why = quotes.length === 0 ? 'no quote was given' : 'the quote stands in no source';
    return { sentence, verdict: 'unsupported', quotes: looked, reason: why };
  }
  return { sentence, verdict, quotes: looked, reason };
}

/** Lists the sentences as stored verdicts, each with the first quote that was found. */
export function listVerdicts(table: readonly GroundedSentence[]): Verdict[] {
  return table.map(({ sentence, verdict, quotes, reason }) => {
    const quote = quotes.find(({ found }) => found)?.quote;
    return {
      statement: sentence,
      verdict,
      ...(reason === '' ? {} : { reason }),
      ...(quote === undefined ? {} : { quote }),
    };
  });
}

/** Describes the verdicts of a table in one or two sentences. */
export function explainVerdicts(verdicts: readonly Verdict[]): string {
  const claims = verdicts.filter((entry) => entry.verdict !== 'no_claim' && isChecked(entry));
  const rest = tellUnchecked(verdicts, 'sentence')
    .map((told) => ` ${told}`)
    .join('');
  if (claims.length === 0) {
    return `The answer makes no factual claims.${rest}`;
  }
  const open = claims.filter(({ verdict }) => verdict !== 'supported');
  const named = open.map((entry) => ({
    ...entry,
    reason: entry.reason === undefined ? entry.verdict : `${entry.verdict}: ${entry.reason}`,
  }));
  return open.length === 0
    ? `The evidence supports ${formatAll(claims.length, ...CLAIMING)}.${rest}`
    : `The evidence supports ${formatPart(claims.length - open.length, claims.length, ...CLAIMING)}; not: ${nameFindings(named)}.${rest}`;
}
