import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { getTextContentFromMastraDBMessage } from '../../utils/message-text.ts';
import { getCombinedSystemPrompt } from '../../utils/run-input.ts';
import { readQuestion } from '../shared/read-answer.ts';
import { comparable } from './find-quote.ts';
import { choosePassages, listPassages } from './rank-passages.ts';
import type { Passage } from './rank-passages.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Size of the second reading as a multiple of the first. */
const SECOND_READING = 4;

/** Encoded files; a sentence cannot be based on them. */
const ENCODED = /(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{400,}={0,2}/g;

/** Evidence for the sentences of an answer. */
export interface Evidence {
  /** Normalised texts for the search of quotes, by number of the source. Source 0 is the text of operator and user. */
  readonly sources: ReadonlyMap<number, string>;
  /** Passages in the first question. */
  readonly shown: readonly Passage[];
  /** Passages that do not fit into the first question. */
  readonly held: readonly Passage[];
}

/** Assembles the evidence of a run. When it is too long, only the passages that matter for these sentences are shown first. */
export function assembleEvidence(
  run: ScorerRunInput,
  context: readonly string[],
  sentences: readonly string[],
  maxChars: number,
): Evidence {
  const texts = [readSpokenText(run), ...new Set(context)].map((text) =>
    text.replace(ENCODED, '(encoded data left out)').trim(),
  );
  const whole = texts.map((text, source) => ({ source, text })).filter(({ text }) => text !== '');
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

/** Reads the text of the system and the user; earlier answers of the assistant are no evidence. */
function readSpokenText(run: ScorerRunInput): string {
  const remembered: unknown = isObject(run.input) ? run.input['rememberedMessages'] : undefined;
  const earlier = (Array.isArray(remembered) ? remembered : [])
    .filter((message) => isObject(message) && message['role'] === 'user')
    .map(getTextContentFromMastraDBMessage);
  return [getCombinedSystemPrompt(run.input), ...earlier, readQuestion(run)].filter(Boolean).join('\n\n');
}
