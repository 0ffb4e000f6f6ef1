import { NotFoundError } from '../../domain/errors.ts';
import { computeScoreId } from '../../domain/identity.ts';
import type { Score, Verdict } from '../../domain/score.ts';
import type { ListFilters, ListPage, ScoreOrder } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/store.ts';
import { type ReadScope, readSteps, readStoredTrace, type StepSpan } from './traces.ts';
import type { AgentRun, TraceReading } from '../../domain/trace/agent-run.ts';
import type { AgentMessage, MessagePart } from '../../domain/trace/messages.ts';

/** One score with its evidence: a place for each verdict, and the calls of its judge. */
export type ScoreView = Awaited<ReturnType<ReturnType<typeof createScoreReads>['read']>>;

/** Creates the reads of scores for one tenant, or for all. */
export function createScoreReads({ store, tenant, namedRows }: ReadScope) {
  const { judgeUse, lists, scores } = store;
  return {
    /** By the start of the run, or by the time of the scoring. */
    list: async (filters: ListFilters, page: ListPage & { readonly order: ScoreOrder }) =>
      lists.scores({ ...(await namedRows(filters)), tenant }, page),
    /** The worst first, in the direction of each scorer. */
    listWorst: async (filters: ListFilters, limit: number) =>
      lists.worstScores({ ...(await namedRows(filters)), tenant }, limit),
    /** Throws a `NotFoundError` for an id that the tenant does not have. */
    read: async (scoreId: string) => {
      const score = (await scores.byIds([scoreId])).get(scoreId);
      if (score === undefined || (tenant !== undefined && score.tenant !== tenant)) {
        throw new NotFoundError(`score ${scoreId} is not in the store; GET /api/v1/scores lists scores`);
      }
      const [judgeCalls, places] = await Promise.all([
        judgeUse.callsOf(score, listCallIds(score)),
        placeVerdicts(store, score),
      ]);
      return { score, places, judgeCalls };
    },
  };
}

/** Returns the ids under which the calls of a score are stored: its own, and those of a scorer that writes several rows. */
function listCallIds(score: Score): string[] {
  const cuts = [...score.scorer.matchAll(/[-/]/gu)].map(({ index }) => score.scorer.slice(0, index));
  return [score.scoreId, ...cuts.map((scorer) => computeScoreId({ ...score, scorer }))];
}

async function placeVerdicts({ spans }: Pick<Store, 'spans'>, score: Score) {
  if (score.verdicts.length === 0) {
    return [];
  }
  const [activity] = (await spans.findTrace(score.traceId)).filter((each) => each.tenant === score.tenant);
  const stored = activity && (await readStoredTrace(spans, activity));
  const read = stored && (await readSteps(stored.data));
  const run = read && findRun(read.reading, score);
  return score.verdicts.map((verdict) => placeQuote(verdict, run, read?.spans ?? []));
}

/** Finds the run of a reading that a score is about; undefined when the spans no longer have it. */
export function findRun({ runs, modelCalls = [] }: TraceReading, score: Score): AgentRun | undefined {
  const all = [...runs.flatMap(withSubRuns), ...modelCalls];
  return all.find(({ target }) => target.spanId === score.spanId) ?? runs[0];
}

function withSubRuns(run: AgentRun): AgentRun[] {
  return [run, ...run.subRuns.flatMap(withSubRuns)];
}

/** Finds the evidence of a verdict in the messages of a run and in the spans; null where the quote is not found. */
export function placeQuote(
  { quote = '', source, spanId }: Verdict,
  run: AgentRun | undefined,
  spans: readonly StepSpan[],
) {
  const wanted = quote.trim();
  const place = wanted === '' || run === undefined ? undefined : findInMessages(wanted, source, run);
  return {
    spanId: spanId ?? (wanted === '' ? null : findSpan(wanted, place?.toolCallId, spans)),
    messageIndex: place?.messageIndex ?? null,
    partIndex: place?.partIndex ?? null,
    start: place?.start ?? null,
    end: place?.end ?? null,
  };
}

