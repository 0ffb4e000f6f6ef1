import { useState } from 'preact/hooks';
import type { Item, Writes } from '../api-types.ts';
import { describeFailure, ProblemError, read, write } from '../client.ts';
import { useRead } from '../resource.ts';
import { frame } from '../router.ts';
import { mayUse } from '../session.ts';
import { SEEN_KINDS } from '../../domain/score.ts';
import { formatScore } from '../view-models/format.ts';
import {
  ANSWER_TYPES,
  buildAsked,
  findFault,
  judgeYaml,
  listChanges,
  NEW_JUDGE,
  type JudgeDraft,
} from '../view-models/own-judge.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import type { Rule } from '../view-models/rule-yaml.ts';
import { Choice } from './choice.tsx';
import { CopyButton } from './copy-button.tsx';
import { applyChanges, OutcomeView, useOutcome } from './outcome.tsx';
import { Table, type Column } from './table.tsx';
import { Text, Time } from './text.tsx';

/** Runs on which a question is tried where nobody names one. */
const TRIED_RUNS = 5;

type Run = Item<'/traces'>;

/** A run with what the judge said about it; the reply is undefined while it is asked. */
interface Trial {
  readonly run: Run;
  readonly reply: Writes['POST /score']['reply'] | string | undefined;
}

interface OwnJudgeProps {
  readonly rules: readonly Rule[];
  readonly onApplied: () => void;
}

/** Form of a judge of one's own: a question, its kind of answer, a trial on runs, and the way into the configuration. */
export function OwnJudge({ rules, onApplied }: OwnJudgeProps) {
  const [draft, setDraft] = useState(NEW_JUDGE);
  const { outcome, work } = useOutcome();
  const fault = findFault(draft);
  const yaml = judgeYaml(draft);
  const apply = (): void =>
    void work('Applying …', async () => {
      const done = await applyChanges(listChanges(draft, rules));
      if (done.kind === 'told') {
        onApplied();
      }
      return done;
    });
  return (
    <section class="card" aria-labelledby="own-judge">
      <h2 id="own-judge">
        A judge of your own <span class="quiet">· a question about each run</span>
      </h2>
      <div class="split">
        <div>
          <Fields draft={draft} rules={rules} onChange={setDraft} />
          <Trials draft={draft} />
        </div>
        <div>
          <pre>{yaml}</pre>
          <p class="row">
            {mayUse('admin') && (
              <button
                type="button"
                class="primary"
                disabled={fault !== undefined || outcome.kind === 'working'}
                onClick={apply}
              >
                Put in force
              </button>
            )}
            <CopyButton text={yaml} what="the judge" />
            {fault !== undefined && <span class="note">To put it in force, {fault}.</span>}
          </p>
          <OutcomeView outcome={outcome} yaml={yaml} />
        </div>
      </div>
    </section>
  );
}

interface FieldsProps {
  readonly draft: JudgeDraft;
  readonly rules: readonly Rule[];
  readonly onChange: (draft: JudgeDraft) => void;
}

function Fields({ draft, rules, onChange }: FieldsProps) {
  const judges = useRead('/judges');
  const names = judges.kind === 'ready' ? judges.data.items.map(({ judge }) => judge) : [];
  const set = (change: Partial<JudgeDraft>): void => onChange({ ...draft, ...change });
  return (
    <>
      <label class="note-field">
        Question
        <textarea
          rows={2}
          value={draft.ask}
          placeholder="Does the answer promise a refund later than 14 days after purchase?"
          onInput={({ currentTarget }) => set({ ask: currentTarget.value })}
        />
      </label>
      <p class="choices">
        <Choice
          label="Answer"
          value={draft.type}
          choices={ANSWER_TYPES}
          onChoice={(value) => set({ type: ANSWER_TYPES.find(([each]) => each === value)?.[0] ?? 'boolean' })}
        />
        {draft.type === 'boolean' && (
          <Choice
            label="Good is"
            value={String(draft.good)}
            choices={[
              ['true', 'yes'],
              ['false', 'no'],
            ]}
            onChoice={(value) => set({ good: value === 'true' })}
          />
        )}
        <Choice
          label="Judge"
          value={draft.judge}
          choices={[['', 'the default one'], ...names]}
          onChoice={(judge) => set({ judge })}
        />
      </p>
      <Answers draft={draft} set={set} />
      <Seen draft={draft} set={set} />
      <Place draft={draft} set={set} rules={rules} />
    </>
  );
}

interface FieldProps {
  readonly draft: JudgeDraft;
  readonly set: (change: Partial<JudgeDraft>) => void;
}

