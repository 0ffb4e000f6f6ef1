import { SEEN_KINDS } from '../../../../domain/score.ts';
import type { SeenKind } from '../../../../domain/score.ts';
import { ANSWER_TOOLS } from '../../../../domain/trace/messages.ts';
import { isObject, textOrJson } from '../../../../domain/unknown-values.ts';
import type { ScorerRunInput } from '../../../../evals/scorer.ts';
import { mergeToolInvocations } from '../../../../evals/trajectory/tool-invocations.ts';
import type { LooseInvocation } from '../../../../evals/trajectory/tool-invocations.ts';
import { getTextContentFromMastraDBMessage } from '../../../utils/message-text.ts';
import { getCombinedSystemPrompt } from '../../../utils/run-input.ts';
import { readQuestion } from '../read-answer.ts';
import { listHandoffIds, NO_CONTEXT } from '../run-context.ts';
import type { Source } from './evidence.ts';

/** Number of the source that holds the question. */
export const QUESTION_SOURCE = 0;

/** Default length of all earlier turns in a question, in characters: about 2,000 tokens. */
const EARLIER_CHARS = 8_000;

/** Least characters of a text of the user, or of a marked block, that counts as a document of its own. */
const PASTED_CHARS = { text: 600, block: 120 };
/** Blocks that people mark when they paste a document into a prompt: tags, fences, quotes. */
const MARKED_BLOCK =
  /<(document|documents|context|source|sources|passage|article|text|data|file|excerpt|knowledge|search_results)\b[^>]*>([\s\S]*?)<\/\1>|```([\s\S]*?)```|"""([\s\S]*?)"""/gi;

/** Choice of evidence. */
export interface Sight {
  /** Kinds that are shown. Default: all. */
  readonly sees?: readonly SeenKind[] | undefined;
  /** Most characters of earlier turns. */
  readonly earlierChars?: number | undefined;
}

/**
 * Lists what the agent could know, each as a source of its own: the operator's prompt, earlier turns, calls of tools with their
 * results, documents, and the question. Where the caller gave `run.context` without a run's documents, its texts alone.
 */
export function listRunEvidence(
  run: ScorerRunInput,
  { sees = SEEN_KINDS, earlierChars }: Sight = {},
): Source[] {
  const given = listGiven(run);
  if (given !== undefined) {
    return numbered(given);
  }
  const operator: Piece = { kind: 'system', text: getCombinedSystemPrompt(run.input), isSpoken: true };
  const sources = numbered([
    ...(sees.includes('system') ? [operator] : []),
    ...listEarlierTurns(run, sees, earlierChars),
    ...listMessageTools(run.output, sees, 'tool-results'),
    ...listDocuments(run, sees),
  ]);
  const question: Source = {
    source: QUESTION_SOURCE,
    kind: 'user',
    text: readQuestion(run),
    isSpoken: true,
  };
  return question.text.trim() === '' ? sources : [...sources, question];
}

/** Lists what a search or a tool brought for the answer, in order: results with their calls, and documents. Equal texts once. */
export function listPieces(run: ScorerRunInput, { sees = SEEN_KINDS }: Sight = {}): Piece[] {
  const pieces = listGiven(run) ?? [
    ...listMessageTools(run.output, sees, 'tool-results', hasOutcome),
    ...listDocuments(run, sees),
  ];
  const byText = new Map(pieces.toReversed().map((piece) => [piece.text, piece]));
  return pieces.filter((piece) => piece.text !== '' && byText.get(piece.text) === piece);
}

/** Lists the texts that the caller gave as `run.context`; undefined where a run's own documents show that nobody gave them. */
function listGiven(run: ScorerRunInput): Piece[] | undefined {
  const given = Array.isArray(run.context) ? run.context.map(textOrJson) : [];
  return given.length > 0 && run['documents'] === undefined
    ? [...new Set(given)].map((text) => ({ text }))
    : undefined;
}

function listDocuments(run: ScorerRunInput, sees: readonly SeenKind[]): Piece[] {
  const documents: readonly unknown[] =
    sees.includes('documents') && Array.isArray(run['documents']) ? run['documents'] : [];
  const texts = documents
    .map((document) => (isObject(document) ? document['content'] : document))
    .filter((text) => typeof text === 'string');
  return [...new Set(texts)].map((text) => ({ kind: 'documents', text }));
}

/**
 * Returns the reason why a run has nothing that an answer could be checked against: no tool, no document, no earlier turn, and no
 * prompt into which a document was pasted.
 */
export function lackOfEvidence(sources: readonly Source[]): string | undefined {
  return sources.some(isMaterial) ? undefined : NO_CONTEXT;
}

function isMaterial({ kind, text, isSpoken }: Source): boolean {
  return isSpoken !== true || hasPastedDocument(text, kind);
}

function hasPastedDocument(text: string, kind: Source['kind']): boolean {
  if (kind === 'user' && text.length >= PASTED_CHARS.text) {
    return true;
  }
  const blocks = [...text.matchAll(MARKED_BLOCK)].map(
    ([, , tag, fence, quotes]) => tag ?? fence ?? quotes ?? '',
  );
  return blocks.some((block) => block.trim().length >= PASTED_CHARS.block);
}

