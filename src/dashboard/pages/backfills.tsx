import { useEffect, useState } from 'preact/hooks';
import type { Item, Replies } from '../api-types.ts';
import { ProblemError, read, write, PREFIX } from '../client.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
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

const LABELS: Readonly<Record<BackfillAction, string>> = {
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
};

/** Backfills with their progress, as it changes. */
export function Backfills() {
  const cursor = query.value.get('cursor') ?? undefined;
  const backfills = useResource(`backfills ${cursor ?? ''}`, (signal) =>
    read('/backfills', { query: { cursor }, signal }),
  );
  const { changes, note } = useChanges(backfills.kind === 'ready' ? backfills.data.items : []);
  const [outcome, setOutcome] = useState('');
  const act = async ({ id }: Backfill, action: BackfillAction): Promise<void> => {
    try {
      note(await write(`POST /backfills/{id}/${action}`, undefined, { params: { id } }));
      setOutcome(`The backfill ${id} ${DONE[action]}.`);
    } catch (error) {
      setOutcome(error instanceof ProblemError ? `Not done: ${error.problem.detail}` : String(error));
    }
  };
  return (
    <Page
      title="Backfills"
      lead="A backfill scores stored traces of a time range. The command spanscore backfill starts one."
    >
      <DryRun />
      <p role="status">
        <Text of={outcome} />
      </p>
      <Loaded
        of={backfills}
        what="the backfills"
        isEmpty={(page) => page.items.length === 0}
        empty={
          <>
            <p>There has been no backfill. To count what one would score:</p>
            <pre>
              <code>spanscore backfill --from 7d --dry-run</code>
            </pre>
          </>
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

/** Asks what a backfill by the rules would cost. */
function DryRun() {
  const [from, setFrom] = useState('7d');
  const [told, setTold] = useState('');
  const ask = async (): Promise<void> => {
    setTold('Reading traces …');
    try {
      setTold(describeDryRun(await write('POST /backfills', { from, dryRun: true })));
    } catch (error) {
      setTold(error instanceof ProblemError ? `Not known: ${error.problem.detail}` : String(error));
    }
  };
  return (
    <form
      aria-label="Cost of a backfill"
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      <label>
        Backfill by the rules: traces since
        <input name="from" value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
      </label>
      <button type="submit">What would it cost?</button>
      <output>
        <Text of={told} />
      </output>
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

function columnsOf(act: (backfill: Backfill, action: BackfillAction) => Promise<void>): Column<Backfill>[] {
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
    { name: 'Began (UTC)', cell: ({ startedAt }) => <Time at={startedAt} /> },
    {
      name: 'Actions',
      cell: (backfill) =>
        listActions(backfill).length === 0
          ? '–'
          : listActions(backfill).map((action) => (
              <button key={action} type="button" onClick={() => void act(backfill, action)}>
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
