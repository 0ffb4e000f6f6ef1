import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import {
  describeEstimate,
  describeFirings,
  describeVolume,
  listNotUnderstood,
  listVerdicts,
  type Preview,
  type PreviewRow,
} from '../view-models/estimate.ts';
import { formatScore, formatUsd } from '../view-models/format.ts';
import { Table, type Column } from './table.tsx';
import { Text, TextLink } from './text.tsx';

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
  cell: ({ tenant, sessionId }) => <TextLink to={sessionPath({ tenant, sessionId })} of={sessionId} />,
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

/** Result of a preview: what a rule would score, for which money, with its verdicts. */
export function PreviewResult({ preview }: { readonly preview: Preview }) {
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
