import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const ANSWER_SIMILARITY_PROMPT_VERSION = '3';

/** System message of the question for units; the material is `{ answer, groundTruth }`. */
export const SIMILARITY_UNIT_INSTRUCTIONS = `Split two texts equally finely into units of meaning: outputUnits of the answer, groundTruthUnits of the groundTruth. A unit is one statement that can stand alone, in the words of its text; numbers, names and negations unchanged.
${FENCE_NOTE}`;

/** System message of the matches; the material is `{ groundTruthUnits: { 1: unit, … }, outputUnits }`. */
export const SIMILARITY_MATCH_INSTRUCTIONS = `Compare an answer's units (outputUnits) with the numbered units of what was expected.
One entry in matches per expected unit, n its number; outputUnit: the closest unit of the answer, or null; matchType: exact (same words or figures), semantic (same meaning), partial (a part of it) or missing; explanation: a few words. The opposite does not match.
extraInOutput: units of the answer that no expected unit covers. contradictions: pairs of outputUnit and groundTruthUnit that cannot both be true, explained.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, extraInOutput, contradictions }`. */
export const SIMILARITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how close an answer comes to the expected one: exact matches count most, semantic ones less, partial ones half of that, missing ones against it; contradictions and extra statements are penalties. The scale is best.',
);
