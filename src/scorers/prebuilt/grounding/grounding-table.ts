import type { NamedScore } from '../../../evals/scorer.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { explainVerdicts, listVerdicts } from '../shared/evidence/grounded-sentence.ts';
import type { GroundedSentence } from '../shared/evidence/grounded-sentence.ts';

/** Computes the scores of a table of sentences; none without claims. */
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
  const reason = withReason ? { reason: explainVerdicts(verdicts) } : {};
  if (claims === 0) {
    return [];
  }
  const hallucinated = roundToTwoDecimals((contradicted + unsupported) / claims);
  const faithful = roundToTwoDecimals(supported / claims);
  const better = { higherIsBetter: true, range: [0, 1] } as const;
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
    {
      name: 'grounding-faithfulness',
      score: faithful,
      label: faithful === 1 ? 'faithful' : 'unfaithful',
      ...better,
      ...reason,
    },
  ];
  if (quotes.length > 0) {
    const found = roundToTwoDecimals(quotes.filter((quote) => quote.found).length / quotes.length);
    const label = found === 1 ? 'precise' : 'imprecise';
    scores.push({ name: 'grounding-citation-precision', score: found, label, ...better });
  }
  return scores;
}
