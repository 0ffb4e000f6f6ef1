import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Replies, Writes } from '../api-types.ts';
import { ProblemError, read, write } from '../client.ts';
import { Filters } from '../parts/filters.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { Score } from '../parts/score.tsx';
import { LongText, Text, Time } from '../parts/text.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { sessionPath } from '../view-models/paths/row-paths.ts';
import { formatDirection, formatNumber, formatPercent } from '../view-models/format.ts';
import { findLabelAction, LABEL_KEYS, listActions, type LabelAction } from '../view-models/label-keys.ts';
import { RANGES, readFilters, type FilterField } from '../view-models/query-filters.ts';
import { formatInterval } from '../view-models/comparison.ts';
import { Table, type Column } from '../parts/table.tsx';

const FINGERPRINT_DIGITS = 8;

const VERSIONS: readonly Column<Version>[] = [
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  {
    name: 'Version',
    cell: ({ fingerprint }) => <code title={fingerprint}>{fingerprint.slice(0, FINGERPRINT_DIGITS)}</code>,
  },
  { name: 'Judge', cell: ({ judgeModel }) => <Text of={judgeModel || 'no judge'} /> },
  { name: 'Targets', isNumber: true, cell: ({ n }) => formatNumber(n) },
  {
    name: 'Kappa',
    isNumber: true,
    cell: ({ kappa, kappaLow, kappaHigh }) => formatInterval(kappa, kappaLow, kappaHigh),
  },
  {
    name: 'Sensitivity',
    isNumber: true,
    cell: ({ sensitivity, sensitivityLow, sensitivityHigh }) =>
      formatInterval(sensitivity, sensitivityLow, sensitivityHigh),
  },
  {
    name: 'Specificity',
    isNumber: true,
    cell: ({ specificity, specificityLow, specificityHigh }) =>
      formatInterval(specificity, specificityLow, specificityHigh),
  },
  {
    name: 'Pass rate',
    isNumber: true,
    cell: ({ passRate }) => (passRate === null ? '–' : formatPercent(passRate)),
  },
  {
    name: 'Corrected pass rate',
    isNumber: true,
    cell: ({ corrected }) =>
      corrected === null ? '–' : formatInterval(corrected.share, corrected.low, corrected.high),
  },
];

const REVIEWERS: readonly Column<Reviewers>[] = [
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  { name: 'Reviewer', cell: ({ left }) => <Text of={left} /> },
  { name: 'Other reviewer', cell: ({ right }) => <Text of={right} /> },
  { name: 'Targets', isNumber: true, cell: ({ n }) => formatNumber(n) },
  {
    name: 'Kappa',
    isNumber: true,
    cell: ({ kappa, kappaLow, kappaHigh }) => formatInterval(kappa, kappaLow, kappaHigh),
  },
];

type Queue = Replies['/labels/queue'];
type Target = Queue['items'][number];
type Stored = Writes['POST /labels']['reply'];

const FIELDS: readonly FilterField[] = [
  { name: 'scorer', label: 'Scorer', placeholder: 'hallucination' },
  { name: 'reviewer', label: 'Reviewer', placeholder: 'name of the token' },
  { name: 'since', label: 'Since', choices: RANGES, placeholder: 'queue of 7 days, all labels' },
];

/** Range of the queue without a choice. */
const DEFAULT_RANGE = '7d';

/** The reviewer's queue: what the scorer thinks is hidden until the label is stored. */
export function Labels() {
  const filters = readFilters(FIELDS, query.value);
  const scorer = filters['scorer']?.[0];
  return (
    <Page
      title="Labels"
      lead="Say yourself whether answers pass. The scores of the scorer are hidden until your label is stored."
    >
      <Filters name="Choose the queue" fields={FIELDS} />
      {scorer === undefined ? (
        <p>Name the scorer that you want to check.</p>
      ) : (
        <>
          <Reviewing
            scorer={scorer}
            reviewer={filters['reviewer']?.[0]}
            since={filters['since']?.[0] ?? DEFAULT_RANGE}
          />
          <AgreementTables scorer={scorer} since={filters['since']?.[0]} />
        </>
      )}
    </Page>
  );
}

