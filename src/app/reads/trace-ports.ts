import type { TracePorts, TraceView } from '../../api/lists/read-ports.ts';
import { NotFoundError } from '../../domain/errors.ts';
import type { Store } from '../../store/contracts/store.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../../store/contracts/stores.ts';
import { readSteps, readStoredTrace } from './stored-trace.ts';
import type { ScopeOptions } from './scope-options.ts';

/** Creates the ports of traces for one tenant, or for all. */
export function createTracePorts(store: Store, { tenant, namedRows, explain }: ScopeOptions): TracePorts {
  const { decisions, lists, scores, spans } = store;
  return {
    list: async (filters, page) => lists.traces({ ...(await namedRows(filters)), tenant }, page),
    read: async (traceId) => {
      const { key, activity } = await findTrace(store, traceId, tenant);
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
        reading: read?.reading ?? null,
        spans: read?.spans ?? [],
        scores: ofTrace.get(name) ?? [],
        decisions: decided.get(name) ?? [],
        computed,
        joinedWith: stored?.joinedWith ?? [],
        nowMs,
      } satisfies TraceView;
    },
    readSpan: async (traceId, spanId) => {
      const { activity } = await findTrace(store, traceId, tenant);
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

/** Finds a trace by its spans, its run or its scores. Throws a `NotFoundError` when the tenant has none of them. */
async function findTrace(
  { spans, lists }: Pick<Store, 'spans' | 'lists'>,
  traceId: string,
  tenant: string | undefined,
): Promise<FoundKey> {
  const found = await spans.findTrace(traceId);
  const activity = found.find((each) => tenant === undefined || each.tenant === tenant);
  if (activity !== undefined) {
    return { key: { tenant: activity.tenant, traceId }, activity };
  }
  const filters = { tenant, traceId: [traceId] };
  const page = { limit: 1 };
  const [run] = (await lists.traces(filters, page)).items;
  const [score] = run === undefined ? (await lists.scores(filters, page)).items : [];
  const key = run ?? score;
  if (key === undefined) {
    throw new NotFoundError(`trace ${traceId} is not in the store; GET /api/v1/traces lists traces`);
  }
  return { key: { tenant: key.tenant, traceId }, activity: undefined };
}
