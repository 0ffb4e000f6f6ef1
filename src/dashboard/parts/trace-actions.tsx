import { useState } from 'preact/hooks';
import type { Writes } from '../api-types.ts';
import { ProblemError, read, write } from '../client.ts';
import { useResource } from '../resource.ts';
import { mayUse } from '../session.ts';
import { formatScore } from '../view-models/format.ts';
import { Text } from './text.tsx';

interface TraceActionsProps {
  readonly traceId: string;
  readonly onDone: () => void;
}

/** Buttons that label a trace and score it now; each opens its form. */
export function TraceActions({ traceId, onDone }: TraceActionsProps) {
  const [form, setForm] = useState<'label' | 'score' | undefined>();
  const [outcome, setOutcome] = useState('');
  const act = async (action: () => Promise<string>): Promise<void> => {
    setOutcome('…');
    try {
      setOutcome(await action());
      onDone();
    } catch (error) {
      setOutcome(error instanceof ProblemError ? `Not done: ${error.problem.detail}` : String(error));
    }
  };
  const toggle = (name: 'label' | 'score') => (
    <button
      type="button"
      aria-expanded={form === name}
      onClick={() => setForm(form === name ? undefined : name)}
    >
      {name === 'label' ? 'Label' : 'Score now'}
    </button>
  );
  return (
    <>
      {mayUse('label') && toggle('label')}
      {mayUse('admin') && toggle('score')}
      {form !== undefined && <ActionForm key={form} form={form} traceId={traceId} act={act} />}
      <span role="status">
        <Text of={outcome} />
      </span>
    </>
  );
}

interface ActionFormProps {
  readonly form: 'label' | 'score';
  readonly traceId: string;
  readonly act: (action: () => Promise<string>) => Promise<void>;
}

function ActionForm({ form, traceId, act }: ActionFormProps) {
  const [scorer, setScorer] = useState('');
  const [note, setNote] = useState('');
  const scorers = useResource('scorers', (signal) => read('/scorers', { signal }));
  const items = scorers.kind === 'ready' ? scorers.data.items : [];
  const names = form === 'score' ? items.map((each) => each.scorer) : items.flatMap(({ rows }) => rows);
  const chosen = scorer === '' ? (names[0] ?? '') : scorer;
  const label = (passes: boolean) => async () => {
    await write('POST /labels', { scorer: chosen, traceId, passes, note });
    return `Labelled: it ${passes ? 'passes' : 'fails'} ${chosen}.`;
  };
  const scoreNow = async (): Promise<string> =>
    describeResult(await write('POST /score', { traceId, scorers: [chosen], write: true }));
  return (
    <div class="row action-form">
      <label>
        Scorer{' '}
        <select value={chosen} onChange={({ currentTarget }) => setScorer(currentTarget.value)}>
          {names.map((name) => (
            <option key={name} value={name} selected={name === chosen}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {form === 'label' ? (
        <>
          <label>
            Note <input value={note} onInput={({ currentTarget }) => setNote(currentTarget.value)} />
          </label>
          <button type="button" onClick={() => void act(label(true))}>
            Passes
          </button>
          <button type="button" onClick={() => void act(label(false))}>
            Fails
          </button>
        </>
      ) : (
        <button type="button" disabled={chosen === ''} onClick={() => void act(scoreNow)}>
          Score and store
        </button>
      )}
    </div>
  );
}

function describeResult({ scores, decisions }: Writes['POST /score']['reply']): string {
  return [
    ...scores.map(({ scorer, score, label }) => `${scorer}: ${formatScore(score)} ${label}`.trim()),
    ...decisions
      .filter(({ status }) => status !== 'scored')
      .map(({ scorer, status, reason }) => `${scorer}: ${status.replaceAll('_', ' ')}, ${reason}`),
  ].join('; ');
}
