import type { IssueReads } from './issues.ts';
import type { ComputedDecision } from '../json/rows.ts';
import { NotFoundError, SeveralTenantsError } from '../../domain/errors.ts';
import type {
  ListedTrace,
  ListFilters,
  ListPage,
  TraceFacets,
  TraceListFilter,
} from '../../store/contracts/lists.ts';
import {
  joinTraceKey,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../../store/contracts/stores.ts';
import { compareValues } from '../../domain/compare-values.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../../configuration.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import { setImmediate as pause } from 'node:timers/promises';
import type { TraceReading, StepKind } from '../../domain/trace/agent-run.ts';
import type { Span, TraceData } from '../../domain/trace/span.ts';
import { PieceCache, findJoinedRuns } from '../../scoring/read/sibling-traces.ts';
import { readSlices } from '../../scoring/read/read-slices.ts';
import { isPassing, PASS_AT } from '../../domain/agreement/directed-score.ts';
import type { createPassLines } from '../../scoring/setup/scorer-names.ts';

/** Finds the reasons why rules have no decision on a trace. */
export type ExplainTrace = (key: TraceKey) => Promise<readonly ComputedDecision[]>;

/** Parts that all reads of one caller share. */
export interface ReadScope {
  readonly config: Config;
  readonly store: Store;
  /** The only tenant that they see; undefined: all. */
  readonly tenant: string | undefined;
  /** Rules with their scorers; undefined in a process that scores nothing. */
  readonly runRules: readonly PreparedRule[] | undefined;
  /** Replaces names of scorers by the names of their rows. */
  readonly namedRows: (filters: ListFilters) => Promise<ListFilters>;
  /** Finds the directed score from which the scores of a row pass. */
  readonly findPass: ReturnType<typeof createPassLines>;
}

/**
 * Leaves out of reasons what the conditions of a rule want, for a caller of one tenant: they may name customers of others. What was seen
 * in the caller's own trace stays.
 */
export function hideConditions<T extends { readonly reason: string }>(
  rows: readonly T[],
  tenant: string | undefined,
): readonly T[] {
  return tenant === undefined
    ? rows
    : rows.map((row) => ({ ...row, reason: row.reason.replace(UNMET, '$1') }));
}

/** Trace of a list as the API has it. */
export type CompleteTrace = Awaited<ReturnType<typeof completeTraces>>[number];

/** Hides the conditions in the reasons of listed traces (`hideConditions`), and says of each score whether it passes. */
async function completeTraces<T extends ListedTrace>(
  traces: readonly T[],
  { tenant, findPass }: Pick<ReadScope, 'tenant' | 'findPass'>,
) {
  const names = new Set(traces.flatMap(({ scores }) => scores.map(({ scorer }) => scorer)));
  const lines = new Map(
    await Promise.all([...names].map(async (name) => [name, (await findPass(name)).line] as const)),
  );
  return traces.map((trace) => ({
    ...trace,
    notScored: hideConditions(trace.notScored, tenant),
    scores: trace.scores.map(({ directed, ...brief }) => ({
      ...brief,
      passes: directed === null ? null : isPassing(directed, lines.get(brief.scorer) ?? PASS_AT),
    })),
  }));
}

/** Reason of a condition that is not met (`findUnmetCondition`). */
const UNMET = /^(where: .*?), the rule (?:wants|leaves out) .*$/s;

/**
 * Returns the tenant of a request: the tenant that it names, else the tenant of its caller; undefined means all. Throws a `NotFoundError` for a
 * tenant that the caller may not see.
 */
export function narrowTenant(own: string | undefined, asked: string | undefined): string | undefined {
  if (own !== undefined && asked !== undefined && asked !== own) {
    throw new NotFoundError(`nothing of the tenant ${asked} is stored`);
  }
  return asked ?? own;
}

/** Trace that a request names; tenant undefined: the only one that has it. */
export interface NamedTrace {
  readonly traceId: string;
  readonly tenant?: string | undefined;
}

export type TraceView = Awaited<ReturnType<ReturnType<typeof createTraceReads>['read']>>;

/** Creates the reads of traces for one tenant, or for all. */
export function createTraceReads(
  { store, tenant, namedRows, findPass }: ReadScope,
  explain: ExplainTrace,
  ofIssues: IssueReads['ofTrace'],
) {
  const complete = <T extends ListedTrace>(traces: readonly T[]) =>
    completeTraces(traces, { tenant, findPass });
  const { decisions, lists, scores, spans } = store;
  return {
    /** Newest first, by the start of the run. */
    list: async (filters: ListFilters, page: ListPage) => {
      const found = await lists.traces({ ...(await namedRows(filters)), tenant }, page);
      return { ...found, items: await complete(found.items) };
    },
    /** The worst scores first. */
    listWorst: async (filters: ListFilters, limit: number) =>
      complete(await lists.worstTraces({ ...(await namedRows(filters)), tenant }, limit)),
    facets: async (filters: ListFilters, of: readonly (keyof TraceFacets)[]) =>
      lists.traceFacets({ ...(await namedRows(filters)), tenant }, of),
    /** The last arrived at the front, also traces without an agent. */
    listArrived: async (filter: Pick<TraceListFilter, 'sinceMs' | 'service'>, limit: number) =>
      complete(await store.listTraces({ ...filter, tenant, limit })),
    /** Throws a `NotFoundError` for a trace that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
    read: async (asked: NamedTrace) => {
      const { key, activity } = await findTrace(store, asked.traceId, narrowTenant(tenant, asked.tenant));
      const [stored, ofTrace, decided, computed, nowMs, issues] = await Promise.all([
        activity === undefined ? undefined : readStoredTrace(spans, activity),
        scores.ofTraces([key]),
        decisions.ofTraces([key]),
        explain(key),
        spans.nowMs(),
        ofIssues(key),
      ]);
      const name = joinTraceKey(key);
      const read = stored?.data.spans.length ? await readSteps(stored.data) : undefined;
      return {
        key,
        /** Null when no span is stored any more. */
        reading: read?.reading ?? null,
        spans: read?.spans ?? [],
        scores: ofTrace.get(name) ?? [],
        decisions: hideConditions(decided.get(name) ?? [], tenant),
        computed: hideConditions(computed, tenant),
        joinedWith: stored?.joinedWith ?? [],
        issues,
        nowMs,
      };
    },
    /** Throws as `read`, and a `NotFoundError` for a span that the trace does not have. */
    readSpan: async ({ traceId, spanId, tenant: asked }: NamedTrace & { readonly spanId: string }) => {
      const { activity } = await findTrace(store, traceId, narrowTenant(tenant, asked));
      const stored = activity && (await readStoredTrace(spans, activity));
      const span = stored?.data.spans.find((each) => each.spanId === spanId);
      if (stored === undefined || span === undefined) {
        throw new NotFoundError(
          `trace ${traceId} has no span ${spanId} in the store; GET /api/v1/traces/${traceId} lists its spans`,
        );
      }
      const { spans: steps } = await readSteps({ ...stored.data, spans: [span] });
      return steps[0] ?? ({ span, kind: 'other' } as const);
    },
  };
}

