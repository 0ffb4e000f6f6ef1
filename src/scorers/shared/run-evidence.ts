import { type LooseInvocation, mergeToolInvocations } from '../evals/trajectory.ts';
import { isObject, textOrJson } from '../../domain/unknown-values.ts';
import { SEEN_KINDS, type SeenKind } from '../../domain/score.ts';
import { ANSWER_TOOLS } from '../../domain/trace/answer-tools.ts';
import { type ScorerRunInput, isNotScorable, notScorable, type NotScorable } from '../evals/scorer.ts';
import {
  getTextContentFromMastraDBMessage,
  getCombinedSystemPrompt,
  readQuestion,
  isScorerRunInputForAgent,
  isScorerRunOutputForAgent,
  type AgentRunInput,
} from './messages.ts';
import type { Source } from './evidence.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import { ScorerError } from '../evals/scorer-error.ts';
import { findEmptyContext } from './options.ts';
import { cutText } from '../../domain/cut-text.ts';

/** Reason why a run without evidence has no score. */
export const NO_CONTEXT =
  'there is no context to check the answer against: the run holds no tool results or documents, and none was given';

/** Lists the ids of transfers to another agent. */
function listHandoffIds(message: unknown): unknown[] {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) && Array.isArray(content['parts']) ? content['parts'] : [];
  return parts
    .filter((part) => isObject(part) && part['handoff'] === true && isObject(part['toolInvocation']))
    .map((part) => (part as { toolInvocation: LooseInvocation }).toolInvocation.toolCallId);
}

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
  /** Kinds of the run's own evidence that the judge sees. Default: all. */
  readonly sees?: readonly SeenKind[] | undefined;
  /** Most characters of earlier turns in the question. Default 8,000, about 2,000 tokens. */
  readonly earlierChars?: number | undefined;
}

/** Options of scorers that show the evidence in one question. */
export interface EvidenceOptions extends Sight {
  /** Evidence, the same for every run. Default: `run.context`, else all that the agent could know. */
  readonly context?: readonly string[];
  /** Returns the evidence of one run; replaces `context`. */
  readonly getContext?: (args: {
    readonly run: AgentRunInput;
  }) => readonly string[] | Promise<readonly string[]>;
  /** Most characters of evidence in the first question. Default 48,000. */
  readonly maxEvidenceChars?: number;
  /** `template` builds the explanation from the verdicts, without a question. Default `template`. */
  readonly reason?: 'template' | false;
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
type Piece = Omit<Source, 'source'>;

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

/** Reads the context from a run; synchronous, it must not return a promise. */
export type ContextExtractor = (
  input: AgentInput,
  output: AgentOutput,
  run: ScorerRunInput,
) => readonly string[] | NotScorable;

interface ContextOptions {
  readonly context?: readonly string[];
  readonly contextExtractor?: ContextExtractor;
}

/** A `contextExtractor` that returns the run's own context: results of tools, each with its call, and documents. */
export const contextFromRun: ContextExtractor = (_input, _output, run) => readPieces(run, {});

/** Creates the `contextExtractor` of rules: `contextFromRun`, bounded to the kinds that the judge sees. */
export function contextOfKinds(sees: Sight['sees']): ContextExtractor {
  return (_input, _output, run) => readPieces(run, { sees });
}

function readPieces(run: ScorerRunInput, sight: Sight): readonly string[] | NotScorable {
  const pieces = listPieces(run, sight).map(({ text }) => text);
  return pieces.length === 0 ? notScorable(NO_CONTEXT) : pieces;
}

/** Longest text of a piece in a finding, in characters. */
const NAMED_CHARS = 200;

/** Refuses, when a scorer is created, that it has no context. */
export function checkContextGiven(scorerId: string, { context, contextExtractor }: ContextOptions): void {
  const fault =
    context === undefined && contextExtractor === undefined
      ? 'needs options.context or options.contextExtractor'
      : findEmptyContext({ context });
  if (fault !== undefined) {
    throw new ScorerError(`Scorer "${scorerId}" ${fault}`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
      details: { scorerId, option: 'context' },
    });
  }
}

/** Reads the context of the options: the extractor's for runs of agents, else the fixed context; undefined without either. */
export function givenContext(
  scorerId: string,
  run: ScorerRunInput,
  { context, contextExtractor }: ContextOptions,
): readonly string[] | NotScorable | undefined {
  const { input, output } = run;
  if (
    contextExtractor === undefined ||
    !isScorerRunInputForAgent(input) ||
    !isScorerRunOutputForAgent(output)
  ) {
    return context;
  }
  const extracted: unknown = contextExtractor(input, output, run);
  if (isNotScorable(extracted)) {
    return extracted;
  }
  if (!Array.isArray(extracted) || !extracted.every((text) => typeof text === 'string')) {
    throw new InvalidInputError(
      `options.contextExtractor of scorer "${scorerId}" must return a list of texts, and at once`,
    );
  }
  return extracted;
}

/** Creates the names of a run's pieces in findings: number and words of a piece, and its kind where it is the run's own. */
export function pieceNamer(
  scorerId: string,
  run: ScorerRunInput,
  options: ContextOptions & Sight,
): (index: number) => { readonly statement: string; readonly source?: NonNullable<Piece['kind']> } {
  const given = givenContext(scorerId, run, options);
  const pieces = given === undefined || isNotScorable(given) ? [] : given;
  const own = listPieces(run, options);
  return (index) => {
    const text = pieces[index] ?? '';
    const kind = own.find((piece) => piece.text === text)?.kind;
    return {
      statement: `context ${index}: ${cutText(text, NAMED_CHARS)}`,
      ...(kind === undefined ? {} : { source: kind }),
    };
  };
}
