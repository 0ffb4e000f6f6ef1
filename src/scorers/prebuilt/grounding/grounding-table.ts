import type { NamedScore } from '../../../evals/scorer.ts';
import { roundToTwoDecimals } from '../../utils/numbers.ts';
import { buildRowScore } from '../../scorer-definition.ts';
import { GROUNDING_ROWS } from './grounding-options.ts';
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
  const scores: NamedScore[] = [
    { ...buildRowScore(GROUNDING_ROWS, 'grounding-hallucination', hallucinated), verdicts, ...reason },
    { ...buildRowScore(GROUNDING_ROWS, 'grounding-faithfulness', faithful), ...reason },
  ];
  if (quotes.length > 0) {
    const found = roundToTwoDecimals(quotes.filter((quote) => quote.found).length / quotes.length);
    scores.push(buildRowScore(GROUNDING_ROWS, 'grounding-citation-precision', found));
  }
  return scores;
}
