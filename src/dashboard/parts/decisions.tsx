import { describeDecision, type Decision } from '../view-models/decisions.ts';
import type { TraceDetail } from '../view-models/waterfall.ts';
import { Text, Time } from './text.tsx';

/** Says why each scorer of each rule scored the trace, or did not: a sentence each. */
export function Decisions({ decisions }: { readonly decisions: readonly Decision[] }) {
  return decisions.length === 0 ? (
    <p>No rule has decided yet.</p>
  ) : (
    <ul class="plain decisions" aria-label="Decisions">
      {decisions.map((decision) => {
        const { sign, sentence } = describeDecision(decision);
        return (
          <li
            key={JSON.stringify([
              decision.rule,
              decision.scorer,
              'targetId' in decision ? decision.targetId : '',
            ])}
          >
            <span aria-hidden="true">{sign}</span> <Text of={sentence} />{' '}
            <span class="quiet small">
              {decision.nextAttemptAt !== null && (
                <>
                  It is tried again <Time at={decision.nextAttemptAt} />.{' '}
                </>
              )}
              {'decidedAt' in decision && <Time at={decision.decidedAt} />}
            </span>
          </li>
        );
      })}
    </ul>
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
      <Notes title="Warnings of the reading" notes={warnings.map(({ code, detail }) => [code, detail])} />
      <Notes
        title="Spans that were not understood"
        notes={reading.notUnderstood.map(({ name, reason }) => [name, reason])}
      />
    </>
  );
}

interface NotesProps {
  readonly title: string;
  readonly notes: readonly (readonly [of: string, words: string])[];
}

function Notes({ title, notes }: NotesProps) {
  return notes.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      <ul>
        {notes.map(([of, words], index) => (
          <li key={index}>
            <code>
              <Text of={of} />
            </code>
            : <Text of={words} />
          </li>
        ))}
      </ul>
    </>
  );
}