/**
 * Finds a trace by its spans, its runs or its scores, except those that were posted. Throws a `NotFoundError` when the tenant has none
 * of them, and a `SeveralTenantsError` when several tenants have some. Without a span that is still stored, it has no activity.
 */
async function findTrace(
  { spans, lists }: Pick<Store, 'spans' | 'lists'>,
  traceId: string,
  tenant: string | undefined,
) {
  const [activities, owners] = await Promise.all([spans.findTrace(traceId), lists.tenantsOf(traceId)]);
  const all = new Set([...activities.map((each) => each.tenant), ...owners]);
  const found = [...all].filter((each) => tenant === undefined || each === tenant).toSorted(compareValues);
  const [only] = found;
  if (only === undefined) {
    throw new NotFoundError(
      `trace ${traceId} is not in the store; GET /api/v1/traces lists traces, and GET /api/v1/scores?traceId=${traceId} scores that were posted before it came`,
    );
  }
  if (found.length > 1) {
    throw new SeveralTenantsError(`trace ${traceId}`, found);
  }
  return {
    key: { tenant: only, traceId },
    activity: activities.find((each) => each.tenant === only),
  };
}

/** Most turns of a session that are read. */
const MAX_TURNS = 500;

/** One session with its newest turns, the oldest of them first. */
export type SessionView = Awaited<ReturnType<ReturnType<typeof createSessionReads>['read']>>;