interface ReviewingProps {
  readonly scorer: string;
  readonly reviewer: string | undefined;
  readonly since: string;
}

function Reviewing({ scorer, reviewer, since }: ReviewingProps) {
  const queue = useResource(`labels ${JSON.stringify([scorer, reviewer, since])}`, (signal) =>
    read('/labels/queue', { query: { scorer, reviewer, since }, signal }),
  );
  const [position, setPosition] = useState(0);
  const count = queue.kind === 'ready' ? queue.data.items.length : 0;
  const goOn = (): void => {
    if (position + 1 < count) {
      setPosition(position + 1);
    } else {
      setPosition(0);
      queue.reload();
    }
  };
  return (
    <Loaded
      of={queue}
      what="the queue"
      isEmpty={({ items }) => items.length === 0}
      empty={<p>✓ Nothing is left to label for this scorer in this time.</p>}
    >
      {(data) => {
        const target = data.items[position];
        // The former items are still here until the next ones come: a key would label the first of them again.
        return queue.isRefreshing ? (
          <p role="status">Loading the next answers…</p>
        ) : (
          target !== undefined && (
            <TargetForm
              key={`${target.targetId} ${position}`}
              queue={data}
              target={target}
              reviewer={reviewer}
              onDone={goOn}
            />
          )
        );
      }}
    </Loaded>
  );
}

interface TargetFormProps {
  readonly queue: Queue;
  readonly target: Target;
  readonly reviewer: string | undefined;
  readonly onDone: () => void;
}

function TargetForm({ queue, target, reviewer, onDone }: TargetFormProps) {
  // Signals, not states: a key that follows at once has to see what the key before it changed.
  const note = useSignal('');
  const stored = useSignal<Stored | undefined>(undefined);
  const isSending = useSignal(false);
  const fault = useSignal('');
  const noteField = useRef<HTMLTextAreaElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const readState = () => ({ isStored: stored.value !== undefined, isSending: isSending.value });
  const store = async (passes: boolean): Promise<void> => {
    isSending.value = true;
    try {
      stored.value = await write(
        'POST /labels',
        buildLabel({ queue, target, reviewer, note: note.value, passes }),
      );
      fault.value = '';
    } catch (error) {
      fault.value = error instanceof ProblemError ? error.problem.detail : String(error);
    } finally {
      isSending.value = false;
    }
  };
  const act = (action: LabelAction): void => {
    if (action === 'note') {
      noteField.current?.focus();
    } else if (action === 'pass' || action === 'fail') {
      void store(action === 'pass');
    } else {
      onDone();
    }
  };
  useKeys((key) => findLabelAction(key, readState()), act);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <section aria-labelledby="target">
      <h2 id="target" ref={heading} tabIndex={-1}>
        Does this answer pass <Text of={queue.scorer} />?
      </h2>
      <p class="note">
        {formatNumber(queue.labelled)} labelled, {formatNumber(queue.left)} left for{' '}
        <Text of={queue.reviewer} /> · {formatDirection(queue.higherIsBetter)} ·{' '}
        <Time at={target.startedAt} /> UTC · <Text of={target.agent} />
      </p>
      <Buttons actions={listActions(readState())} onAction={act} />
      <NoteField field={noteField} note={note} isDisabled={stored.value !== undefined} />
      <p role="alert" class="bad">
        <Text of={fault.value} />
      </p>
      <div role="status">{stored.value !== undefined && <Outcome stored={stored.value} />}</div>
      <Content target={target} />
    </section>
  );
}

interface NoteFieldProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly note: Signal<string>;
  readonly isDisabled: boolean;
}

/** Field of the note. Escape leaves it, so that the keys label again. */
function NoteField({ field, note, isDisabled }: NoteFieldProps) {
  return (
    <label class="note-field">
      Note (Esc leaves the field)
      <textarea
        ref={field}
        rows={2}
        value={note.value}
        disabled={isDisabled}
        onInput={({ currentTarget }) => {
          note.value = currentTarget.value;
        }}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape') {
            currentTarget.blur();
          }
        }}
      />
    </label>
  );
}

