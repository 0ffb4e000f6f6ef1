import { buildFindings, claimsOf, verdictSign, type Claim } from '../view-models/findings.ts';
import { formatDuration } from '../view-models/format.ts';
import type { ScoreItem, WaterfallRow } from '../view-models/waterfall.ts';
import { LongText, Text, Time } from './text.tsx';

interface StepSummaryProps {
  readonly row: WaterfallRow;
  readonly scores: readonly ScoreItem[];
  readonly onSelect: (claim: Claim) => void;
}

/** The selected step: its facts, its attributes, and the claims that cite it. */
export function StepSummary({ row: { span }, scores, onSelect }: StepSummaryProps) {
  const claims = claimsOf(buildFindings(scores), span.spanId);
  return (
    <section class="step-summary" aria-label="Selected step">
      <h3>
        Selected step: <Text of={span.name} />
      </h3>
      <p>
        {span.kind} · <Text of={span.service} /> · <Time at={span.startedAt} /> UTC ·{' '}
        {formatDuration(span.durationMs)} ·{' '}
        {span.status === 'error' ? <span class="bad">✗ error</span> : span.status}
      </p>
      {span.statusMessage !== '' && <LongText of={span.statusMessage} />}
      {claims.length > 0 && (
        <>
          <h4>Claims that cite this step</h4>
          <ul class="claims">
            {claims.map((claim) => (
              <li key={claim.id}>
                <button type="button" class="claim" onClick={() => onSelect(claim)}>
                  {verdictSign(claim.verdict).sign} <Text of={claim.verdict} />: <Text of={claim.statement} />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>Attributes ({Object.keys(span.attributes).length})</summary>
        {span.truncated && <p class="note">Long texts are cut. The tab Raw has the span whole.</p>}
        <dl class="attributes">
          {Object.entries(span.attributes).map(([name, value]) => (
            <div key={name}>
              <dt>
                <Text of={name} />
              </dt>
              <dd>
                <LongText of={value} />
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}
