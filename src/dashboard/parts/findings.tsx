import { useState } from 'preact/hooks';
import type { Replies } from '../api-types.ts';
import { read } from '../client.ts';
import { useResource } from '../resource.ts';
import {
  buildFindings,
  findEvidence,
  verdictSign,
  type Claim,
  type FindingGroup,
} from '../view-models/findings.ts';
import { formatDuration, formatNumber, formatUsd } from '../view-models/format.ts';
import type { SpanItem, TraceDetail } from '../view-models/waterfall.ts';
import { Loaded } from './loaded.tsx';
import { Score } from './score.tsx';
import { LongText, Text } from './text.tsx';

interface FindingsProps {
  readonly trace: Pick<TraceDetail, 'scores' | 'spans'>;
  /** Id of the selected claim; '' for none. */
  readonly selected: string;
  readonly onSelect: (claim: Claim) => void;
}

/** Scores with their claims; a selected claim shows its evidence. */
export function Findings({ trace, selected, onSelect }: FindingsProps) {
  const groups = buildFindings(trace.scores);
  if (groups.length === 0) {
    return <p>This trace has no scores. The tab Decisions says why.</p>;
  }
  return (
    <>
      {groups.map((group) => (
        <Group
          key={group.score.scoreId}
          group={group}
          spans={trace.spans}
          selected={selected}
          onSelect={onSelect}
        />
      ))}
    </>
  );
}

interface GroupProps extends Omit<FindingsProps, 'trace'> {
  readonly group: FindingGroup;
  readonly spans: readonly SpanItem[];
}

function Group({ group: { score, claims }, spans, selected, onSelect }: GroupProps) {
  const title = `finding-${score.scoreId}`;
  const claim = claims.find(({ id }) => id === selected);
  return (
    <section class="finding" aria-labelledby={title}>
      <h3 id={title}>
        <Text of={score.scorer} /> <Score {...score} />
      </h3>
      {score.reason !== '' && <LongText of={score.reason} />}
      <p class="note">
        <Text of={describeMaker(score)} />
      </p>
      {claims.length > 0 && (
        <ul class="claims">
          {claims.map((each) => (
            <ClaimLine key={each.id} claim={each} isSelected={each.id === selected} onSelect={onSelect} />
          ))}
        </ul>
      )}
      {claim !== undefined && <EvidenceOf claim={claim} spans={spans} />}
      <JudgeCalls scoreId={score.scoreId} calls={score.judgeCalls} />
    </section>
  );
}

function describeMaker(score: FindingGroup['score']): string {
  if (score.source === 'human' || score.source === 'api') {
    return score.source === 'human' ? 'Made by a person.' : 'Sent by another program.';
  }
  if (score.judgeModel === '') {
    return `Made by code, version ${score.scorerVersion}, in ${formatDuration(score.durationMs)}.`;
  }
  return [
    `Made by the judge ${score.judgeModel}`,
    `prompt ${score.promptVersion}`,
    `${formatNumber(score.judgeCalls)} ${score.judgeCalls === 1 ? 'call' : 'calls'}`,
    `cost ${formatUsd(score.costUsd)}`,
    formatDuration(score.durationMs),
  ].join(' · ');
}

interface ClaimLineProps {
  readonly claim: Claim;
  readonly isSelected: boolean;
  readonly onSelect: (claim: Claim) => void;
}

function ClaimLine({ claim, isSelected, onSelect }: ClaimLineProps) {
  const { tone, sign } = verdictSign(claim.verdict);
  return (
    <li>
      <button
        type="button"
        class="claim"
        aria-pressed={isSelected}
        data-row-link
        onClick={() => onSelect(claim)}
      >
        <span class={`verdict ${tone}`}>
          {sign} <Text of={claim.verdict} />
        </span>{' '}
        <Text of={claim.statement} />
        {claim.reason !== '' && (
          <small>
            {' '}
            <Text of={claim.reason} />
          </small>
        )}
      </button>
    </li>
  );
}

function EvidenceOf({ claim, spans }: { readonly claim: Claim; readonly spans: readonly SpanItem[] }) {
  const span = spans.find(({ spanId }) => spanId === claim.spanId);
  const evidence = span === undefined ? undefined : findEvidence(claim.quote, span);
  return (
    <section class="evidence" aria-label="Evidence" aria-live="polite">
      <h4>
        Evidence
        {claim.source !== '' && ` from ${claim.source}`}
        {span !== undefined && (
          <>
            {' '}
            in the step <Text of={span.name} />
          </>
        )}
        {evidence !== undefined && (
          <>
            , <Text of={evidence.place} />
          </>
        )}
      </h4>
      {evidence === undefined ? (
        <WithoutPlace claim={claim} hasSpan={span !== undefined} />
      ) : (
        <pre>
          <Text of={evidence.before} />
          <mark>
            <Text of={evidence.quote} />
          </mark>
          <Text of={evidence.after} />
        </pre>
      )}
    </section>
  );
}

function WithoutPlace({ claim, hasSpan }: { readonly claim: Claim; readonly hasSpan: boolean }) {
  if (claim.quote !== '') {
    return (
      <blockquote>
        <Text of={claim.quote} />
      </blockquote>
    );
  }
  return (
    <p>
      {hasSpan
        ? 'The scorer names the step, and no quote of it.'
        : 'The scorer names no step as its evidence.'}
    </p>
  );
}

/** Calls of the judge, which are read when the reader opens them. */
function JudgeCalls({ scoreId, calls }: { readonly scoreId: string; readonly calls: number }) {
  const [isOpen, setOpen] = useState(false);
  return calls === 0 ? null : (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What the judge was asked, and what it replied</summary>
      {isOpen && <CallList scoreId={scoreId} />}
    </details>
  );
}

type JudgeCall = Replies['/scores/{scoreId}']['judgeCalls'][number];

function CallList({ scoreId }: { readonly scoreId: string }) {
  const score = useResource(scoreId, (signal) => read('/scores/{scoreId}', { params: { scoreId }, signal }));
  return (
    <Loaded
      of={score}
      what="the calls of the judge"
      isEmpty={({ judgeCalls }) => judgeCalls.length === 0}
      empty={<p>The calls are not stored any more.</p>}
    >
      {({ judgeCalls }) =>
        judgeCalls.map((call) => <Call key={`${call.calledAt} ${call.step}`} call={call} />)
      }
    </Loaded>
  );
}

function Call({ call }: { readonly call: JudgeCall }) {
  return (
    <section class="call">
      <h4>
        <Text of={call.step} />: {call.status === 'success' ? '✓' : '✗'} {call.status},{' '}
        <Text of={call.model} />, {formatDuration(call.latencyMs)}, {formatUsd(call.costUsd)}
      </h4>
      {call.error !== '' && <LongText of={call.error} />}
      <h5>Prompt</h5>
      <LongText of={call.prompt} />
      <h5>Reply</h5>
      <LongText of={call.reply} />
    </section>
  );
}
