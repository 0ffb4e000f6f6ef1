import { useState } from 'preact/hooks';
import type { Replies } from '../api-types.ts';
import { write } from '../client.ts';
import { useOrders } from '../orders.tsx';
import { listUnexplained } from '../../domain/score.ts';
import { useRead } from '../resource.ts';
import { mayUse } from '../session.ts';
import { markAnswer } from '../view-models/answer.ts';
import {
  addWords,
  buildFindings,
  findEvidence,
  nameTool,
  verdictSign,
  type Claim,
  type Evidence as PlacedQuote,
  type FindingGroup,
  type Words,
} from '../view-models/findings.ts';
import { isMeasure } from '../view-models/trace-list.ts';
import { readTexts } from '../view-models/messages.ts';
import { formatDuration, formatNumber, formatPercent, formatUsd } from '../view-models/format.ts';
import { showJson } from '../view-models/visible-text.ts';
import type { SpanItem, TraceDetail } from '../view-models/waterfall.ts';
import { Loaded } from './loaded.tsx';
import { Score } from './score.tsx';
import { Table, type Column } from './table.tsx';
import { LongText, Text } from './text.tsx';

interface FindingsProps {
  /** Without a reading, there is no answer to mark. */
  readonly trace: Pick<TraceDetail, 'scores' | 'spans'> & Partial<Pick<TraceDetail, 'reading'>>;
  /** Id of the chosen claim; '' for the first one. */
  readonly selected: string;
  readonly onSelect: (claim: Claim) => void;
}

/** Answer with its wrong words marked, the evidence of the chosen claim beside it, and all scores with their claims. */
export function Findings({ trace, selected, onSelect }: FindingsProps) {
  const [words, setWords] = useState<Words>(new Map());
  const groups = buildFindings(addWords(trace.scores, words));
  const addTo = (scoreId: string) => (found: FindingGroup['score']['verdicts']) =>
    setWords((before) => new Map([...before, [scoreId, found]]));
  const claims = groups.flatMap((group) => group.claims);
  const bad = claims.filter(({ verdict }) => verdictSign(verdict).tone === 'bad');
  const chosen = claims.find(({ id }) => id === selected) ?? bad[0] ?? claims[0];
  return (
    <>
      <div class="split">
        {trace.reading !== undefined && (
          <Answer reading={trace.reading} bad={bad} chosen={chosen} onSelect={onSelect} />
        )}
        <section class="card" aria-label="Evidence" aria-live="polite">
          <h2>Evidence</h2>
          {chosen === undefined ? (
            <p class="quiet">No score has a finding with evidence.</p>
          ) : (
            <EvidenceOf claim={chosen} spans={trace.spans} />
          )}
        </section>
      </div>
      {groups.length === 0 && <p>This trace has no scores. The tab Decisions says why.</p>}
      {groups.filter(hasMore).map((group) => (
        <Group
          key={group.score.scoreId}
          group={group}
          selected={chosen?.id ?? ''}
          onSelect={onSelect}
          onWords={addTo(group.score.scoreId)}
        />
      ))}
      {groups.some((group) => !hasMore(group)) && (
        <section class="finding">
          <Table
            caption="Measures"
            columns={MEASURES}
            rows={groups.flatMap((group) => (hasMore(group) ? [] : group.score))}
            keyOf={({ scoreId }) => scoreId}
          />
        </section>
      )}
    </>
  );
}

/** True for a score of which more is known than its value and its reason. */
function hasMore({ score, claims }: FindingGroup): boolean {
  return !isMeasure(score) || claims.length > 0;
}

const MEASURES: readonly Column<FindingGroup['score']>[] = [
  { name: 'Measure', cell: ({ scorer }) => <Text of={scorer} /> },
  { name: 'Value', cell: (score) => <Score {...score} /> },
  { name: 'Reason', cell: ({ reason }) => <Text of={reason} /> },
];

interface AnswerProps extends Pick<TraceDetail, 'reading'>, Pick<FindingsProps, 'onSelect'> {
  /** Claims with a bad verdict. */
  readonly bad: readonly Claim[];
  readonly chosen: Claim | undefined;
}

