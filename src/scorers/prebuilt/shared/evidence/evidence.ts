import { leaveOutBinary } from '../../../../judge/binary-content.ts';
import type { JudgeModel } from '../../../../judge/judge.ts';
import { quotable } from './find-quote.ts';
import type { Quotable } from './find-quote.ts';
import type { SeenKind } from '../../../../domain/score.ts';
import { choosePassages, listPassages } from './rank-passages.ts';
import type { Passage } from './rank-passages.ts';

/** Least characters of evidence in a question, however long its other data is. */
const LEAST_CHARS = 1000;

/** Evidence for the sentences of an answer. */
export interface Evidence {
  readonly sources: ReadonlyMap<number, EvidenceSource>;
  /** Passages in the first question. */
  readonly shown: readonly Passage[];
  /** Passages that do not fit into the first question. */
  readonly held: readonly Passage[];
}

/** A source with its text prepared for the search of quotes. */
export interface EvidenceSource {
  readonly kind?: SourceKind | undefined;
  readonly text: Quotable;
  /** True when the judge sees all of the source: only then it shows that something is missing. */
  readonly isWhole: boolean;
}

/** Kind of a source; `calls` stand with their results. Texts that a caller gave have none. */
export type SourceKind = Exclude<SeenKind, 'calls' | 'question' | 'answer'>;

/** A text in which quotes are searched. */
export interface Source {
  /** Number of the source. */
  readonly source: number;
  readonly kind?: SourceKind;
  readonly text: string;
  /** True for words of operator, user and assistant. */
  readonly isSpoken?: true;
}

/** Numbers the pieces of a context from 1, equal pieces once. */
export function numberSources(context: readonly string[]): Source[] {
  return [...new Set(context)].map((text, index) => ({ source: index + 1, text }));
}

/**
 * Limits the characters of evidence in a question to what the judge's window holds beside other data. Returns `most` when all fits,
 * and for a model object: the program that made it knows its window.
 */
export async function limitEvidence(
  model: JudgeModel | undefined,
  material: { readonly evidence: readonly string[]; readonly beside: unknown },
  most: number,
): Promise<number> {
  if (typeof model === 'object') {
    return most;
  }
  // Loaded with the first question, like the judges themselves.
  const { findEvidenceRoom } = await import('../../../../judge/judge.ts');
  const text = leaveOutBinary(material.evidence.join('\n'));
  const room = findEvidenceRoom(model, text) ?? Infinity;
  const left = Math.max(LEAST_CHARS, room - JSON.stringify(material.beside).length);
  // Quotation marks and line ends take two characters in the question.
  const written = JSON.stringify(material.evidence.map(leaveOutBinary)).length;
  return written <= left ? most : Math.min(most, Math.floor((text.length * left) / written));
}

/** Assembles evidence from sources. When it is too long, only the passages that matter for these sentences are shown first. */
export function assembleEvidence(
  given: readonly Source[],
  sentences: readonly string[],
  maxChars: number,
): Evidence {
  const whole = given
    .map((source) => ({ ...source, text: leaveOutBinary(source.text).trim() }))
    .filter(({ text }) => text !== '');
  const chars = whole.reduce((sum, { text }) => sum + text.length, 0);
  const passages =
    chars <= maxChars
      ? whole.map(({ source, text }) => ({ source, text }))
      : whole.flatMap(({ source, text }) => listPassages(source, text, maxChars));
  const chosen = chars <= maxChars ? passages.map(() => true) : choosePassages(passages, sentences, maxChars);
  const held = passages.filter((_passage, index) => chosen[index] !== true);
  const cut = new Set(held.map(({ source }) => source));
  return {
    sources: new Map(
      whole.map(({ source, kind, text }) => [
        source,
        { kind, text: quotable(text), isWhole: !cut.has(source) },
      ]),
    ),
    shown: passages.filter((_passage, index) => chosen[index]),
    held,
  };
}

/** Prepares whole sources for the search of quotes, by number. */
export function searchable(sources: readonly Source[]): ReadonlyMap<number, EvidenceSource> {
  return new Map(
    sources.map(({ source, kind, text }) => [source, { kind, text: quotable(text), isWhole: true }]),
  );
}

/** Words of the questions for the kinds of sources. */
const LABELS: Record<SourceKind, string> = {
  system: 'operator',
  user: 'user',
  turns: 'earlier turns',
  'tool-results': 'tools',
  documents: 'documents',
};

/** Writes passages for a question: by kind, each text under the number of its source. Texts that a caller gave are `context`. */
export function showEvidence(
  { sources }: Evidence,
  passages: readonly Passage[],
): Record<string, Record<string, string>> {
  const shown: Record<string, Record<string, string>> = {};
  for (const { source, text } of passages) {
    const kind = sources.get(source)?.kind;
    const group = (shown[kind === undefined ? 'context' : LABELS[kind]] ??= {});
    const before = group[source];
    group[source] = before === undefined ? text : `${before}\n…\n${text}`;
  }
  return shown;
}

/** Chooses the left out passages that matter for the open sentences, and says whether these are all of them. */
export function secondReading(
  { held }: Evidence,
  open: readonly string[],
  maxChars: number,
): { readonly shown: readonly Passage[]; readonly isAll: boolean } {
  const chosen = choosePassages(held, open, maxChars);
  const shown = held.filter((_passage, index) => chosen[index]);
  return { shown, isAll: shown.length === held.length };
}
