import { useEffect, useState } from 'preact/hooks';
import { read } from '../client.ts';
import { Filters } from '../parts/filters.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Score } from '../parts/score.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { formatDuration, formatNumber, formatUsd } from '../view-models/format.ts';
import { readFilters } from '../view-models/query-filters.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { listScorers, scoresOf, STATES, TRACE_FILTERS, type TraceRow } from '../view-models/trace-list.ts';

/** Time between two looks for newer traces, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** List of traces with their scores as columns. */
export function Traces() {
  const filters = readFilters(TRACE_FILTERS, query.value);
  const cursor = query.value.get('cursor') ?? undefined;
  const key = JSON.stringify([filters, cursor]);
  const traces = useResource(key, (signal) => read('/traces', { query: { ...filters, cursor }, signal }));
  const newest = traces.kind === 'ready' ? traces.data.items[0]?.traceId : undefined;
  return (
    <Page title="Traces">
      <Filters name="Filter traces" fields={TRACE_FILTERS} />
      {cursor === undefined && traces.kind === 'ready' && (
        <Newer key={key} filters={filters} newest={newest} onRefresh={traces.reload} />
      )}
      <Loaded
        of={traces}
        what="the traces"
        isEmpty={({ items }) => items.length === 0}
        empty={
          <p>
            No traces match. Clear the filter, or <a href="/welcome">connect an agent</a>.
          </p>
        }
      >
        {({ items, next }) => (
          <>
            <Table
              caption="Traces"
              columns={listColumns(items)}
              rows={items}
              keyOf={({ tenant, traceId }) => `${tenant} ${traceId}`}
            />
            <p class="pages">
              {formatNumber(items.length)} traces on this page, newest first.{' '}
              {cursor !== undefined && <a href={fillPath('/traces', {}, filters)}>First page</a>}{' '}
              {next !== null && <a href={fillPath('/traces', {}, { ...filters, cursor: next })}>Next page</a>}
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface NewerProps {
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly newest: string | undefined;
  readonly onRefresh: () => void;
}

/** Says that newer traces have come; the list itself stays until the reader wants them. */
function Newer({ filters, newest, onRefresh }: NewerProps) {
  const [found, setFound] = useState(newest);
  useEffect(() => {
    setFound(newest);
    const abort = new AbortController();
    const look = async (): Promise<void> => {
      const { items } = await read('/traces', { query: { ...filters, limit: 1 }, signal: abort.signal });
      setFound(items[0]?.traceId ?? newest);
    };
    // A look that fails is repeated; the list says why when it is loaded.
    const timer = setInterval(() => void look().catch(() => undefined), LOOK_EVERY_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [newest]);
  return (
    <p role="status" class="newer">
      {found !== newest && (
        <>
          New traces have come.{' '}
          <button type="button" onClick={onRefresh}>
            Refresh
          </button>
        </>
      )}
    </p>
  );
}

function listColumns(items: readonly TraceRow[]): Column<TraceRow>[] {
  return [
    {
      name: 'Started (UTC)',
      cell: ({ tenant, traceId, startedAt }) => (
        <a href={tracePath({ tenant, traceId })} data-row-link>
          <Time at={startedAt} />
          <br />
          <span class="unseen">trace </span>
          <code>{traceId.slice(0, 8)}</code>
        </a>
      ),
    },
    { name: 'Agent', cell: ({ agent, service }) => <Text of={agent ?? service ?? '–'} /> },
    {
      name: 'State',
      cell: ({ state }) => (
        <span class={`chip ${state}`}>{`${STATES[state].sign} ${STATES[state].words}`}</span>
      ),
    },
    {
      name: 'Run',
      cell: ({ status, errorType }) =>
        status === 'error' ? (
          <span class="bad">
            ✗ error <Text of={errorType ?? ''} />
          </span>
        ) : (
          (status ?? '–')
        ),
    },
    ...listScorers(items).map((scorer) => ({
      name: scorer,
      cell: (row: TraceRow) =>
        scoresOf(row, scorer).map((score) => (
          <div key={score.scoreId}>
            <Score {...score} />
          </div>
        )),
    })),
    ...COST_COLUMNS,
  ];
}

const COST_COLUMNS: readonly Column<TraceRow>[] = [
  { name: 'Duration', cell: ({ durationMs }) => formatDuration(durationMs), isNumber: true },
  {
    name: 'Tokens',
    cell: ({ usage }) => (usage.totalTokens === null ? '–' : formatNumber(usage.totalTokens)),
    isNumber: true,
  },
  { name: 'Cost', cell: ({ costUsd }) => formatUsd(costUsd), isNumber: true },
  { name: 'Models', cell: ({ models }) => <Text of={models.join(', ')} /> },
  {
    name: 'Session',
    cell: ({ tenant, sessionId }) =>
      sessionId === null ? (
        '–'
      ) : (
        <a href={sessionPath({ tenant, sessionId })}>
          <Text of={sessionId} />
        </a>
      ),
  },
];
