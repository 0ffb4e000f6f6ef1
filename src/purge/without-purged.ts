import type { RunRecord } from '../domain/run-record.ts';
import type { PurgedTraces } from '../store/contracts/purge.ts';
import type { Store } from '../store/contracts/store.ts';
import type { SpanSource, TraceKey } from '../store/contracts/stores.ts';

/** Parts of a store through which scoring reads and writes traces. */
type ScoredParts = Pick<Store, 'spans' | 'decisions' | 'scores' | 'runs' | 'judgeCalls'>;

/**
 * Returns a store whose reads find no purged trace, and whose writes leave out rows of purged traces. Each write knows the tombstones of
 * 5 s before it.
 * @param onRuns called before runs are written
 */
export function withoutPurged<Parts extends ScoredParts>(
  store: Parts,
  purged: PurgedTraces,
  onRuns: (records: readonly RunRecord[]) => Promise<void> = async () => undefined,
): Parts {
  const { spans, decisions, scores, runs, judgeCalls } = store;
  const keep = <Row extends TraceKey>(rows: readonly Row[]): Row[] =>
    purged.isEmpty ? [...rows] : rows.filter((row) => row.traceId === '' || !purged.has(row));
  const guard =
    <Row extends TraceKey>(write: (rows: readonly Row[]) => Promise<void>) =>
    async (rows: readonly Row[]): Promise<void> => {
      await purged.renew();
      await write(keep(rows));
    };
  return {
    ...store,
    spans: withoutPurgedSpans(spans, keep),
    decisions: {
      ...decisions,
      write: guard((rows) => decisions.write(rows)),
      undecided: async (query) => keep(await decisions.undecided(query)),
      due: async (query) => keep(await decisions.due(query)),
      heldBack: async (query) => keep(await decisions.heldBack(query)),
    },
    scores: { ...scores, write: guard((rows) => scores.write(rows)) },
    runs: {
      ...runs,
      write: guard(async (records) => {
        await onRuns(records);
        await runs.write(records);
      }),
    },
    judgeCalls: { ...judgeCalls, write: guard((calls) => judgeCalls.write(calls)) },
  };
}

/** Tables of others keep the spans of purged traces, and new spans of one may come before its tombstone is known. */
function withoutPurgedSpans(
  spans: SpanSource,
  keep: <Row extends TraceKey>(rows: readonly Row[]) => Row[],
): SpanSource {
  return {
    ...spans,
    arrivals: async (fromMs, toMs) => keep(await spans.arrivals(fromMs, toMs)),
    activity: (keys) => spans.activity(keep(keys)),
    facts: (keys, attributeKeys, options) => spans.facts(keep(keys), attributeKeys, options),
    read: (keys, options) => spans.read(keep(keys), options),
    list: async (range) => {
      // An empty page would mean the end of the list.
      let page = await spans.list(range);
      for (let kept = keep(page); ; kept = keep(page)) {
        const last = page.at(-1);
        if (kept.length > 0 || last === undefined) {
          return kept;
        }
        page = await spans.list({ ...range, after: { ...last, startUnixNano: last.firstStartUnixNano } });
      }
    },
    findTrace: async (traceId) => keep(await spans.findTrace(traceId)),
  };
}
