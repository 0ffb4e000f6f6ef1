import type { StepSpan } from '../json/span-json.ts';
import { compareValues } from '../../domain/compare-values.ts';
import { NotFoundError, SeveralTenantsError } from '../../domain/errors.ts';
import type { ListFilters, ListPage } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/contracts/store.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../../store/contracts/stores.ts';
import { readSteps, readStoredTrace } from './stored-trace.ts';
import { hideConditions, narrowTenant, type Scope } from './scope.ts';

/** Trace that a request names; tenant undefined: the only one that has it. */
export interface NamedTrace {
  readonly traceId: string;
  readonly tenant?: string | undefined;
}

/** One trace with all that is known of it. */
export type TraceView = Awaited<ReturnType<ReturnType<typeof createTraceReads>['read']>>;

/** Creates the reads of traces for one tenant, or for all. */
export function createTraceReads(store: Store, { tenant, namedRows, explain }: Scope) {
  const { decisions, lists, scores, spans } = store;
  return {
    /** Newest first, by the start of the run. */
    list: async (filters: ListFilters, page: ListPage) =>
      lists.traces({ ...(await namedRows(filters)), tenant }, page),
    /** Throws a `NotFoundError` for a trace that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
    read: async (asked: NamedTrace) => {
      const { key, activity } = await findTrace(store, asked.traceId, narrowTenant(tenant, asked.tenant));
      const [stored, ofTrace, decided, computed, nowMs] = await Promise.all([
        activity === undefined ? undefined : readStoredTrace(spans, activity),
        scores.ofTraces([key]),
        decisions.ofTraces([key]),
        explain(key),
        spans.nowMs(),
      ]);
      const name = joinTraceKey(key);
      const read =
        stored === undefined || stored.data.spans.length === 0 ? undefined : await readSteps(stored.data);
      return {
        key,
        /** Null when no span is stored any more. */
        reading: read?.reading ?? null,
        spans: read?.spans ?? [],
        scores: ofTrace.get(name) ?? [],
        decisions: hideConditions(decided.get(name) ?? [], tenant),
        computed: hideConditions(computed, tenant),
        joinedWith: stored?.joinedWith ?? [],
        nowMs,
      };
    },
    /** Throws as `read`, and a `NotFoundError` for a span that the trace does not have. */
    readSpan: async ({
      traceId,
      spanId,
      tenant: asked,
    }: NamedTrace & { readonly spanId: string }): Promise<StepSpan> => {
      const { activity } = await findTrace(store, traceId, narrowTenant(tenant, asked));
      const stored = activity && (await readStoredTrace(spans, activity));
      const span = stored?.data.spans.find((each) => each.spanId === spanId);
      if (stored === undefined || span === undefined) {
        throw new NotFoundError(
          `trace ${traceId} has no span ${spanId} in the store; GET /api/v1/traces/${traceId} lists its spans`,
        );
      }
      const { spans: steps } = await readSteps({ ...stored.data, spans: [span] });
      return steps[0] ?? { span, kind: 'other' };
    },
  };
}

interface FoundKey {
  readonly key: TraceKey;
  /** Undefined when no span is stored any more. */
  readonly activity: TraceActivity | undefined;
}

/**
 * Finds a trace by its spans, its runs or its scores, except those that were posted. Throws a `NotFoundError` when the tenant has none
 * of them, and a `SeveralTenantsError` when several tenants have some.
 */
async function findTrace(
  { spans, lists }: Pick<Store, 'spans' | 'lists'>,
  traceId: string,
  tenant: string | undefined,
): Promise<FoundKey> {
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
