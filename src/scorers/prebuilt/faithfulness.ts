import { formatAll, formatPart } from '../../domain/plural.ts';
import { createClaimScorer, type ClaimScorer, type ClaimScorerConfig } from '../shared/claims.ts';
import type { Finding } from '../shared/statements.ts';
import { nameFindings } from '../shared/texts.ts';

/** Raise with every change of the wording below. */
const FAITHFULNESS_PROMPT_VERSION = '8';

/**
 * Scores the share of the answer's claims that the context supports: `scale` for all, 0 for none. Two questions to the judge,
 * and one more for the explanation. Not scorable without context or without claims.
 */
export function createFaithfulnessScorer(config: ClaimScorerConfig): ClaimScorer {
  return createClaimScorer(
    {
      id: 'faithfulness-scorer',
      name: 'Faithfulness Scorer',
      description: 'Share of the claims in the answer that the context supports',
      higherIsBetter: true,
      labels: (scale) => [{ label: 'unfaithful', below: scale }, { label: 'faithful' }],
      words: { supported: 'yes', contradicted: 'no', unsupported: 'unsure' },
      counted: ['supported'],
      about: 'Faithfulness: the share of claims that the context supports, times the scale, which is best.',
      promptVersion: FAITHFULNESS_PROMPT_VERSION,
      repeatStatements: false,
      scoresWithoutClaims: false,
      explain,
    },
    config,
  );
}

function explain(findings: readonly Finding[]): string {
  const open = findings.filter(({ verdict }) => verdict !== 'supported');
  return open.length === 0
    ? `The context supports ${formatAll(findings.length, 'claim')}.`
    : `The context supports ${formatPart(findings.length - open.length, findings.length, 'claim')}; not: ${nameFindings(open)}.`;
}
