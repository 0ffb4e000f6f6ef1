import { FENCE_NOTE } from '../shared/fence.ts';

/** Raise with every change of the wording below. */
export const FAITHFULNESS_PROMPT_VERSION = '1';

/** System message of the verdicts; the material is `{ context, claims: [{ n, claim }] }`. */
export const FAITHFULNESS_VERDICT_INSTRUCTIONS = `You decide for the numbered claims of an AI assistant's answer whether the context that it had, results of tools and documents, supports them.
Verdict yes: the context states the claim, or it follows from the context directly.
Verdict no: the context contradicts the claim.
Verdict unsure: the context neither supports nor contradicts it.
Go by the context alone, not by what you know. Other words, converted units and sensible rounding are fine; figures, names, dates and negations must agree. A tool that failed supports only claims about its failure.
Give exactly one entry for each claim: n its number; the verdict; reason in one short sentence; quote the shortest passage of the context that decides, copied letter by letter, empty if there is none.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const FAITHFULNESS_REASON_INSTRUCTIONS = `You explain a faithfulness score to the people who run an AI assistant. It is the share of claims with verdict yes, those that the context supports, times the scale; the scale itself is best.
Say in one to three plain sentences why this score came out: name the claims that the context contradicts or leaves open and what is missing, or say that every claim is supported. No heading, no list.
${FENCE_NOTE}`;
