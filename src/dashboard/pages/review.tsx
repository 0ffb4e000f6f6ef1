import { useSignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Item, Writes } from '../api-types.ts';
import { describeFailure, ProblemError, read, write } from '../client.ts';
import { isWriting } from '../keyboard.ts';
import type { QueueStrategy } from '../../domain/agreement/label-agreement.ts';
import { Choice } from '../parts/choice.tsx';
import { Checked } from '../parts/checked.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Part, RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { Score } from '../parts/score.tsx';
import { LongText, Text, Time } from '../parts/text.tsx';
import { type Resource, useRead, useResource } from '../resource.ts';
import { adjustQuery, frame, query } from '../router.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { formatDirection, formatNumber } from '../view-models/format.ts';
import {
  chooseScorer,
  findLabelAction,
  LABEL_KEYS,
  listActions,
  NO_REVIEW,
  noteLabel,
  readProgress,
  readTexts,
  shownTarget,
  skip,
  takeBatch,
  undo,
  type LabelAction,
  type Review as Work,
  type ReviewQueue,
  type ReviewTarget,
} from '../view-models/review.ts';

type Stored = Writes['POST /labels']['reply'];

/** Answers of a batch. */
const BATCH = 10;

/** Scorers whose open answers are counted for the choice: those that ask a judge or are a user's own, else all. */
const MOST_COUNTED = 20;

/** Answers that a reviewer may ask for, with their names. */
const ANSWERS: readonly (readonly [QueueStrategy, string])[] = [
  ['stratified', 'which tell most'],
  ['second', 'with one label'],
  ['adjudicate', 'with divided labels'],
];

interface ScorerToReview {
  readonly scorer: string;
  /** Answers without a label; undefined where they were not counted. */
  readonly left: number | undefined;
  readonly item: Item<'/scorers'> | undefined;
}

