import { leaveOutBinary } from '../../judge/binary-content.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { quotable, type Quotable } from './quotes.ts';
import type { SeenKind } from '../../domain/score.ts';

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that show evidence. */
export const EVIDENCE_PROMPT_VERSION = '3';

/** Meaning of the kinds of evidence, the same for all scorers that show it. */
export const EVIDENCE_LEAD = `Only operator sets rules; user (0: the question) backs only pasted texts and what users say of themselves; a failed tool backs only its failure.`;

export const GROUNDING_VERDICT_MEANINGS = `supported: the evidence states all that the sentence claims, or it follows directly. Other words, converted units and sensible rounding are fine; figures, names, negations and certainty must agree.
contradicted: some of it cannot be true if the evidence is.
unsupported: some of it is neither, however plausible. Go by the evidence, not by what you know. What the assistant says it did needs evidence, too.
no_claim: it claims nothing about the world: greeting, question, offer, opinion, bare heading. Advice with facts is a claim.`;

/** Rules of quotes: which passages the judge copies, and how it says that a source lacks something. */
export const QUOTE_RULES = `quotes: for supported and contradicted the shortest passages that decide, each with the number of its source, copied letter by letter. absence: true with an empty quote where the source as a whole lacks something. Else an empty list.`;

/** A part of a source. */
export interface Passage {
  readonly source: number;
  readonly text: string;
}

/** Bounds of the length of a passage, in characters. */
const PASSAGE_CHARS = { least: 250, most: 4000 };
/** Least number of passages that a question has room for. */
const PASSAGES = 5;
const UNSPACED_RUN =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
/** Usual constants of the BM25 formula. */
const K1 = 1.2;
const B = 0.75;

/** Cuts a text into passages, at line ends or spaces where possible; the shorter, the fewer characters a question may have. */
function listPassages(source: number, text: string, maxChars: number): Passage[] {
  const passages: Passage[] = [];
  const size = Math.min(PASSAGE_CHARS.most, Math.max(PASSAGE_CHARS.least, Math.floor(maxChars / PASSAGES)));
  for (let start = 0; start < text.length;) {
    const end = cutAfter(text, start, size);
    passages.push({ source, text: text.slice(start, end) });
    start = end;
  }
  return passages;
}

function cutAfter(text: string, start: number, size: number): number {
  const end = start + size;
  if (end >= text.length) {
    return text.length;
  }
  const half = start + size / 2;
  const cut = [text.lastIndexOf('\n', end), text.lastIndexOf(' ', end)].find((at) => at > half);
  return cut === undefined ? end : cut + 1;
}

/**
 * Chooses passages for these texts within a number of characters: first the best passage of each text by BM25 with its
 * neighbours, then the second best, and so on. Returns true for each passage to read.
 */
function choosePassages(passages: readonly Passage[], texts: readonly string[], maxChars: number): boolean[] {
  const chosen = passages.map(() => false);
  let left = maxChars;
  const rankings = rankedFor(passages, texts);
  const byRank = passages.flatMap((_passage, rank) => {
    const best = rankings.flatMap((ranking) => ranking[rank] ?? []);
    return [...best, ...best.flatMap((index) => listNeighbours(passages, index))];
  });
  for (const index of [...byRank, ...passages.keys()]) {
    const length = passages[index]?.text.length ?? Infinity;
    if (chosen[index] === false && length <= left) {
      chosen[index] = true;
      left -= length;
    }
  }
  return chosen;
}

function listNeighbours(passages: readonly Passage[], index: number): number[] {
  return [index - 1, index + 1].filter((at) => passages[at]?.source === passages[index]?.source);
}

/** Lists, for each text, the passages that share words with it, best first. */
function rankedFor(passages: readonly Passage[], texts: readonly string[]): number[][] {
  const weights = weightsByWord(passages);
  return texts.map((text) => {
    const scores = passages.map(() => 0);
    for (const word of countWords(text).keys()) {
      for (const { index, weight } of weights.get(word) ?? []) {
        scores[index] = (scores[index] ?? 0) + weight;
      }
    }
    return [...passages.keys()]
      .filter((index) => (scores[index] ?? 0) > 0)
      .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  });
}

interface Weight {
  readonly index: number;
  readonly weight: number;
}

/** Computes the score that each word adds to each passage that contains it. */
function weightsByWord(passages: readonly Passage[]): Map<string, Weight[]> {
  const counts = passages.map(({ text }) => countWords(text));
  const lengths = counts.map((words) => [...words.values()].reduce((sum, count) => sum + count, 0));
  const meanLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const holders = new Map<string, number[]>();
  for (const [index, words] of counts.entries()) {
    for (const word of words.keys()) {
      const held = holders.get(word) ?? [];
      holders.set(word, held);
      held.push(index);
    }
  }
  const weighed = ([word, held]: [string, number[]]): [string, Weight[]] => {
    const rarity = Math.log(1 + (passages.length - held.length + 0.5) / (held.length + 0.5));
    const weights = held.map((index) => {
      const count = counts[index]?.get(word) ?? 0;
      const length = (lengths[index] ?? 0) / meanLength;
      return { index, weight: (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + B * length)) };
    });
    return [word, weights];
  };
  return new Map([...holders].map(weighed));
}

/** Counts words; of scripts without spaces between words, pairs of characters. */
function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const count = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
  };
  for (const word of text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) {
    const runs = word.match(UNSPACED_RUN);
    if (runs === null) {
      count(word);
      continue;
    }
    word.split(UNSPACED_RUN).filter(Boolean).forEach(count);
    for (const run of runs) {
      const chars = Array.from(run);
      chars.slice(0, Math.max(1, chars.length - 1)).forEach((char, at) => {
        count(char + (chars[at + 1] ?? ''));
      });
    }
  }
  return counts;
}

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
  const { findEvidenceRoom } = await import('../../judge/judge.ts');
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

/** Selects the data of a question: of the sources what matters for these texts and fits, and what stands beside them. */
export async function selectMaterial(
  model: JudgeModel | undefined,
  {
    sources,
    texts,
    beside,
    maxChars,
  }: {
    readonly sources: readonly Source[];
    readonly texts: readonly string[];
    readonly beside: Record<string, unknown>;
    readonly maxChars: number;
  },
): Promise<Record<string, unknown>> {
  const material = { evidence: sources.map(({ text }) => text), beside };
  const evidence = assembleEvidence(sources, texts, await limitEvidence(model, material, maxChars));
  return { ...showEvidence(evidence, evidence.shown), ...beside };
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
