import { leaveOutBinary } from '../../../../judge/binary-content.ts';
import { comparable } from './find-quote.ts';
import { choosePassages, listPassages } from './rank-passages.ts';
import type { Passage } from './rank-passages.ts';

/** Size of the second reading as a multiple of the first. */
const SECOND_READING = 4;

/** Evidence for the sentences of an answer. */
export interface Evidence {
  /** Normalised texts for the search of quotes, by number of the source. */
  readonly sources: ReadonlyMap<number, string>;
  /** Passages in the first question. */
  readonly shown: readonly Passage[];
  /** Passages that do not fit into the first question. */
  readonly held: readonly Passage[];
}

/** A text in which quotes are searched. */
export interface Source {
  /** Number of the source. */
  readonly source: number;
  readonly text: string;
}

/** Numbers the pieces of a context from 1, equal pieces once. */
export function numberSources(context: readonly string[]): Source[] {
  return [...new Set(context)].map((text, index) => ({ source: index + 1, text }));
}

/** Assembles evidence from sources. When it is too long, only the passages that matter for these sentences are shown first. */
export function assembleEvidence(
  given: readonly Source[],
  sentences: readonly string[],
  maxChars: number,
): Evidence {
  const whole = given
    .map(({ source, text }) => ({ source, text: leaveOutBinary(text).trim() }))
    .filter(({ text }) => text !== '');
  const sources = new Map(whole.map(({ source, text }) => [source, comparable(text)]));
  const chars = whole.reduce((sum, { text }) => sum + text.length, 0);
  if (chars <= maxChars) {
    return { sources, shown: whole, held: [] };
  }
  const passages = whole.flatMap(({ source, text }) => listPassages(source, text));
  const chosen = choosePassages(passages, sentences, maxChars);
  return {
    sources,
    shown: passages.filter((_passage, index) => chosen[index]),
    held: passages.filter((_passage, index) => !chosen[index]),
  };
}

/** Chooses the left out passages that matter for the open sentences, and says whether these are all of them. */
export function secondReading(
  { held }: Evidence,
  open: readonly string[],
  maxChars: number,
): { readonly shown: readonly Passage[]; readonly isAll: boolean } {
  const chosen = choosePassages(held, open, maxChars * SECOND_READING);
  const shown = held.filter((_passage, index) => chosen[index]);
  return { shown, isAll: shown.length === held.length };
}