interface MessagePlace {
  readonly messageIndex: number;
  readonly partIndex: number;
  readonly start: number;
  readonly end: number;
  readonly toolCallId: string | undefined;
}

/** Evidence is a tool result before it is another text, and the words of the agent itself come last. */
const RANKS = ['result', 'user', 'assistant'];

/** Texts of these messages that hold a kind of evidence; prompts of the operator and earlier turns are in none. */
const RANKS_OF: Readonly<Record<string, readonly string[]>> = {
  'tool-results': ['result'],
  documents: ['result'],
  user: ['user'],
  system: [],
  turns: [],
};

function findInMessages(
  quote: string,
  source: string | undefined,
  { input, output }: AgentRun,
): MessagePlace | undefined {
  const ranks = RANKS_OF[source ?? ''] ?? RANKS;
  const messages = [...input.inputMessages, ...output];
  const places = messages.flatMap((message, messageIndex) =>
    message.content.parts.flatMap((part, partIndex) => {
      const found = findText(quote, readPartText(part));
      return found === undefined
        ? []
        : [{ rank: rankOf(message, part), messageIndex, partIndex, toolCallId: callIdOf(part), ...found }];
    }),
  );
  return places
    .filter(({ rank }) => ranks.includes(RANKS[rank] ?? ''))
    .toSorted((a, b) => a.rank - b.rank)[0];
}

function rankOf({ role }: AgentMessage, part: MessagePart): number {
  return RANKS.indexOf(
    part.type === 'tool-invocation' ? 'result' : role === 'assistant' ? 'assistant' : 'user',
  );
}

function callIdOf(part: MessagePart): string | undefined {
  return isCall(part) ? part.toolInvocation.toolCallId : undefined;
}

function isCall(
  part: MessagePart,
): part is Extract<MessagePart, { toolInvocation: unknown; type: 'tool-invocation' }> {
  return part.type === 'tool-invocation' && 'toolInvocation' in part;
}

/** Returns the text of a part: of a tool call its result, strings as they are and other values as compact JSON. */
function readPartText(part: MessagePart): string {
  if (isCall(part)) {
    const { result, errorText } = part.toolInvocation;
    return typeof result === 'string'
      ? result
      : result === undefined
        ? (errorText ?? '')
        : JSON.stringify(result);
  }
  if (part.type === 'text' && 'text' in part) {
    return part.text;
  }
  return part.type === 'reasoning' && 'reasoning' in part ? part.reasoning : '';
}

/** Finds a quote letter by letter, else with other white space or case. */
function findText(quote: string, text: string): { start: number; end: number } | undefined {
  const start = text.indexOf(quote);
  if (start >= 0) {
    return { start, end: start + quote.length };
  }
  const words = quote.split(/\s+/u).map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`));
  const match = words.length > MAX_WORDS ? null : new RegExp(words.join(String.raw`\s+`), 'iu').exec(text);
  return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
}

/** Most words of a quote that is searched with other white space. */
const MAX_WORDS = 200;

/** Kinds of steps, the most probable evidence first. */
const EVIDENCE_KINDS = ['tool', 'retrieval', 'agent', 'other', 'model'] as const;

/** Finds the span of a tool call, else the first one that contains the quote as it is or in JSON. */
function findSpan(quote: string, toolCallId: string | undefined, spans: readonly StepSpan[]): string | null {
  const forms = [quote, JSON.stringify(quote).slice(1, -1)];
  const holds = ({ span }: StepSpan) =>
    [span.attributes, ...span.events.map(({ attributes }) => attributes)].some((attributes) =>
      [...attributes.values()].some((value) => forms.some((form) => value.includes(form))),
    );
  const isOfCall = ({ span, kind }: StepSpan) =>
    kind === 'tool' && toolCallId !== undefined && [...span.attributes.values()].includes(toolCallId);
  const inOrder = EVIDENCE_KINDS.flatMap((kind) => spans.filter((each) => each.kind === kind));
  const found = inOrder.find(isOfCall) ?? inOrder.find(holds);
  return found?.span.spanId ?? null;
}
