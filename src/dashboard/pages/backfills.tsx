import { useEffect, useState } from 'preact/hooks';
import type { Item, Replies } from '../api-types.ts';
import { PREFIX, write } from '../client.ts';
import { useOrders } from '../orders.tsx';
import { Choice } from '../parts/choice.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { query } from '../router.ts';
import { mayUse } from '../session.ts';
import {
  describeCost,
  describeState,
  describeWork,
  isOpen,
  listActions,
  listReasons,
  readProgress,
  type BackfillAction,
} from '../view-models/backfills.ts';
import { describeDryRun } from '../view-models/estimate.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { RANGES, TIME_RANGES } from '../view-models/frame.ts';

const ENDED: readonly string[] = ['done', 'failed', 'cancelled'];

/** Time until a refused stream is asked for again, milliseconds: the browser does so after an interrupted one only. */
const RETRY_MS = 30_000;

type Backfill = Item<'/backfills'>;

/** Open backfills whose events are followed: a browser has six connections to a server. */
const MOST_FOLLOWED = 3;

const DONE: Readonly<Record<BackfillAction, string>> = {
  pause: 'is paused',
  resume: 'continues',
  cancel: 'is cancelled',
};

type Act = (backfill: Backfill, action: BackfillAction) => void;

const LABELS: Readonly<Record<BackfillAction, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
};

