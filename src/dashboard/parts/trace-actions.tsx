import { useState } from 'preact/hooks';
import type { Writes } from '../api-types.ts';
import { write } from '../client.ts';
import { type Order, useOrders } from '../orders.tsx';
import { useRead } from '../resource.ts';
import { mayUse } from '../session.ts';
import { formatScore } from '../view-models/format.ts';
import { Choice } from './choice.tsx';

interface TraceActionsProps {
  readonly traceId: string;
  readonly onDone: () => void;
}

/** Buttons that label a trace and score it now; each opens its form. */
export function TraceActions({ traceId, onDone }: TraceActionsProps) {
  const [form, setForm] = useState<'label' | 'score' | undefined>();
  const { outcome, order } = useOrders(onDone, '…');
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
      {form !== undefined && <ActionForm key={form} form={form} traceId={traceId} order={order} />}
      {outcome}
    </>
  );
}

interface ActionFormProps {
  readonly form: 'label' | 'score';
  readonly traceId: string;
  readonly order: Order;
}

function ActionForm({ form, traceId, order }: ActionFormProps) {
  const [scorer, setScorer] = useState('');
  const [note, setNote] = useState('');
  const scorers = useRead('/scorers');
  const items = scorers.kind === 'ready' ? scorers.data.items : [];
  const names = form === 'score' ? items.map((each) => each.scorer) : items.flatMap(({ rows }) => rows);
  const chosen = scorer === '' ? (names[0] ?? '') : scorer;
  const label = (passes: boolean): void =>
    order(
      () => write('POST /labels', { scorer: chosen, traceId, passes, note }),
      `Labelled: it ${passes ? 'passes' : 'fails'} ${chosen}.`,
    );
  const scoreNow = (): void =>
    order(() => write('POST /score', { traceId, scorers: [chosen], write: true }), describeResult);
  return (
    <div class="row action-form">
      <Choice label="Scorer" value={chosen} choices={names} onChoice={setScorer} />
      {form === 'label' ? (
        <>
          <label>
            Note <input value={note} onInput={({ currentTarget }) => setNote(currentTarget.value)} />
          </label>
          <button type="button" onClick={() => label(true)}>
            Passes
          </button>
          <button type="button" onClick={() => label(false)}>
            Fails
          </button>
        </>
      ) : (
        <button type="button" disabled={chosen === ''} onClick={scoreNow}>
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
