import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const ANSWER_SIMILARITY_PROMPT_VERSION = '1';

/** System message of the question for units; the material is `{ answer, groundTruth }`. */
export const SIMILARITY_UNIT_INSTRUCTIONS = `You split two texts into units of meaning: outputUnits of the answer, groundTruthUnits of the groundTruth. A unit is one fact or statement that can stand alone, in the words and the language of its text; numbers, names and negations unchanged. Split both texts equally finely.
${FENCE_NOTE}`;

/** System message of the matches; the material is `{ groundTruthUnits: [{ n, unit }], outputUnits }`. */
export const SIMILARITY_MATCH_INSTRUCTIONS = `You compare the units of an answer (outputUnits) with the numbered units of what was expected.
One entry in matches for each expected unit: n its number; outputUnit the unit of the answer that comes closest, or null; matchType: exact (the same words or figures), semantic (the same meaning in other words), partial (a part of it) or missing; explanation in a few words. A unit of the answer that says the opposite does not match.
extraInOutput: units of the answer that no expected unit covers. contradictions: pairs of outputUnit and groundTruthUnit that cannot both be true, with explanation. Empty lists if none.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, extraInOutput, contradictions }`. */
export const SIMILARITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how close an answer comes to the expected one: exact matches count most, semantic ones less, partial ones half of that, missing ones against it; contradictions and extra statements are penalties. The scale is best.',
);
