import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const ANSWER_SIMILARITY_PROMPT_VERSION = '8';

/** Question for units; the material is `{ answer, groundTruth }`. */
export const SIMILARITY_UNIT_INSTRUCTIONS = `Split both texts equally finely into units: outputUnits of the answer, groundTruthUnits of the groundTruth. A unit: one statement that stands alone, in the words of its text; numbers, names, negations unchanged.`;

/** Question for the matches; the material is `{ groundTruthUnits: { 1: unit, … }, outputUnits }`. */
export function matchInstructions(why: WhyFields): string {
  return `Compare an answer's outputUnits with the numbered ones expected.
One entry in matches per expected unit, n its number; ${why.tell('outputUnit: the closest one, or null; explanation: a few words; ')}matchType of the closest outputUnit: exact (same words or figures), semantic (same meaning), partial (part of it) or missing. The opposite does not match.
extraInOutput: outputUnits that no expected one covers. contradictions: pairs that cannot both be true${why.tell(', explained')}.`;
}

/** Question for the explanation; the material is `{ score, scale, findings, extraInOutput, contradictions }`. */
export const SIMILARITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how close an answer comes to the expected one: exact matches count most, semantic ones less, partial ones half of that, missing ones against it; contradictions and extra statements are penalties. The scale is best.',
);
