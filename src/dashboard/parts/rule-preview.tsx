import { useState } from 'preact/hooks';
import { ProblemError, write } from '../client.ts';
import {
  describeEstimate,
  describeFirings,
  describeVolume,
  listNotUnderstood,
  listVerdicts,
  type Preview,
  type PreviewRow,
} from '../view-models/estimate.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { formatScore, formatUsd } from '../view-models/format.ts';
import { visibleText } from '../view-models/visible-text.ts';
import { Table, type Column } from './table.tsx';
import { Text } from './text.tsx';

type State =
  | { readonly kind: 'none' | 'asking' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'ready';
      readonly preview: Preview;
    };

/** Shows the preview of a rule over the last day. Verdicts cost money, so a button of their own asks for them. */
export function RulePreview({ rule }: { readonly rule: string }) {
  const [state, setState] = useState<State>({ kind: 'none' });
  const ask = async (sample: number): Promise<void> => {
    setState({ kind: 'asking' });
    try {
      setState({ kind: 'ready', preview: await write('POST /preview', { rule, last: '24h', sample }) });
    } catch (error) {
      setState({ kind: 'failed', why: error instanceof ProblemError ? error.problem.detail : String(error) });
    }
  };
  const isAsking = state.kind === 'asking';
  return (
    <div>
      <p>
        <button type="button" disabled={isAsking} onClick={() => void ask(0)}>
          Preview volume and cost
          <span class="unseen"> of {visibleText(rule)}</span>
        </button>{' '}
        <button type="button" disabled={isAsking} onClick={() => void ask(10)}>
          Preview with 10 verdicts
          <span class="unseen"> of {visibleText(rule)}</span>
        </button>{' '}
        <small>Of the last 24 hours. Verdicts ask the judges, and count in the budgets.</small>
      </p>
      <p role="status">
        {isAsking && 'Reading …'}
        {state.kind === 'failed' && <Text of={`No preview: ${state.why}`} />}
      </p>
      {state.kind === 'ready' && <Shown preview={state.preview} />}
    </div>
  );
}

function Shown({ preview }: { readonly preview: Preview }) {
  const { rule, estimate, monitors, isComplete, costUsd } = preview;
  const rows = listVerdicts(preview);
  return (
    <>
      <p>
        <Text of={describeVolume(preview)} />
        {!isComplete && ' There was no time to list all of them: the numbers are too small.'}
      </p>
      <p>
        <Text of={describeEstimate(estimate)} />
      </p>
      <ul>
        {monitors.map((monitor) => (
          <li key={`${monitor.alert} ${monitor.series}`}>
            <Text of={`${monitor.alert} on ${monitor.series} ${describeFirings(monitor)}`} />
          </li>
        ))}
        {monitors.length === 0 && <li>No monitor watches these scorers.</li>}
        {listNotUnderstood(preview).map((text) => (
          <li key={text}>
            Not understood: <Text of={text} />
          </li>
        ))}
      </ul>
      {rows.length > 0 && (
        <>
          <Table
            caption={`Verdicts of ${rule.name}`}
            columns={[rule.target === 'session' ? SESSION : TRACE, ...COLUMNS]}
            rows={rows}
            keyOf={({ tenant, traceId, targetId, scorer }) => `${tenant} ${traceId} ${targetId} ${scorer}`}
          />
          <p>The verdicts cost {formatUsd(costUsd)}.</p>
        </>
      )}
    </>
  );
}

const TRACE: Column<PreviewRow> = {
  name: 'Trace',
  cell: ({ tenant, traceId }) => (
    <a href={tracePath({ tenant, traceId })}>
      <code>{traceId.slice(0, 8)}</code>
    </a>
  ),
};

const SESSION: Column<PreviewRow> = {
  name: 'Session',
  cell: ({ tenant, sessionId }) => (
    <a href={sessionPath({ tenant, sessionId })}>
      <Text of={sessionId} />
    </a>
  ),
};

const COLUMNS: readonly Column<PreviewRow>[] = [
  { name: 'Run', cell: ({ run }) => <Text of={run} /> },
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer} /> },
  {
    name: 'Verdict',
    cell: ({ score, status, label, reason }) => (
      <Text of={[score === null ? status : formatScore(score), label, reason].filter(Boolean).join(' · ')} />
    ),
  },
  {
    name: 'Stored',
    cell: ({ stored }) =>
      stored === null
        ? 'none'
        : `${formatScore(stored.score)}${stored.isSameScorer ? '' : ' (another version)'}`,
  },
];