/** The whole answer. Each bad claim is a mark that leads to its evidence. */
function Answer({ reading, bad, chosen, onSelect }: AnswerProps) {
  const run = reading?.runs[0];
  const [question, answer] = run === undefined ? ['', ''] : readTexts(run);
  const { parts, elsewhere } = markAnswer(
    answer,
    bad.map(({ statement }) => statement),
  );
  const mark = (key: number, text: string, numbers: readonly number[]) => {
    const claims = numbers.flatMap((number) => bad[number] ?? []);
    const [first] = claims;
    const select = (): void => (first === undefined ? undefined : onSelect(first));
    return (
      <mark
        key={key}
        role="button"
        tabIndex={0}
        data-row-link
        class={claims.some(({ id }) => id === chosen?.id) ? 'chosen' : undefined}
        onClick={select}
        onKeyDown={(event) => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            select();
          }
        }}
      >
        <Text of={text} />
      </mark>
    );
  };
  return (
    <section class="card" aria-label="Answer">
      <h2>Answer</h2>
      {question !== '' && (
        <p class="quiet question">
          “<Text of={question} />”
        </p>
      )}
      <div class="answer whole">
        {answer === '' && (
          <span class="quiet">The spans of this trace have no answer, or are not stored any more.</span>
        )}
        {parts.map(({ text, claims }, index) =>
          claims.length === 0 ? <Text key={index} of={text} /> : mark(index, text, claims),
        )}
      </div>
      {elsewhere.length > 0 && (
        <>
          <p class="small quiet">Not word for word in the answer:</p>
          <ul>
            {elsewhere.map((number) => (
              <li key={number}>{mark(number, bad[number]?.statement ?? '', [number])}</li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

interface GroupProps extends Omit<FindingsProps, 'trace'> {
  readonly group: FindingGroup;
  readonly onWords: (found: FindingGroup['score']['verdicts']) => void;
}

function Group({ group: { score, claims }, selected, onSelect, onWords }: GroupProps) {
  const title = `finding-${score.scoreId}`;
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
      {score.target === 'trace' && listUnexplained(score).length > 0 && mayUse('admin') && (
        <Why score={score} onWords={onWords} />
      )}
      <JudgeCalls scoreId={score.scoreId} calls={score.judgeCalls} />
    </section>
  );
}

/** Button that lets a chat judge word the reasons of verdicts, which costs money. */
function Why({ score, onWords }: Pick<GroupProps, 'onWords'> & Pick<FindingGroup, 'score'>) {
  const { outcome, isBusy, order } = useOrders(undefined, 'A chat judge is asked …');
  const { traceId, scoreId } = score;
  const ask = (): void =>
    order(
      () => write('POST /score', { traceId, why: { scoreId }, write: false }),
      ({ scores: [found], decisions }) => {
        onWords(found?.verdicts ?? []);
        return found === undefined ? `No reasons: ${decisions[0]?.reason ?? 'the judge gave none'}` : '';
      },
    );
  return (
    <p class="row">
      <button type="button" disabled={isBusy} onClick={ask}>
        Why?
      </button>
      <span class="note">{outcome}</span>
    </p>
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
    ...(score.rung === 0 ? [] : [`${score.rung === 1 ? 'the first' : 'the second'} of a cascade`]),
    ...(score.confidence === null ? [] : [`confidence ${formatPercent(score.confidence)}`]),
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
          {sign} <Text of={claim.verdict} /> {claim.probability}
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
  const { tone, sign } = verdictSign(claim.verdict);
  return (
    <>
      <p>
        <Text of={claim.statement} />
      </p>
      <p>
        <b class={tone === 'open' ? undefined : tone}>
          {sign} <Text of={claim.verdict} />
        </b>{' '}
        {span !== undefined ? (
          <>
            by <Text of={nameTool(span)} />
          </>
        ) : (
          claim.source !== '' && `by ${claim.source}`
        )}
        {claim.reason !== '' && (
          <>
            : <Text of={claim.reason} />
          </>
        )}
      </p>
      {evidence === undefined ? (
        <WithoutPlace claim={claim} hasSpan={span !== undefined} />
      ) : (
        <pre>
          {isWhole(evidence) ? (
            <Text of={showJson(evidence.quote)} />
          ) : (
            <>
              <Text of={evidence.before} />
              <mark>
                <Text of={evidence.quote} />
              </mark>
              <Text of={evidence.after} />
            </>
          )}
        </pre>
      )}
      {evidence !== undefined && (
        <p class="small quiet">
          <Text of={evidence.place} />
        </p>
      )}
    </>
  );
}

/** True for a quote that is all of its text. */
function isWhole({ before, after }: PlacedQuote): boolean {
  return before === '' && after === '';
}

function WithoutPlace({ claim, hasSpan }: { readonly claim: Claim; readonly hasSpan: boolean }) {
  if (claim.quote !== '') {
    return (
      <pre>
        <Text of={showJson(claim.quote)} />
      </pre>
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
  const score = useRead('/scores/{scoreId}', { params: { scoreId } });
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
