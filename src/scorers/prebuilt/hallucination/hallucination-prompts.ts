import { FENCE_NOTE } from '../shared/fence.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '1';

/** System message of the verdicts; the material is `{ context, claims: [{ n, claim }] }`. */
export const HALLUCINATION_VERDICT_INSTRUCTIONS = `You check the numbered claims of an AI assistant's answer against the context that it had: results of tools and documents.
Verdict yes: a hallucination; the context contradicts the claim, or holds nothing that it follows from.
Verdict no: the context states the claim, or it follows from the context directly.
Go by the context alone, not by what you know. Other words, converted units and sensible rounding are no contradiction; figures, names, dates and negations must agree. A tool that failed backs only claims about its failure. A claim that something is unknown is no unless the context answers it.
Give exactly one entry for each claim: n its number; the verdict; reason in one short sentence; quote the shortest passage of the context that decides, copied letter by letter, empty if there is none.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = `You explain a hallucination score to the people who run an AI assistant. It is the share of claims with verdict yes, those that the context contradicts or does not back, times the scale; 0 is best.
Say in one to three plain sentences why this score came out: name the claims that raised it and what is wrong with them, or that every claim is backed. No heading, no list.
${FENCE_NOTE}`;