/** Backfills with their progress, as it changes. */
export function Backfills() {
  const cursor = query.value.get('cursor') ?? undefined;
  const backfills = useRead('/backfills', { query: { cursor } });
  const { changes, note } = useChanges(backfills.kind === 'ready' ? backfills.data.items : []);
  const { outcome, order } = useOrders();
  const act: Act = ({ id }, action) =>
    order(
      async () => note(await write(`POST /backfills/{id}/${action}`, undefined, { params: { id } })),
      `The backfill ${id} ${DONE[action]}.`,
    );
  return (
    <Page title="Backfills" lead="A backfill scores stored traces of a time range.">
      {mayUse('admin') && <NewBackfill onStarted={backfills.reload} />}
      <p>{outcome}</p>
      <Loaded
        of={backfills}
        what="the backfills"
        empty={
          <p>There has been no backfill. A dry run counts what one would score, and what it would cost.</p>
        }
      >
        {(page) => (
          <>
            <Table
              caption="Backfills"
              isCaptionHidden
              columns={columnsOf(act)}
              rows={page.items.map((item) => changes.get(item.id) ?? item)}
              keyOf={({ id }) => id}
            />
            {page.next !== null && (
              <a href={fillPath('/backfills', {}, { cursor: page.next })}>Older backfills</a>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Choice of what the rules score, instead of one scorer. */
const BY_THE_RULES = '';

type Spec = { readonly from: string; readonly scorer?: string };

/** Dry run and start of a backfill. */
function useNewBackfill(spec: Spec, onStarted: () => void) {
  const [counted, setCounted] = useState<Spec>();
  const orders = useOrders();
  const count = (): void =>
    orders.order(
      () => write('POST /backfills', { ...spec, dryRun: true }),
      (found) => {
        setCounted(spec);
        return describeDryRun(found);
      },
    );
  const start = (): void => {
    setCounted(undefined);
    orders.order(
      () => write('POST /backfills', spec),
      ({ id }) => {
        onStarted();
        return `The backfill ${id.slice(0, 8)} is started.`;
      },
    );
  };
  const isCounted = counted?.from === spec.from && counted.scorer === spec.scorer;
  return { ...orders, isCounted, count, start };
}

/** Form of a backfill: a dry run says what it would do and cost, then it can be started. */
function NewBackfill({ onStarted }: { readonly onStarted: () => void }) {
  const scorers = useRead('/scorers');
  const [scorer, setScorer] = useState(BY_THE_RULES);
  const [from, setFrom] = useState<string>('7d');
  const names = scorers.kind === 'ready' ? scorers.data.items.map((each) => each.scorer) : [];
  const spec = { from, ...(scorer === BY_THE_RULES ? {} : { scorer }) };
  const { outcome, isBusy, isCounted, count, start, forget } = useNewBackfill(spec, onStarted);
  const choose = (set: (value: string) => void) => (value: string) => {
    set(value);
    forget();
  };
  return (
    <form
      aria-label="New backfill"
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        count();
      }}
    >
      <p class="choices">
        <Choice
          label="Scorer"
          value={scorer}
          choices={[[BY_THE_RULES, 'those of the rules'], ...names.map((name) => [name, name] as const)]}
          onChoice={choose(setScorer)}
        />
        <Choice
          label="Range"
          value={from}
          choices={TIME_RANGES.filter(([range]) => RANGES.some((each) => each === range))}
          onChoice={choose(setFrom)}
        />
        <button type="submit" disabled={isBusy}>
          Dry run
        </button>
        {isCounted && (
          <button type="button" class="primary" onClick={start}>
            Start
          </button>
        )}
      </p>
      {isBusy && <progress aria-label="Dry run" />}
      <p>{outcome}</p>
    </form>
  );
}

/** Follows open backfills. Returns the latest state of those that changed, and a function that notes one. */
function useChanges(items: readonly Backfill[]) {
  const [changes, setChanges] = useState<ReadonlyMap<string, Backfill>>(new Map());
  const note = (backfill: Backfill) => setChanges((known) => new Map(known).set(backfill.id, backfill));
  const followed = items
    .filter(isOpen)
    .slice(0, MOST_FOLLOWED)
    .map(({ id }) => id);
  useEffect(() => {
    const stops = followed.map((id) => followBackfill(id, note));
    return () => stops.forEach((stop) => stop());
  }, [followed.join(' ')]);
  return { changes, note };
}

function columnsOf(act: Act): Column<Backfill>[] {
  return [
    {
      name: 'Backfill',
      cell: (backfill) => (
        <>
          <Text of={describeWork(backfill)} />
          <br />
          <small>
            <code>{backfill.id.slice(0, 8)}</code>, traces of <Time at={timeOf(backfill, 'from')} /> to{' '}
            <Time at={timeOf(backfill, 'to')} />
          </small>
        </>
      ),
    },
    { name: 'State', cell: (backfill) => <Text of={describeState(backfill)} /> },
    { name: 'Progress', cell: (backfill) => <Progress of={backfill} /> },
    { name: 'Cost so far', cell: describeCost, isNumber: true },
    { name: 'Began', cell: ({ startedAt }) => <Time at={startedAt} /> },
    {
      name: 'Actions',
      cell: (backfill) =>
        listActions(backfill).length === 0 || !mayUse('admin')
          ? '–'
          : listActions(backfill).map((action) => (
              <button key={action} type="button" onClick={() => act(backfill, action)}>
                {LABELS[action]}
                <span class="unseen"> the backfill {backfill.id.slice(0, 8)}</span>
              </button>
            )),
    },
  ];
}

function Progress({ of: backfill }: { readonly of: Backfill }) {
  const { done, all, text } = readProgress(backfill);
  const reasons = listReasons(backfill);
  return (
    <>
      {isOpen(backfill) && (
        <progress value={done} max={Math.max(all, 1)} aria-label={`Progress of ${backfill.id.slice(0, 8)}`} />
      )}
      <div>{text}</div>
      {reasons.length > 0 && (
        <small>
          <Text of={reasons.join(', ')} />
        </small>
      )}
    </>
  );
}

function timeOf({ spec }: Backfill, name: 'from' | 'to'): string | null {
  const value = spec[name];
  return typeof value === 'string' ? value : null;
}

/** A backfill, as its events have it. */
type BackfillEvent = Replies['/backfills/{id}'];

/** Calls `onChange` with each state of a backfill until it has ended. Returns the function that stops. */
function followBackfill(id: string, onChange: (backfill: BackfillEvent) => void): () => void {
  let stop = () => {};
  const open = () => {
    const source = new EventSource(PREFIX + fillPath('/backfills/{id}/events', { id }));
    let retry: ReturnType<typeof setTimeout> | undefined;
    stop = () => {
      clearTimeout(retry);
      source.close();
    };
    source.addEventListener('progress', ({ data }) => {
      const backfill = JSON.parse(String(data)) as BackfillEvent;
      if (ENDED.includes(backfill.status)) {
        source.close();
      }
      onChange(backfill);
    });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) {
        retry = setTimeout(open, RETRY_MS);
      }
    });
  };
  open();
  return () => stop();
}
