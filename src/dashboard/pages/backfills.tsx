import { useEffect, useState } from 'preact/hooks';
import type { Item, Replies } from '../api-types.ts';
import { ProblemError, read, write, PREFIX } from '../client.ts';
import { Choice } from '../parts/choice.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
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
import { TIME_RANGES } from '../view-models/frame.ts';
import { RANGES } from '../view-models/query-filters.ts';

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
    <Page title="Backfills" lead="A backfill scores stored traces of a time range.">
      {mayUse('admin') && <NewBackfill onStarted={backfills.reload} />}
      <p role="status">
        <Text of={outcome} />
      </p>
      <Loaded
        of={backfills}
        what="the backfills"
        isEmpty={(page) => page.items.length === 0}
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

type Work =
  | { readonly kind: 'none' | 'counting' | 'starting' }
  | { readonly kind: 'counted'; readonly words: string }
  | { readonly kind: 'told'; readonly words: string };

/** Dry run and start of a backfill. */
function useNewBackfill(spec: { readonly from: string; readonly scorer?: string }, onStarted: () => void) {
  const [work, setWork] = useState<Work>({ kind: 'none' });
  const carryOut = async (kind: 'counting' | 'starting', action: () => Promise<Work>): Promise<void> => {
    setWork({ kind });
    try {
      setWork(await action());
    } catch (error) {
      const why = error instanceof ProblemError ? error.problem.detail : String(error);
      setWork({ kind: 'told', words: `Not done: ${why}` });
    }
  };
  const count = (): void =>
    void carryOut('counting', async () => ({
      kind: 'counted',
      words: describeDryRun(await write('POST /backfills', { ...spec, dryRun: true })),
    }));
  const start = (): void =>
    void carryOut('starting', async () => {
      const { id } = await write('POST /backfills', spec);
      onStarted();
      return { kind: 'told', words: `The backfill ${id.slice(0, 8)} is started.` };
    });
  return { work, count, start, forget: () => setWork({ kind: 'none' }) };
}

/** Form of a backfill: a dry run says what it would do and cost, then it can be started. */
function NewBackfill({ onStarted }: { readonly onStarted: () => void }) {
  const scorers = useResource('scorers', (signal) => read('/scorers', { signal }));
  const [scorer, setScorer] = useState(BY_THE_RULES);
  const [from, setFrom] = useState<string>('7d');
  const names = scorers.kind === 'ready' ? scorers.data.items.map((each) => each.scorer) : [];
  const spec = { from, ...(scorer === BY_THE_RULES ? {} : { scorer }) };
  const { work, count, start, forget } = useNewBackfill(spec, onStarted);
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
        <button type="submit" disabled={work.kind === 'counting' || work.kind === 'starting'}>
          Dry run
        </button>
        {work.kind === 'counted' && (
          <button type="button" class="primary" onClick={start}>
            Start
          </button>
        )}
      </p>
      {work.kind === 'counting' && <progress aria-label="Dry run" />}
      <p role="status">{(work.kind === 'counted' || work.kind === 'told') && <Text of={work.words} />}</p>
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
    { name: 'Began', cell: ({ startedAt }) => <Time at={startedAt} /> },
    {
      name: 'Actions',
      cell: (backfill) =>
        listActions(backfill).length === 0 || !mayUse('admin')
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