/** Name of the judge, and the rule that runs it. */
function Place({ draft, set, rules }: FieldProps & Pick<FieldsProps, 'rules'>) {
  return (
    <p class="choices">
      <label class="choice">
        Name
        <input
          value={draft.name}
          placeholder="refund-policy"
          autocomplete="off"
          onInput={({ currentTarget }) => set({ name: currentTarget.value.trim() })}
        />
      </label>
      <Choice
        label="In the rule"
        value={draft.rule}
        choices={[['', 'none yet'], ...rules.map(({ rule }) => rule)]}
        onChoice={(rule) => set({ rule })}
      />
    </p>
  );
}

/** Levels or options; a question with yes or no has none. */
function Answers({ draft: { type, choices }, set }: FieldProps) {
  return type === 'boolean' ? null : (
    <label class="note-field">
      {type === 'score' ? 'Levels, the worst first, one a line' : 'Options, one a line'}
      <textarea
        rows={4}
        value={choices[type]}
        onInput={({ currentTarget }) => set({ choices: { ...choices, [type]: currentTarget.value } })}
      />
    </label>
  );
}

function Seen({ draft: { sees }, set }: FieldProps) {
  return (
    <fieldset class="seen">
      <legend>The judge sees</legend>
      {SEEN_KINDS.map((kind) => (
        <label key={kind} class="choice">
          <input
            type="checkbox"
            checked={sees.includes(kind)}
            onChange={() =>
              set({ sees: SEEN_KINDS.filter((each) => (each === kind) !== sees.includes(each)) })
            }
          />
          {kind.replaceAll('-', ' ')}
        </label>
      ))}
    </fieldset>
  );
}

/** Trial of a question on runs: nothing of it is stored. */
function Trials({ draft }: { readonly draft: JudgeDraft }) {
  const [traceId, setTraceId] = useState('');
  const [trials, setTrials] = useState<readonly Trial[]>([]);
  const [fault, setFault] = useState('');
  const ask = async (): Promise<void> => {
    setFault('');
    try {
      const query = traceId === '' ? frame.value : { traceId };
      const { items } = await read('/traces', { query: { ...query, limit: TRIED_RUNS } });
      setFault(items.length === 0 ? 'No such run: choose a longer range, or another trace.' : '');
      const open = items.map((run): Trial => ({ run, reply: undefined }));
      setTrials(open);
      for (const [index, { run }] of open.entries()) {
        const reply = await askAbout(run, draft);
        setTrials((before) => before.with(index, { run, reply }));
      }
    } catch (error) {
      setFault(describeFailure(error));
    }
  };
  return mayUse('admin') ? (
    <>
      <p class="choices">
        <label class="choice">
          On the trace
          <input
            value={traceId}
            placeholder={`the ${TRIED_RUNS} newest`}
            autocomplete="off"
            onInput={({ currentTarget }) => setTraceId(currentTarget.value.trim())}
          />
        </label>
        <button
          type="button"
          disabled={draft.ask.trim() === '' || trials.some(({ reply }) => reply === undefined)}
          onClick={() => void ask()}
        >
          Try it
        </button>
        <span role="status">
          <Text of={fault} />
        </span>
      </p>
      {trials.length > 0 && (
        <Table
          caption="Answers of the judge"
          columns={TRIAL_COLUMNS}
          rows={trials}
          keyOf={({ run }) => `${run.tenant} ${run.traceId}`}
        />
      )}
    </>
  ) : null;
}

async function askAbout({ traceId }: Run, draft: JudgeDraft): Promise<NonNullable<Trial['reply']>> {
  try {
    return await write('POST /score', { traceId, ask: buildAsked(draft), write: false });
  } catch (error) {
    if (error instanceof ProblemError) {
      return error.problem.detail;
    }
    throw error;
  }
}

const TRIAL_COLUMNS: readonly Column<Trial>[] = [
  {
    name: 'Run',
    cell: ({ run }) => (
      <>
        <a href={tracePath(run)} data-row-link>
          <Time at={run.startedAt} />
        </a>
        <small class="below">
          <Text of={run.question ?? ''} />
        </small>
        <span class="two-lines">
          <Text of={run.answer ?? ''} />
        </span>
      </>
    ),
  },
  { name: 'Answer of the judge', cell: ({ reply }) => <Reply reply={reply} /> },
];

function Reply({ reply }: Pick<Trial, 'reply'>) {
  if (reply === undefined || typeof reply === 'string') {
    return <Text of={reply ?? 'asking …'} />;
  }
  const [score] = reply.scores;
  return score === undefined ? (
    <Text of={reply.decisions.map(({ status, reason }) => `${status}: ${reason}`).join('; ')} />
  ) : (
    <>
      <b>
        <Text of={score.label || formatScore(score.score)} />
      </b>{' '}
      {score.label !== '' && formatScore(score.score)}
      <small class="below">
        <Text of={score.reason} />
      </small>
    </>
  );
}