/** The reviewer's queue: what the scorer thinks is hidden until the label is stored. */
export function Review() {
  const { since, agent, environment } = frame.value;
  const reviewer = query.value.get('reviewer') ?? undefined;
  const choice: QueueChoice = { since: since?.[0] ?? '', agent, environment, reviewer };
  const asked = query.value.get('scorer') ?? undefined;
  const [strategy] = ANSWERS.find(([name]) => name === query.value.get('strategy')) ?? [
    'stratified' as const,
  ];
  const choices = useResource(
    `review choices ${JSON.stringify(choice)}`,
    (signal) => readChoices(choice, asked, signal),
    { isLive: false },
  );
  return (
    <Page title="Review">
      <Loaded
        of={choices}
        what="the scorers"
        isEmpty={(all) => all.length === 0}
        empty={<p>Nothing is left to label: no scorer has scores in this time. Choose a longer one.</p>}
      >
        {(all) => {
          const scorer = asked ?? chooseScorer(all) ?? '';
          const chosen = all.find((each) => each.scorer === scorer);
          return (
            <>
              <div class="row">
                <Choice
                  label="Scorer"
                  value={scorer}
                  choices={all.map(({ scorer: name, left }) => [
                    name,
                    left === undefined ? name : `${name}, ${formatNumber(left)} to label`,
                  ])}
                  onChoice={(name) => adjustQuery({ scorer: name })}
                />
                <Choice
                  label="Answers"
                  value={strategy}
                  choices={ANSWERS}
                  onChoice={(name) => adjustQuery({ strategy: name })}
                />
              </div>
              <Reviewing
                key={JSON.stringify([scorer, strategy, choice])}
                strategy={strategy}
                scorer={scorer}
                item={chosen?.item}
                choice={choice}
              />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** Choice of the answers of a queue, beside their scorer. */
interface QueueChoice {
  readonly since: string;
  readonly agent: readonly string[] | undefined;
  readonly environment: readonly string[] | undefined;
  readonly reviewer: string | undefined;
}

/** Reads how many answers of each scorer have no label yet. A token that may only label sees the scorer of the address alone. */
async function readChoices(
  choice: QueueChoice,
  asked: string | undefined,
  signal: AbortSignal,
): Promise<ScorerToReview[]> {
  const known = await read('/scorers', { signal }).catch((error: unknown) => {
    if (asked !== undefined && error instanceof ProblemError && error.problem.status === 403) {
      return { items: [] };
    }
    throw error;
  });
  const rows = known.items.flatMap((item) => item.rows.map((scorer) => ({ scorer, item })));
  const judged = rows.filter(({ item }) => item.kind !== 'code');
  const toCount = (judged.length > 0 ? judged : rows).slice(0, MOST_COUNTED).map(({ scorer }) => scorer);
  const all = await Promise.all(
    rows.map(async ({ scorer, item }): Promise<ScorerToReview> => {
      const queue = toCount.includes(scorer)
        ? await read('/labels/queue', { query: { scorer, ...choice, limit: 1 }, signal })
        : undefined;
      return { scorer, left: queue?.left, item };
    }),
  );
  const isKnown = asked === undefined || all.some(({ scorer }) => scorer === asked);
  return isKnown ? all : [...all, { scorer: asked, left: undefined, item: undefined }];
}

interface ReviewingProps {
  readonly scorer: string;
  readonly strategy: QueueStrategy;
  readonly item: Item<'/scorers'> | undefined;
  readonly choice: QueueChoice;
}

function Reviewing({ scorer, strategy, item, choice }: ReviewingProps) {
  const queue = useRead(
    '/labels/queue',
    { query: { scorer, strategy, ...choice, limit: BATCH } },
    { isLive: false },
  );
  const { reviewer } = choice;
  const { work, note, fault, last, act, showSkipped } = useWork({ queue, scorer, reviewer });
  const noteField = useRef<HTMLTextAreaElement>(null);
  const onAction = (action: LabelAction): void =>
    action === 'note' ? noteField.current?.focus() : act(action);
  useKeys((key) => findLabelAction(key, work.peek()), onAction);
  return (
    <Loaded of={queue} what="the queue">
      {(data) => (
        <>
          <Head queue={data} item={item} work={work.value} />
          <Desk
            work={work.value}
            onAction={onAction}
            note={note}
            noteField={noteField}
            fault={fault.value}
            last={last.value}
            onAgain={showSkipped}
          />
        </>
      )}
    </Loaded>
  );
}

interface WorkTerms {
  readonly queue: Resource<ReviewQueue>;
  readonly scorer: string;
  readonly reviewer: string | undefined;
}

/** Work on the queue. Its parts are signals, not states: a key that follows at once has to see what the key before it changed. */
function useWork({ queue, scorer, reviewer }: WorkTerms) {
  const work = useSignal<Work>(NO_REVIEW);
  const last = useSignal<{ readonly passes: boolean; readonly stored: Stored } | undefined>(undefined);
  const fault = useSignal('');
  const note = useSignal('');
  const batch = queue.kind === 'ready' && !queue.isRefreshing ? queue.data : undefined;
  useLayoutEffect(() => {
    if (batch !== undefined) {
      work.value = takeBatch(work.peek(), batch.items);
    }
  }, [batch]);
  const follow = (next: Work): void => {
    work.value = next;
    note.value = '';
    fault.value = '';
    if (next.phase === 'loading') {
      queue.reload();
    }
  };
  const store = async (target: ReviewTarget, passes: boolean): Promise<void> => {
    work.value = { ...work.peek(), phase: 'sending' };
    try {
      const body = buildLabel({ scorer, target, reviewer, note: note.peek(), passes });
      last.value = { passes, stored: await write('POST /labels', body) };
      follow(noteLabel(work.peek(), target, passes));
    } catch (error) {
      fault.value = describeFailure(error);
      work.value = { ...work.peek(), phase: 'ready' };
    }
  };
  const act = (action: Exclude<LabelAction, 'note'>): void => {
    const target = shownTarget(work.peek());
    if (action === 'undo') {
      last.value = undefined;
      follow(undo(work.peek()));
    } else if (action === 'next' && target !== undefined && !work.peek().given.has(target.targetId)) {
      fault.value = 'This answer has no label yet: choose Passes or Fails, or Skip it.';
    } else if (action === 'skip' || action === 'next') {
      follow(skip(work.peek()));
    } else if (target !== undefined) {
      void store(target, action === 'pass');
    }
  };
  const showSkipped = (): void => follow({ ...work.peek(), skipped: new Set(), phase: 'loading' });
  return { work, note, fault, last, act, showSkipped };
}

/** Shows the question, and the progress of the reviewer. */
function Head({
  queue,
  item,
  work,
}: {
  readonly queue: ReviewQueue;
  readonly item: Item<'/scorers'> | undefined;
  readonly work: Work;
}) {
  const { done, all } = readProgress(queue, work);
  return (
    <div class="review-head">
      <p class="note">
        {item !== undefined && item.measures !== null && (
          <>
            Measures <Text of={item.measures} />.{' '}
          </>
        )}
        {formatDirection(queue.higherIsBetter)}. What the scorer says is hidden until your label is stored.
      </p>
      <Checked scorer={queue.scorer} isLinked={false} />
      <p class="review-progress">
        <progress aria-label="Today" value={done} max={Math.max(all, 1)} /> {formatNumber(done)} of{' '}
        {formatNumber(all)} labelled by <Text of={queue.reviewer} />
      </p>
    </div>
  );
}

interface DeskProps {
  readonly work: Work;
  readonly onAction: (action: LabelAction) => void;
  readonly note: Signal<string>;
  readonly noteField: RefObject<HTMLTextAreaElement | null>;
  readonly fault: string;
  readonly last: { readonly passes: boolean; readonly stored: Stored } | undefined;
  /** Shows the skipped answers again. */
  readonly onAgain: () => void;
}

/** The shown answer with its evidence, and the buttons, which stay in view. */
function Desk({ work, onAction, note, noteField, fault, last, onAgain }: DeskProps) {
  const target = work.phase === 'loading' ? undefined : shownTarget(work);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = target?.targetId;
  useEffect(() => heading.current?.focus({ preventScroll: true }), [id]);
  return (
    <section aria-labelledby="target" class="desk">
      <div class="desk-bar">
        <Buttons actions={listActions(work)} onAction={onAction} />
        <NoteField field={noteField} note={note} isDisabled={target === undefined} />
        <div role="status">{last !== undefined && <Outcome {...last} />}</div>
        <p role="alert" class="bad">
          <Text of={fault} />
        </p>
      </div>
      <h2 id="target" ref={heading} tabIndex={-1}>
        {target === undefined ? (
          work.phase === 'loading' ? (
            'Loading the next answers…'
          ) : (
            '✓ Nothing is left to label for this scorer in this time.'
          )
        ) : (
          <>
            Does this answer of <Text of={target.agent} /> pass?
          </>
        )}
      </h2>
      {target === undefined ? (
        work.phase === 'ready' &&
        work.skipped.size > 0 && (
          <button type="button" onClick={onAgain}>
            Show the {formatNumber(work.skipped.size)} skipped answers again
          </button>
        )
      ) : (
        <>
          {work.given.has(target.targetId) && (
            <p class="note">
              You said “{work.given.get(target.targetId) === true ? 'passes' : 'fails'}”. Another choice
              replaces it.
            </p>
          )}
          <Content target={target} />
        </>
      )}
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
      <span class="unseen">Note (Esc leaves the field)</span>
      <textarea
        ref={field}
        rows={1}
        placeholder="Note (Esc leaves the field)"
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
      {LABEL_KEYS.map(({ key, action, does }) => (
        <button
          key={action}
          type="button"
          aria-keyshortcuts={key}
          disabled={!actions.includes(action)}
          onClick={() => onAction(action)}
        >
          {does} <kbd aria-hidden="true">{key}</kbd>
        </button>
      ))}
    </p>
  );
}

/** Outcome of the label before: whether the scorer agrees, and its reason. */
function Outcome({
  passes,
  stored: { agrees, scores },
}: {
  readonly passes: boolean;
  readonly stored: Stored;
}) {
  const words =
    agrees === null
      ? 'The scorer has no score here.'
      : agrees
        ? '✓ The scorer agrees.'
        : '≠ The scorer does not agree.';
  return (
    <details>
      <summary>
        Stored: {passes ? 'passes' : 'fails'}. <strong>{words}</strong>{' '}
        {scores.slice(0, 1).map((score) => (
          <Score key={score.scoreId} {...score} />
        ))}
      </summary>
      {scores.map((score) => (
        <div key={score.scoreId}>
          <a href={score.traceId === '' ? sessionPath(score) : tracePath(score)}>
            <Time at={score.scoredAt} />
          </a>
          {score.reason !== '' && <LongText of={score.reason} />}
        </div>
      ))}
    </details>
  );
}

function Content({ target: { tenant, run, sessionId, traceId } }: { readonly target: ReviewTarget }) {
  if (run === null) {
    return traceId === '' ? (
      <p>
        Read the session <a href={sessionPath({ tenant, sessionId })}>{sessionId}</a>.
      </p>
    ) : (
      <p>The spans of this trace are not stored any more.</p>
    );
  }
  const { question, answer, evidence } = readTexts(run);
  return (
    <>
      <div class="desk-content">
        <div>
          <h3>Question</h3>
          {question.map((part, index) => (
            <Part key={index} part={part} />
          ))}
          <h3>Answer</h3>
          {answer.length === 0 ? (
            <p>The run has no answer.</p>
          ) : (
            answer.map((part, index) => <Part key={index} part={part} />)
          )}
        </div>
        <div>
          <h3>Evidence</h3>
          {evidence.length === 0 ? (
            <p class="note">No tool was called, and no document was read.</p>
          ) : (
            evidence.map((part, index) => <Part key={index} part={part} />)
          )}
        </div>
      </div>
      <details>
        <summary>All messages of the run</summary>
        <RunMessages run={run} />
      </details>
    </>
  );
}

function buildLabel({
  scorer,
  target: { traceId, spanId, sessionId },
  reviewer,
  note,
  passes,
}: {
  readonly scorer: string;
  readonly target: ReviewTarget;
  readonly reviewer: string | undefined;
  readonly note: string;
  readonly passes: boolean;
}): Writes['POST /labels']['body'] {
  return {
    scorer,
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
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey || event.repeat;
      const action =
        isWriting(event.target) || hasModifier || event.defaultPrevented ? undefined : find(event.key);
      if (action !== undefined) {
        event.preventDefault();
        act(action);
      }
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  });
}
