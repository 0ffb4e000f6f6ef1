import { useEffect, useState } from 'preact/hooks';
import type { Facets } from '../api-types.ts';
import { Columns } from '../parts/columns.tsx';
import { CopyLink } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, TextLink, Time } from '../parts/text.tsx';
import { TraceStrip } from '../parts/trace-strip.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, frame, framed, query } from '../router.ts';
import { formatDuration, formatNumber, formatUsd } from '../view-models/format.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import { rememberList } from '../view-models/paths/remembered-list.ts';
import {
  describeNotScored,
  FACET_GROUPS,
  listActiveFilters,
  listChips,
  orderFacet,
  readTraceFilters,
  STATES,
  toggleValue,
  VIEWS,
  type TraceRow,
} from '../view-models/trace-list.ts';
import { visibleText } from '../view-models/visible-text.ts';

/** Chips of a row that are shown. */
const CHIPS = 2;

/** Values of a group that are shown. */
const VALUES = 8;

/** List of traces: question and answer of each, the worst finding, and filters with counts beside. */
export function Traces() {
  const filters = { ...frame.value, ...readTraceFilters(query.value) };
  const cursor = query.value.get('cursor') ?? undefined;
  const traces = useRead('/traces', { query: { ...filters, cursor } });
  const { order: _, ...counted } = filters;
  const facets = useRead('/traces/facets', { query: counted });
  return (
    <Page title="Traces" isTitleHidden>
      <div class="row list-head">
        <nav aria-label="Views" class="row">
          {VIEWS.map((view) => (
            <a key={view.name} class="button" href={framed('/traces', view.query)}>
              {view.name}
            </a>
          ))}
        </nav>
        <ActiveFilters />
        <Columns parameter="hide" names={HIDEABLE} />
        <CopyLink />
      </div>
      <div class="listing">
        <FilterPanel facets={facets.kind === 'ready' ? facets.data : undefined} />
        <div class="list">
          <TraceStrip filters={counted} facets={facets.kind === 'ready' ? facets.data : undefined} />
          <Loaded
            of={traces}
            what="the traces"
            lines={24}
            empty={
              <p>
                No traces match. Remove a filter, choose a longer range, or{' '}
                <a href="/welcome">connect an agent</a>.
              </p>
            }
          >
            {({ items, next }) => <Rows items={items} next={next} hasFirst={cursor !== undefined} />}
          </Loaded>
        </div>
      </div>
    </Page>
  );
}

interface RowsProps {
  readonly items: readonly TraceRow[];
  readonly next: string | null;
  /** True when there is a page before. */
  readonly hasFirst: boolean;
}

function Rows({ items, next, hasFirst }: RowsProps) {
  useEffect(() => rememberList(items), [items]);
  const chosen = readTraceFilters(query.value);
  const hidden = query.value.getAll('hide');
  return (
    <>
      <Table
        caption="Traces"
        isCaptionHidden
        kind="traces"
        columns={COLUMNS.filter(({ name }) => !hidden.includes(name))}
        rows={items}
        keyOf={({ tenant, traceId }) => `${tenant} ${traceId}`}
      />
      <p class="pages">
        {formatNumber(items.length)} traces, {chosen['order'] === undefined ? 'newest' : 'worst'} first.{' '}
        {hasFirst && <a href={framed('/traces', { ...chosen, hide: hidden })}>First page</a>}{' '}
        {next !== null && (
          <a href={framed('/traces', { ...chosen, hide: hidden, cursor: next })}>Next page</a>
        )}
      </p>
    </>
  );
}

const COLUMNS: readonly Column<TraceRow>[] = [
  {
    name: 'Time',
    cell: ({ tenant, traceId, startedAt, state }) => (
      <a href={tracePath({ tenant, traceId })} data-row-link>
        <Time at={startedAt} />
        <span class="line quiet">
          <span class="unseen">trace {traceId.slice(0, 8)}, </span>
          {STATES[state].sign} {STATES[state].words}
        </span>
      </a>
    ),
  },
  {
    name: 'Agent',
    cell: ({ agent, service, agentVersion, serviceVersion }) => (
      <>
        <Line of={agent ?? service ?? '–'} />
        <Line of={agentVersion ?? serviceVersion ?? ''} isQuiet />
      </>
    ),
  },
  {
    name: 'Question',
    cell: ({ question, answer, status, errorType }) => (
      <>
        <Line of={question ?? 'no question in the spans'} isQuiet />
        {status === 'error' && answer === null ? (
          <span class="line bad">
            ✗ error <Text of={errorType ?? ''} />
          </span>
        ) : (
          <Line of={answer ?? 'no answer in the spans'} />
        )}
      </>
    ),
  },
  { name: 'Finding', cell: (row) => <Finding row={row} /> },
  { name: 'Scores', cell: (row) => <Chips row={row} /> },
  { name: 'Duration', cell: ({ durationMs }) => formatDuration(durationMs), isNumber: true },
  { name: 'Cost', cell: ({ costUsd }) => formatUsd(costUsd), isNumber: true },
  {
    name: 'User',
    cell: ({ userId }) =>
      userId === null ? '–' : <TextLink class="line" to={framed('/traces', { userId })} of={userId} />,
  },
];

