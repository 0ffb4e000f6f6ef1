import { formatAll, formatPart } from '../../domain/plural.ts';
import { createClaimScorer, type ClaimScorer, type ClaimScorerConfig } from '../shared/claims.ts';
import type { Finding } from '../shared/statements.ts';
import { nameFindings } from '../shared/texts.ts';

/** Raise with every change of the wording below. */
const HALLUCINATION_PROMPT_VERSION = '8';

/**
 * Scores the share of the answer's claims that the context contradicts or does not support: 0 for none, `scale` for all. Two
 * questions to the judge, and one more for the explanation. Not scorable without context; an empty answer is 0.
 */
export function createHallucinationScorer(config: ClaimScorerConfig): ClaimScorer {
  return createClaimScorer(
    {
      id: 'hallucination-scorer',
      name: 'Hallucination Scorer',
      description: 'Share of the claims in the answer that the context contradicts or does not back',
      higherIsBetter: false,
      labels: () => [{ label: 'grounded', upTo: 0 }, { label: 'hallucinated' }],
      words: { supported: 'no', contradicted: 'yes', unsupported: 'unsure' },
      counted: ['contradicted', 'unsupported'],
      about:
        'Hallucination: the share of claims that the context contradicts or does not back, times the scale; 0 is best.',
      promptVersion: HALLUCINATION_PROMPT_VERSION,
      repeatStatements: true,
      scoresWithoutClaims: true,
      explain,
    },
    config,
  );
}

function explain(findings: readonly Finding[]): string {
  if (findings.length === 0) {
    return 'The answer makes no factual claims.';
  }
  const wrong = findings.filter(({ verdict }) => verdict !== 'supported');
  return wrong.length === 0
    ? `The context backs ${formatAll(findings.length, 'claim')}.`
    : `The context contradicts or does not back ${formatPart(wrong.length, findings.length, 'claim')}: ${nameFindings(wrong)}.`;
}
