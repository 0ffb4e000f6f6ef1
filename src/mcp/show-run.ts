import type { z } from 'zod';
import { MAX_TEXTS } from '../api/json/reading.ts';
import type { TraceDetail } from '../api/resources/traces.ts';
import type { AgentRun } from '../domain/trace/agent-run.ts';
import type { AgentMessage, ToolInvocation } from '../domain/trace/messages.ts';
import { ToolFault } from './ask.ts';
import { buildResult, type ToolResult } from './result.ts';

type Trace = z.output<typeof TraceDetail>;

/** Longest text in one piece of a run, characters. */
const PIECE_CHARS = 1_000;

/** Pieces of a text; a character with two code units stays whole. */
const PIECES = new RegExp(`[^]{1,${PIECE_CHARS}}`, 'gu');

/** Texts of a run that may be long. */
const CALL_FIELDS = ['arguments', 'result', 'error'] as const;

interface TextPiece {
  readonly text: string;
  /** True when the text goes on in another piece. */
  readonly goesOn: boolean;
}

/** Part of a run that fits into a page: of a text of the run, of one of its calls or of one of its scores. */
type Piece = TextPiece &
  (
    | { readonly kind: 'question' | 'answer' }
    | { readonly kind: 'call'; readonly index: number; readonly field: (typeof CALL_FIELDS)[number] }
    | { readonly kind: 'score'; readonly index: number; readonly field: 'reason' }
  );

/** Reads the question of a run: its first text of a user. */
export function readQuestion(run: AgentRun | undefined): string {
  const asked = run?.input.inputMessages.find(({ role }) => role === 'user');
  return asked === undefined ? '' : readText(asked);
}

/** Reads the answer of a run: its last text of the assistant. */
export function readAnswer(run: AgentRun | undefined): string {
  const texts = (run?.output ?? []).filter(({ role }) => role === 'assistant').map(readText);
  return texts.findLast((text) => text !== '') ?? '';
}

function readText({ content }: AgentMessage): string {
  const parts = content.parts.flatMap((part) => (part.type === 'text' && 'text' in part ? [part.text] : []));
  return content.content ?? parts.join('\n');
}

function listCalls(run: AgentRun | undefined): ToolInvocation[] {
  const messages = [...(run?.input.inputMessages ?? []), ...(run?.output ?? [])];
  const calls = messages.flatMap(({ content }) =>
    content.parts.flatMap((part) =>
      part.type === 'tool-invocation' && 'toolInvocation' in part ? [part.toolInvocation] : [],
    ),
  );
  return [...calls, ...(run?.subRuns ?? []).flatMap(listCalls)];
}

/** Builds the page of a run that a cursor names: as many pieces as fit. */
export function buildRunPage(trace: Trace, cursor: string | undefined): ToolResult {
  const run = trace.reading?.runs[0];
  const calls = listCalls(run);
  const { scores } = trace;
  const pieces = listPieces(trace, run, calls);
  const isCut = trace.reading?.truncated ?? false;
  const from = readCursor(cursor, pieces.length);
  const facts = describeRun(trace.traceId, run);
  let page = buildPage(facts, [], { calls, scores, isCut, next: null });
  for (let to = from + 1; to <= pieces.length; to += 1) {
    const next = to === pieces.length ? null : String(to);
    const longer = buildPage(facts, pieces.slice(from, to), { calls, scores, isCut, next });
    if (longer === undefined) {
      break;
    }
    page = longer;
  }
  if (page === undefined) {
    throw new ToolFault(`the names of trace ${trace.traceId} are too long to be shown`);
  }
  return page;
}

function describeRun(traceId: string, run: AgentRun | undefined) {
  const { agent = null, sessionId = null, userId = null, status = null } = run ?? {};
  const version = run?.agentVersion ?? run?.serviceVersion ?? null;
  return { traceId, agent, version, sessionId, userId, status };
}

function readCursor(cursor: string | undefined, count: number): number {
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(from) || from < 0 || (from > 0 && from >= count)) {
    throw new ToolFault('cursor: must be `next` of a previous result of this run');
  }
  return from;
}

