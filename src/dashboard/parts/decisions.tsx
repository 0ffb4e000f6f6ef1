import { describeDecision, type Decision } from '../view-models/decisions.ts';
import type { TraceDetail } from '../view-models/waterfall.ts';
import { Table, type Column } from './table.tsx';
import { Text, Time } from './text.tsx';

const COLUMNS: readonly Column<Decision>[] = [
  {
    name: 'Outcome',
    cell: (decision) => {
      const { sign, words } = describeDecision(decision);
      return `${sign} ${words}`;
    },
  },
  { name: 'Rule', cell: ({ rule }) => <Text of={rule === '*' ? 'every rule' : rule} /> },
  { name: 'Scorer', cell: ({ scorer }) => <Text of={scorer === '*' ? 'all of the rule' : scorer} /> },
  { name: 'Reason', cell: ({ reason }) => <Text of={reason === '' ? '–' : reason} /> },
  { name: 'Sampled', cell: (decision) => describeDecision(decision).sampling },
  { name: 'Next attempt (UTC)', cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} /> },
  {
    name: 'Decided (UTC)',
    cell: (decision) => <Time at={'decidedAt' in decision ? decision.decidedAt : null} />,
  },
];

/** Says why each scorer of each rule scored the trace, or did not. */
export function Decisions({ decisions }: { readonly decisions: readonly Decision[] }) {
  return decisions.length === 0 ? (
    <p>No rule has decided yet.</p>
  ) : (
    <Table
      caption="Why was this scored, or not?"
      columns={COLUMNS}
      rows={decisions}
      keyOf={(decision) =>
        JSON.stringify([decision.rule, decision.scorer, 'targetId' in decision ? decision.targetId : ''])
      }
    />
  );
}

/** Warnings of the reading of a trace. */
export function ReadingNotes({ reading }: Pick<TraceDetail, 'reading'>) {
  if (reading === null) {
    return <p>The spans of this trace are not stored any more.</p>;
  }
  const warnings = reading.runs.flatMap((run) => run.warnings);
  return (
    <>
      {reading.notScorable !== null && (
        <p class="bad">
          – Not scorable ({reading.notScorable.code}): <Text of={reading.notScorable.detail} />
        </p>
      )}
      {warnings.length > 0 && (
        <>
          <h3>Warnings of the reading</h3>
          <ul>
            {warnings.map(({ code, spanId, detail }) => (
              <li key={`${code} ${spanId} ${detail}`}>
                <code>{code}</code>: <Text of={detail} />
              </li>
            ))}
          </ul>
        </>
      )}
      {reading.notUnderstood.length > 0 && (
        <>
          <h3>Spans that were not understood</h3>
          <ul>
            {reading.notUnderstood.map(({ spanId, name, reason }) => (
              <li key={spanId}>
                <Text of={name} />: <Text of={reason} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