function Buttons({
  actions,
  onAction,
}: {
  readonly actions: readonly LabelAction[];
  readonly onAction: (action: LabelAction) => void;
}) {
  return (
    <p class="choices">
      {LABEL_KEYS.filter(({ action }) => actions.includes(action)).map(({ key, action, does }) => (
        <button key={action} type="button" aria-keyshortcuts={key} onClick={() => onAction(action)}>
          {does} <kbd>{key}</kbd>
        </button>
      ))}
    </p>
  );
}

function Outcome({ stored: { agrees, scores } }: { readonly stored: Stored }) {
  const words =
    agrees === null
      ? 'The scorer has no score here.'
      : agrees
        ? '✓ The scorer agrees.'
        : '≠ The scorer does not agree.';
  return (
    <>
      <p>
        <strong>{words}</strong>
      </p>
      {scores.map((score) => (
        <div key={score.scoreId}>
          <Score {...score} />
          {score.reason !== '' && <LongText of={score.reason} />}
        </div>
      ))}
    </>
  );
}

function Content({ target: { tenant, run, sessionId, traceId } }: { readonly target: Target }) {
  if (run !== null) {
    return <RunMessages run={run} />;
  }
  return traceId === '' ? (
    <p>
      Read the session <a href={sessionPath({ tenant, sessionId })}>{sessionId}</a>.
    </p>
  ) : (
    <p>The spans of this trace are not stored any more.</p>
  );
}

function buildLabel({
  queue,
  target: { traceId, spanId, sessionId },
  reviewer,
  note,
  passes,
}: Pick<TargetFormProps, 'queue' | 'target' | 'reviewer'> & {
  readonly note: string;
  readonly passes: boolean;
}): Writes['POST /labels']['body'] {
  return {
    scorer: queue.scorer,
    passes,
    note,
    ...(traceId === '' ? { sessionId } : { traceId }),
    ...(spanId === '' ? {} : { spanId }),
    ...(reviewer === undefined ? {} : { reviewer }),
  };
}

/** Listens for keys that mean something now, unless the reader writes or the shortcut of another page takes them. */
function useKeys(find: (key: string) => LabelAction | undefined, act: (action: LabelAction) => void): void {
  // With the paint, not after it: a key that follows at once is for the target that is shown.
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const isWriting =
        event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/u.test(event.target.tagName);
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      const action = isWriting || hasModifier || event.defaultPrevented ? undefined : find(event.key);
      if (action !== undefined) {
        event.preventDefault();
        act(action);
      }
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  });
}

type Agreement = Replies['/labels/agreement'];

type Version = Agreement['versions'][number];

type Reviewers = Agreement['reviewers'][number];

/** Agreement of a scorer with the labels of people, and of people with each other. */
function AgreementTables({ scorer, since }: { readonly scorer: string; readonly since: string | undefined }) {
  const agreement = useResource(`agreement ${JSON.stringify([scorer, since])}`, (signal) =>
    read('/labels/agreement', { query: { scorer, since }, signal }),
  );
  return (
    <section aria-labelledby="agreement">
      <h2 id="agreement">Agreement with the labels</h2>
      <Loaded
        of={agreement}
        what="the agreement"
        isEmpty={({ versions }) => versions.length === 0}
        empty={<p>No target of this time has both a score and a label yet.</p>}
      >
        {({ versions, reviewers }) => (
          <>
            <Table
              caption="Versions of the scorer, compared with people"
              columns={VERSIONS}
              rows={versions}
              keyOf={({ scorer: row, fingerprint }) => JSON.stringify([row, fingerprint])}
            />
            {reviewers.length > 0 && (
              <Table
                caption="Reviewers, compared with each other"
                columns={REVIEWERS}
                rows={reviewers}
                keyOf={({ scorer: row, left, right }) => JSON.stringify([row, left, right])}
              />
            )}
            <p class="note">
              In brackets: 95 % intervals. Sensitivity is the share of the good targets that the scorer lets
              pass, specificity the share of the bad ones that it lets fail.
            </p>
          </>
        )}
      </Loaded>
    </section>
  );
}