/** Creates the reads of sessions for one tenant, or for all. */
export function createSessionReads({ store, tenant, findPass, namedRows }: ReadScope) {
  const { lists, sessions, spans } = store;
  return {
    /** Newest first, by the start of the first turn. */
    list: async (filters: ListFilters, page: ListPage) =>
      lists.sessions({ ...(await namedRows(filters)), tenant }, page),
    /** Throws a `NotFoundError` for a session that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
    read: async ({
      sessionId,
      tenant: asked,
    }: {
      readonly sessionId: string;
      readonly tenant?: string | undefined;
    }) => {
      const found = await lists.sessionsOf(sessionId, narrowTenant(tenant, asked));
      if (found.length > 1) {
        throw new SeveralTenantsError(
          `session ${sessionId}`,
          found.map((each) => each.tenant),
        );
      }
      const [session] = found;
      if (session === undefined) {
        throw new NotFoundError(
          'no turn of this session is in the store; a turn is stored when its trace is decided. GET /api/v1/sessions lists sessions',
        );
      }
      const [{ turns, count }, decisions, nowMs] = await Promise.all([
        sessions.turns(session, MAX_TURNS),
        sessions.decisions(session.tenant, [buildSessionTargetId(sessionId)]),
        spans.nowMs(),
      ]);
      const traces = await completeTraces(await lists.tracesOf(turns), { tenant, findPass });
      const inOrder = traces.toSorted(
        (a, b) => a.startedAtMs - b.startedAtMs || (a.traceId < b.traceId ? -1 : 1),
      );
      return {
        session,
        turns: inOrder,
        omittedTurns: count - turns.length,
        decisions: hideConditions(decisions, tenant),
        nowMs,
      };
    },
  };
}

export interface StepSpan {
  readonly span: Span;
  readonly kind: StepKind;
}

/** Stored trace as it is scored: with the other traces of its run. */
export interface StoredTrace {
  readonly data: TraceData;
  readonly joinedWith: readonly string[];
}

/** Reads the spans of a trace and of the other traces of its run. Throws an `AppError` when they cannot be read. */
export async function readStoredTrace(spans: SpanSource, activity: TraceActivity): Promise<StoredTrace> {
  for await (const [read] of readSlices(spans, [activity])) {
    if (read !== undefined && 'error' in read) {
      throw read.error;
    }
    if (read !== undefined) {
      const { JOINER } = await loadReading();
      const source = { spans, joiner: JOINER, cache: new PieceCache() };
      const [run] = await findJoinedRuns(source, [{ activity, data: read.data }]);
      const others = (run?.members ?? []).filter(({ traceId }) => traceId !== activity.traceId);
      return { data: run?.data ?? read.data, joinedWith: others.map(({ traceId }) => traceId) };
    }
  }
  return { data: { traceId: activity.traceId, spans: [], logs: [] }, joinedWith: [] };
}

/** Loads the reading of traces as runs with the first one: lists need none of its code. */
const loadReading = () => import('../../scoring/setup/read-traces.ts');

/** Reads a trace as runs, and the kinds of its steps; the spans by their start. Large traces let other work run between. */
export async function readSteps(
  data: TraceData,
): Promise<{ readonly reading: TraceReading; readonly spans: readonly StepSpan[] }> {
  const [{ readInTurns }, { readStepKinds }] = await Promise.all([
    loadReading(),
    import('../../conventions/normalise-trace.ts'),
  ]);
  const reading = await readInTurns(data);
  const kinds = await readStepKinds(data, { nowMs: () => performance.now(), pause });
  const spans = data.spans
    .map((span) => ({ span, kind: kinds.get(span.spanId) ?? 'other' }))
    .toSorted((a, b) => compareStarts(a.span, b.span));
  return { reading, spans };
}

function compareStarts(a: Span, b: Span): number {
  return Number(a.startUnixNano - b.startUnixNano) || (a.spanId < b.spanId ? -1 : 1);
}
