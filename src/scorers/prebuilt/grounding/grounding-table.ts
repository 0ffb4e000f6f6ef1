import type { Verdict } from '../../../domain/score.ts';
import { formatAll, formatPart } from '../../../domain/plural.ts';
import type { NamedScore } from '../../../evals/scorer.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { nameFindings } from '../shared/name-findings.ts';
import { isQuotedIn } from './find-quote.ts';
import type { GroundingVerdict, JudgedSentence } from './grounding-reply.ts';

const CLAIMING = ['sentence that claims something', 'sentences that claim something'] as const;

/** A sentence of the answer with its verdict. */
export interface GroundedSentence {
  sentence: string;
  /** `unchecked`: the evidence for this sentence was too long to read completely. */
  verdict: GroundingVerdict | 'unchecked';
  quotes: { source: number; quote: string; found: boolean }[];
  reason: string;
}

/**
 * Checks the judge's verdicts against the sources in code: without a quote that its source contains, a sentence is not
 * supported, whatever the judge answered.
 */
export function verifyTable(
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

/** Computes the scores of a table of sentences. Without claims there is only the hallucination score. */
export function listScores(table: readonly GroundedSentence[], withReason: boolean): NamedScore[] {
  const count = (verdict: GroundedSentence['verdict']) =>
    table.filter((entry) => entry.verdict === verdict).length;
  const [supported, contradicted, unsupported] = [
    count('supported'),
    count('contradicted'),
    count('unsupported'),
  ];
  const claims = supported + contradicted + unsupported;
  const quotes = table.flatMap((entry) => entry.quotes);
  const verdicts = listVerdicts(table);
  const reason = withReason ? { reason: explain(table) } : {};
  const hallucinated = claims === 0 ? 0 : roundToTwoDecimals((contradicted + unsupported) / claims);
  const scores: NamedScore[] = [
    {
      name: 'grounding-hallucination',
      score: hallucinated,
      label: hallucinated === 0 ? 'grounded' : 'hallucinated',
      higherIsBetter: false,
      range: [0, 1],
      verdicts,
      ...reason,
    },
  ];
  if (claims > 0) {
    const faithful = roundToTwoDecimals(supported / claims);
    const label = faithful === 1 ? 'faithful' : 'unfaithful';
    const better = { higherIsBetter: true, range: [0, 1] } as const;
    scores.push({ name: 'grounding-faithfulness', score: faithful, label, ...better, ...reason });
  }
  if (quotes.length > 0) {
    const found = roundToTwoDecimals(quotes.filter((quote) => quote.found).length / quotes.length);
    const label = found === 1 ? 'precise' : 'imprecise';
    const better = { higherIsBetter: true, range: [0, 1] } as const;
    scores.push({ name: 'grounding-citation-precision', score: found, label, ...better });
  }
  return scores;
}

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

/** Describes the table in one or two sentences. */
export function explain(table: readonly GroundedSentence[]): string {
  const claims = table.filter(({ verdict }) => verdict !== 'no_claim' && verdict !== 'unchecked');
  const unchecked = table.filter(({ verdict }) => verdict === 'unchecked').length;
  const rest =
    unchecked === 0 ? '' : ` ${unchecked} sentences were left out: not all evidence could be read for them.`;
  if (claims.length === 0) {
    return `The answer makes no factual claims.${rest}`;
  }
  const open = listVerdicts(claims).filter(({ verdict }) => verdict !== 'supported');
  const named = open.map((entry) => ({
    ...entry,
    reason: entry.reason === undefined ? entry.verdict : `${entry.verdict}: ${entry.reason}`,
  }));
  return open.length === 0
    ? `The evidence supports ${formatAll(claims.length, ...CLAIMING)}.${rest}`
    : `The evidence supports ${formatPart(claims.length - open.length, claims.length, ...CLAIMING)}; not: ${nameFindings(named)}.${rest}`;
}