/** A source without its number. */
export type Piece = Omit<Source, 'source'>;

function numbered(pieces: readonly Piece[]): Source[] {
  return pieces
    .filter(({ text }) => text.trim() !== '')
    .map((piece, index) => ({ source: index + 1, ...piece }));
}

/** Shows the question and the turns before it, where a judge needs them to read the answer. */
export function showConversation(
  run: ScorerRunInput,
  { sees = SEEN_KINDS, earlierChars }: Sight = {},
): Record<string, unknown> {
  const earlier = listEarlierTurns(run, sees, earlierChars).map(({ kind, text }) =>
    kind === 'user' ? `user: ${text}` : text,
  );
  const question = readQuestion(run);
  return {
    ...(earlier.length === 0 ? {} : { earlier }),
    ...(question === '' ? {} : { question }),
  };
}

/** Lists the earlier turns, oldest first. When they are too long, the newest that fit, at least one. */
function listEarlierTurns(
  { input, output }: ScorerRunInput,
  sees: readonly SeenKind[],
  maxChars = EARLIER_CHARS,
): Piece[] {
  // The output of a session holds the messages of its earlier turns, too: their calls are shown once.
  const shown = new Set(Array.isArray(output) ? output.flatMap(mergeToolInvocations).map(keyOf) : []);
  const isNew = (invocation: LooseInvocation) => !shown.has(keyOf(invocation));
  const remembered: unknown = isObject(input) ? input['rememberedMessages'] : undefined;
  const pieces = (Array.isArray(remembered) ? remembered : []).flatMap((message): Piece[] => {
    const role = isObject(message) ? message['role'] : undefined;
    if (role === 'user') {
      return sees.includes('user')
        ? [{ kind: 'user', text: getTextContentFromMastraDBMessage(message), isSpoken: true }]
        : [];
    }
    return role === 'assistant' && sees.includes('turns')
      ? [
          ...listMessageTools([message], [...sees, 'tool-results'], 'turns', isNew),
          { kind: 'turns', text: getTextContentFromMastraDBMessage(message), isSpoken: true },
        ]
      : [];
  });
  const kept: Piece[] = [];
  let left = maxChars;
  for (const piece of pieces.filter(({ text }) => text.trim() !== '').toReversed()) {
    left -= piece.text.length;
    if (left < 0 && kept.length > 0) {
      break;
    }
    kept.unshift(piece);
  }
  return kept;
}

/**
 * Lists calls of tools with their results, each call once. A transfer to another agent and a tool that takes the answer are no
 * evidence.
 */
function listMessageTools(
  messages: unknown,
  sees: readonly SeenKind[],
  kind: 'tool-results' | 'turns',
  isListed: (invocation: LooseInvocation) => boolean = () => true,
): Piece[] {
  const listed: readonly unknown[] = Array.isArray(messages) ? messages : [];
  const handoffs = new Set(listed.flatMap(listHandoffIds));
  return listed
    .flatMap(mergeToolInvocations)
    .filter(({ toolCallId, toolName = '' }) => !handoffs.has(toolCallId) && !ANSWER_TOOLS.has(toolName))
    .filter(isListed)
    .map((invocation) => ({ kind, text: writeInvocation(invocation, sees) }));
}

/** Returns a text that is equal for the same call: ids of messages and calls alone may repeat in runs that a program made. */
function keyOf({ toolCallId, toolName, args, result }: LooseInvocation): string {
  return JSON.stringify([toolCallId, toolName, args, result]);
}

function hasOutcome({ state, result }: LooseInvocation): boolean {
  return state === 'output-error' || (state === 'result' && result !== undefined);
}

/** Returns the part of a quote that stands in the trace: the question shows a call and its result as one text. */
export function quotedPart(quote: string): string {
  const part = quote.split(/ → | failed: /).at(-1) ?? '';
  return part.trim() === '' ? quote : part;
}

/** Writes a call as `name arguments → result`, or the part of it that is seen. */
function writeInvocation(invocation: LooseInvocation, sees: readonly SeenKind[]): string {
  const { toolName = 'tool', args } = invocation;
  const isEmpty = args === undefined || args === null || (isObject(args) && Object.keys(args).length === 0);
  const call = isEmpty ? toolName : `${toolName} ${textOrJson(args)}`;
  if (!sees.includes('tool-results')) {
    return sees.includes('calls') ? call : '';
  }
  const shown = sees.includes('calls') ? call : toolName;
  const { state, result, errorText, isError } = invocation;
  if (state === 'output-error') {
    return `${shown} failed: ${errorText ?? 'no reason given'}`;
  }
  if (state !== 'result' || result === undefined) {
    return sees.includes('calls') ? `${call} → no result` : '';
  }
  return isError === true ? `${shown} failed: ${textOrJson(result)}` : `${shown} → ${textOrJson(result)}`;
}