/** Columns that a reader can take away: the first one names the row and stays. */
const HIDEABLE = COLUMNS.slice(1).map(({ name }) => name);

/** One line of a cell; a longer text is whole beside the pointer. */
function Line({ of, isQuiet = false }: { readonly of: string; readonly isQuiet?: boolean }) {
  const text = visibleText(of);
  return (
    <span class={isQuiet ? 'line quiet' : 'line'} title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}

function Finding({ row }: { readonly row: TraceRow }) {
  const { finding, notScored } = row;
  if (finding !== null) {
    return (
      <>
        <span class="line bad">
          ✗ <Text of={finding.verdict} />
        </span>
        <Line of={finding.claim} />
      </>
    );
  }
  return notScored.length === 0 ? null : (
    <span class="two-lines quiet" title={visibleText(describeNotScored(row))}>
      – <Text of={describeNotScored(row)} />
    </span>
  );
}

function Chips({ row }: { readonly row: TraceRow }) {
  const chips = listChips(row);
  return (
    <>
      {chips.slice(0, CHIPS).map(({ key, scorer, text, isBad }) => (
        <span key={key} class={`score-line ${isBad === undefined ? 'quiet' : isBad ? 'bad' : 'good'}`}>
          <span aria-hidden="true">{isBad === undefined ? '·' : isBad ? '✗' : '✓'}</span> <b>{text}</b>{' '}
          <Text of={scorer} />
        </span>
      ))}
      {chips.length > CHIPS && <small class="quiet more">+{chips.length - CHIPS}</small>}
    </>
  );
}

function ActiveFilters() {
  const search = query.value;
  return (
    <ul class="plain row" aria-label="Active filters">
      {listActiveFilters(search).map((filter) => (
        <li key={`${filter.parameter} ${filter.value}`} class="chip">
          <Text of={filter.text} />{' '}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${visibleText(filter.text)}`}
            onClick={() => adjustQuery(toggleValue(search, filter))}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Filters with the number of traces of each value. */
function FilterPanel({ facets }: { readonly facets: Facets | undefined }) {
  const search = query.value;
  const [isWide] = useState(() => matchMedia('(min-width: 75rem)').matches);
  return (
    <aside aria-label="Filters" class="facets">
      <details open={isWide}>
        <summary>Filters</summary>
        <div>
          {FACET_GROUPS.map(({ name, parameter, facet }) => {
            const chosen = search.getAll(parameter);
            const counts = orderFacet(facet, facets?.[facet] ?? []);
            const lost = chosen.filter((value) => counts.every((each) => each.value !== value));
            const values = [...lost.map((value) => ({ value, count: 0 })), ...counts];
            const shown = Math.max(VALUES, chosen.length);
            const box = ({ value, count }: (typeof counts)[number]) => (
              <label key={value}>
                <input
                  type="checkbox"
                  checked={chosen.includes(value)}
                  onChange={() => adjustQuery(toggleValue(search, { parameter, value }))}
                />{' '}
                <Text of={facet === 'notScored' ? value.replaceAll('_', ' ') : value} />{' '}
                <span class="quiet">{count}</span>
              </label>
            );
            return (
              <fieldset key={parameter}>
                <legend>{name}</legend>
                {values.length === 0 && <span class="quiet">none</span>}
                {values.slice(0, shown).map(box)}
                {values.length > shown && (
                  <details>
                    <summary class="small">{values.length - shown} more</summary>
                    {values.slice(shown).map(box)}
                  </details>
                )}
              </fieldset>
            );
          })}
        </div>
      </details>
    </aside>
  );
}
