import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { Decisions, ReadingNotes } from '../parts/decisions.tsx';
import { Facts } from '../parts/facts.tsx';
import { Findings } from '../parts/findings.tsx';
import { IssueLink } from '../parts/issues.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { LongText, Text, TextLink, Time } from '../parts/text.tsx';
import { Score } from '../parts/score.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { TraceActions } from '../parts/trace-actions.tsx';
import { Waterfall } from '../parts/waterfall.tsx';
import { useRead } from '../resource.ts';
import { adjustQuery, framed, place, query } from '../router.ts';
import { formatDuration, formatNumber, formatUsd } from '../view-models/format.ts';
import { fillPath } from '../view-models/paths/fill-path.ts';
import { findNeighbours } from '../view-models/paths/remembered-list.ts';
import { scorerPath, sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { STATES, isMeasure } from '../view-models/trace-list.ts';
import {
  buildWaterfall,
  type TraceDetail,
  type ScoreItem,
  type WaterfallRow,
} from '../view-models/waterfall.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { buildFindings, claimsOf, placeQuotes, verdictSign, type Claim } from '../view-models/findings.ts';

const TABS = [
  { name: 'findings', title: 'Findings' },
  { name: 'messages', title: 'Messages' },
  { name: 'decisions', title: 'Decisions' },
  { name: 'raw', title: 'Raw' },
] as const;
type Tab = (typeof TABS)[number]['name'];

/** One trace: its answer with what is wrong in it and why, then messages, decisions and spans. */
export function Trace() {
  const traceId = place.value?.params['traceId'] ?? '';
  const tenant = query.value.get('tenant') ?? undefined;
  const trace = useRead('/traces/{traceId}', { params: { traceId }, query: { tenant } });
  const neighbours = findNeighbours(traceId);
  return (
    <Page title={`Trace ${traceId.slice(0, 8)}`}>
      <div class="row trace-head">
        {neighbours !== undefined &&
          (['Previous', 'Next'] as const).map((name, index) => {
            const href = neighbours[index];
            return (
              <a
                key={name}
                class="button"
                {...(href === undefined ? { role: 'link', 'aria-disabled': true } : { href })}
              >
                {name}
              </a>
            );
          })}
        <TraceActions traceId={traceId} onDone={trace.reload} />
        <a class="button" href={fillPath('/api/v1/traces/:traceId', { traceId }, { tenant })}>
          JSON
        </a>
        <code class="small quiet">{traceId}</code>
      </div>
      <Loaded of={trace} what="the trace">
        {(data) => <Detail trace={data} />}
      </Loaded>
    </Page>
  );
}

function Detail({ trace: given }: { readonly trace: TraceDetail }) {
  const trace = useMemo(() => placeQuotes(given), [given]);
  const rows = useMemo(() => buildWaterfall(trace), [trace]);
  const asked = query.value.get('span') ?? '';
  const selected = rows.some(({ span }) => span.spanId === asked) ? asked : (rows[0]?.span.spanId ?? '');
  const claim = query.value.get('claim') ?? '';
  const tab: Tab = TABS.find(({ name }) => name === query.value.get('tab'))?.name ?? 'findings';
  const step = rows.find(({ span }) => span.spanId === selected);
  return (
    <>
      <ScoreChips scores={trace.scores} />
      <TraceFacts trace={trace} />
      <div class="trace">
        <section aria-label="Details">
          <Tabs label="Details" tabs={TABS} selected={tab} onSelect={(name) => adjustQuery({ tab: name })}>
            {tab === 'messages' && <TraceMessages trace={trace} />}
            {tab === 'findings' && (
              <Findings
                trace={trace}
                selected={claim}
                onSelect={({ id, spanId }) =>
                  adjustQuery({ claim: id, span: spanId === '' ? selected : spanId })
                }
              />
            )}
            {tab === 'decisions' && (
              <>
                <Decisions decisions={trace.decisions} />
                <ReadingNotes reading={trace.reading} />
              </>
            )}
            {tab === 'raw' && <RawSpan trace={trace} spanId={selected} />}
          </Tabs>
        </section>
        <section class="steps" aria-labelledby="steps">
          <h2 id="steps">Steps</h2>
          {rows.length === 0 ? (
            <p>The spans of this trace are not stored any more. Its scores and decisions are.</p>
          ) : (
            <Waterfall rows={rows} selected={selected} onSelect={(spanId) => adjustQuery({ span: spanId })} />
          )}
          {step !== undefined && (
            <StepSummary
              row={step}
              scores={trace.scores}
              onSelect={({ id }) => adjustQuery({ tab: 'findings', claim: id })}
            />
          )}
        </section>
      </div>
    </>
  );
}

/** Qualities of the run; its measures stand in the findings. */
function ScoreChips({ scores }: { readonly scores: readonly ScoreItem[] }) {
  return (
    <p>
      {scores
        .filter((score) => !isMeasure(score))
        .map((score) => (
          <a key={score.scoreId} class="chip" href={framed(scorerPath(score.scorer))}>
            <Text of={score.scorer} /> <Score {...score} />
          </a>
        ))}
    </p>
  );
}

function TraceMessages({ trace: { reading } }: { readonly trace: TraceDetail }) {
  if (reading === null || reading.runs.length === 0) {
    return <ReadingNotes reading={reading} />;
  }
  return (
    <>
      {reading.truncated && <p class="note">Long texts are cut. The tab Raw has each span whole.</p>}
      {reading.runs.map((run) => (
        <RunMessages key={run.target.spanId} run={run} />
      ))}
    </>
  );
}

function TraceFacts({ trace }: { readonly trace: TraceDetail }) {
  const { tenant, traceId, state, reading, joinedWith } = trace;
  const listed = useRead('/traces', { query: { traceId, limit: 10 } });
  const row = listed.kind === 'ready' ? listed.data.items.find((each) => each.tenant === tenant) : undefined;
  const run = reading?.runs[0];
  const issues = trace.issues.map((issue) => (
    <span key={issue.id} class="below">
      <IssueLink issue={issue} />
    </span>
  ));
  const others = joinedWith.map((other) => (
    <a key={other} href={tracePath({ tenant, traceId: other })}>
      <code>{other.slice(0, 8)}</code>{' '}
    </a>
  ));
  return (
    <Facts
      facts={[
        ['State', `${STATES[state].sign} ${STATES[state].words}`],
        ...(run === undefined ? [] : listRunFacts(run, tenant)),
        ['Cost of the run', formatUsd(row?.costUsd)],
        ['Cost of scoring', formatUsd(sumCost(trace))],
        ...(issues.length === 0 ? [] : [['Issues', issues] as const]),
        ...(joinedWith.length === 0 ? [] : [['Other traces of the run', others] as const]),
      ]}
    />
  );
}

function listRunFacts(run: AgentRun, tenant: string): (readonly [name: string, value: ComponentChildren])[] {
  const { service, serviceVersion, environment, startedAt, endedAt, usage, sessionId, userId } = run;
  const text = (value: string) => <Text of={value === '' ? 'not known' : value} />;
  const session = sessionId !== null && <TextLink to={sessionPath({ tenant, sessionId })} of={sessionId} />;
  const user = userId !== null && <TextLink to={framed('/traces', { userId, since: '90d' })} of={userId} />;
  return [
    ['Agent', text(run.agent ?? '')],
    ['Version', text(run.agentVersion ?? serviceVersion ?? '')],
    ...(user === false ? [] : [['User', user] as const]),
    ...(session === false ? [] : [['Session', session] as const]),
    ['Service', text([service, serviceVersion, environment].filter(Boolean).join(' · '))],
    ['Started', <Time key="started" at={startedAt} />],
    ['Time', formatDuration(Date.parse(endedAt) - Date.parse(startedAt))],
    ['Models', text(run.models.join(', '))],
    ['Tokens', usage.totalTokens === null ? 'not known' : formatNumber(usage.totalTokens)],
  ];
}

function sumCost({ scores }: TraceDetail): number | null {
  const costs = scores.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}

/** One span whole, as JSON. */
function RawSpan({
  trace: { tenant, traceId },
  spanId,
}: {
  readonly trace: Pick<TraceDetail, 'tenant' | 'traceId'>;
  readonly spanId: string;
}) {
  const span = useRead('/traces/{traceId}/spans/{spanId}', {
    params: { traceId, spanId },
    query: { tenant },
  });
  return (
    <Loaded of={span} what="the span">
      {(data) => {
        const json = JSON.stringify(data, null, 2);
        return (
          <>
            <h2>
              Span <Text of={data.name} />
            </h2>
            <CopyButton text={json} what="the span" />
            <LongText of={json} />
          </>
        );
      }}
    </Loaded>
  );
}

interface StepSummaryProps {
  readonly row: WaterfallRow;
  readonly scores: readonly ScoreItem[];
  readonly onSelect: (claim: Claim) => void;
}

/** The selected step: its facts, its attributes, and the claims that cite it. */
function StepSummary({ row: { span }, scores, onSelect }: StepSummaryProps) {
  const claims = claimsOf(buildFindings(scores), span.spanId);
  return (
    <section class="step-summary" aria-label="Selected step">
      <h3>
        Selected step: <Text of={span.name} />
      </h3>
      <p>
        {span.kind} · <Text of={span.service} /> · <Time at={span.startedAt} /> ·{' '}
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