/** Lists the pieces of a run: what a reader needs first, then the rests of long texts. */
function listPieces(trace: Trace, run: AgentRun | undefined, calls: readonly ToolInvocation[]): Piece[] {
  const [question = [], answer = []] = (
    [
      ['question', readQuestion(run)],
      ['answer', readAnswer(run)],
    ] as const
  ).map(([kind, text]) => splitText(text).map((part): Piece => ({ kind, ...part })));
  const reasons = trace.scores.map(({ reason }, index) =>
    splitText(reason, true).map((part): Piece => ({ kind: 'score', index, field: 'reason', ...part })),
  );
  const ofCalls = calls.map((call, index) => {
    const texts = readCallTexts(call);
    const parts = CALL_FIELDS.flatMap((field) =>
      splitText(texts[field]).map((part): Piece => ({ kind: 'call', index, field, ...part })),
    );
    const empty = { kind: 'call', index, field: 'arguments', text: '', goesOn: false } as const;
    return parts.length > 0 ? parts : [empty];
  });
  return [
    ...question.slice(0, 1),
    ...answer.slice(0, 1),
    ...reasons.flatMap(([first]) => first ?? []),
    ...ofCalls.flat(),
    ...question.slice(1),
    ...answer.slice(1),
    ...reasons.flatMap(([, ...rest]) => rest),
  ];
}

function readCallTexts({ args, state, result, errorText, isError }: ToolInvocation) {
  const hasFailed = state === 'output-error' || isError === true;
  const outcome = toText(result);
  return {
    arguments: toText(args),
    result: hasFailed ? '' : outcome,
    error: hasFailed ? (errorText ?? outcome) : '',
  };
}

function toText(value: unknown): string {
  return value === undefined || value === null
    ? ''
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
}

/** Splits a text. `hasEmpty`: an empty text is a piece, too. */
function splitText(text: string, hasEmpty = false): TextPiece[] {
  const parts = text.match(PIECES) ?? (hasEmpty ? [''] : []);
  return parts.map((part, index) => ({ text: part, goesOn: index < parts.length - 1 }));
}

interface PageTerms {
  readonly calls: readonly ToolInvocation[];
  readonly scores: Trace['scores'];
  /** True when the API has cut texts. */
  readonly isCut: boolean;
  readonly next: string | null;
}

/** Builds a page of some pieces. A text that goes on in another page ends with `…`. */
function buildPage(
  facts: Readonly<Record<string, unknown>>,
  pieces: readonly Piece[],
  { calls, scores, isCut, next }: PageTerms,
): ToolResult | undefined {
  const joined = new Map<string, TextPiece>();
  for (const piece of pieces) {
    const place = 'field' in piece ? `${piece.kind} ${piece.index} ${piece.field}` : piece.kind;
    joined.set(place, { ...piece, text: `${joined.get(place)?.text ?? ''}${piece.text}` });
  }
  const read = (place: string): string | null => {
    const found = joined.get(place);
    return found === undefined || found.text === '' ? null : `${found.text}${found.goesOn ? '…' : ''}`;
  };
  const listShown = (kind: 'call' | 'score') => [
    ...new Set(pieces.flatMap((piece) => ('field' in piece && piece.kind === kind ? [piece.index] : []))),
  ];
  const page = {
    ...facts,
    question: read('question'),
    answer: read('answer'),
    toolCalls: listShown('call').map((call) => ({
      name: calls[call]?.toolName ?? '',
      ...Object.fromEntries(CALL_FIELDS.map((field) => [field, read(`call ${call} ${field}`)])),
    })),
    scores: listShown('score').map((at) => {
      const { scorer, score, label, source } = scores[at] ?? {};
      return { scorer, score, label, reason: read(`score ${at} reason`) ?? '', source };
    }),
    next,
  };
  const notes = [
    ...(next === null ? [] : ['The run goes on: ask again with `next` as the cursor.']),
    ...(isCut ? [`The texts of the run have more than ${MAX_TEXTS} characters: the last ones are cut.`] : []),
  ];
  const note = notes.length === 0 ? undefined : notes.join(' ');
  return buildResult(page, { note }, 'none');
}
