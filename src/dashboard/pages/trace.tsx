import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { read } from '../client.ts';
import { Decisions, ReadingNotes } from '../parts/decisions.tsx';
import { Facts } from '../parts/facts.tsx';
import { Findings } from '../parts/findings.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { RunMessages } from '../parts/messages.tsx';
import { Page } from '../parts/page.tsx';
import { Text, Time, LongText } from '../parts/text.tsx';
import { Waterfall } from '../parts/waterfall.tsx';
import { useResource } from '../resource.ts';
import { adjustQuery, place, query } from '../router.ts';
import { formatDuration, formatNumber, formatUsd } from '../view-models/format.ts';
import { sessionPath, tracePath } from '../view-models/paths/row-paths.ts';
import { STATES } from '../view-models/trace-list.ts';
import {
  buildWaterfall,
  type TraceDetail,
  type ScoreItem,
  type WaterfallRow,
} from '../view-models/waterfall.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { buildFindings, claimsOf, verdictSign, type Claim } from '../view-models/findings.ts';

const TABS = [
  { name: 'messages', title: 'Messages' },
  { name: 'findings', title: 'Findings' },
  { name: 'decisions', title: 'Decisions' },
  { name: 'raw', title: 'Raw' },
] as const;
type Tab = (typeof TABS)[number]['name'];

/** One trace: its steps, its messages, what the scorers found, why it was scored, and its spans as they are. */
export function Trace() {
  const traceId = place.value?.params['traceId'] ?? '';
  const tenant = query.value.get('tenant') ?? undefined;
  const trace = useResource(`trace ${traceId} ${tenant}`, (signal) =>
    read('/traces/{traceId}', { params: { traceId }, query: { tenant }, signal }),
  );
  return (
    <Page title={`Trace ${traceId.slice(0, 8)}`}>
      <p>
        <code>{traceId}</code>
      </p>
      <Loaded of={trace} what="the trace">
        {(data) => <Detail trace={data} />}
      </Loaded>
    </Page>
  );
}

function Detail({ trace }: { readonly trace: TraceDetail }) {
  const rows = useMemo(() => buildWaterfall(trace), [trace]);
  const asked = query.value.get('span') ?? '';
  const selected = rows.some(({ span }) => span.spanId === asked) ? asked : (rows[0]?.span.spanId ?? '');
  const claim = query.value.get('claim') ?? '';
  const tab: Tab = TABS.find(({ name }) => name === query.value.get('tab'))?.name ?? 'messages';
  const step = rows.find(({ span }) => span.spanId === selected);
  return (
    <>
      <TraceFacts trace={trace} />
      <div class="trace">
        <section aria-labelledby="steps">
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
      </div>
    </>
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
  const { tenant, state, reading, joinedWith } = trace;
  const run = reading?.runs[0];
  const others = joinedWith.map((traceId) => (
    <a key={traceId} href={tracePath({ tenant, traceId })}>
      <code>{traceId.slice(0, 8)}</code>{' '}
    </a>
  ));
  return (
    <Facts
      facts={[
        ['State', `${STATES[state].sign} ${STATES[state].words}`],
        ...(run === undefined ? [] : listRunFacts(run, tenant)),
        ['Cost of scoring', formatUsd(sumCost(trace))],
        ...(joinedWith.length === 0 ? [] : [['Other traces of the run', others] as const]),
      ]}
    />
  );
}

function listRunFacts(run: AgentRun, tenant: string): (readonly [name: string, value: ComponentChildren])[] {
  const { service, serviceVersion, environment, startedAt, endedAt, usage, sessionId } = run;
  const text = (value: string) => <Text of={value === '' ? 'not known' : value} />;
  const session = sessionId !== null && (
    <a href={sessionPath({ tenant, sessionId })}>
      <Text of={sessionId} />
    </a>
  );
  return [
    ['Agent', text(run.agent ?? '')],
    ['Service', text([service, serviceVersion, environment].filter(Boolean).join(' · '))],
    [
      'Started (UTC)',
      <>
        <Time at={startedAt} />, {formatDuration(Date.parse(endedAt) - Date.parse(startedAt))}
      </>,
    ],
    ['Models', text(run.models.join(', '))],
    ['Tokens', usage.totalTokens === null ? 'not known' : formatNumber(usage.totalTokens)],
    ...(session === false ? [] : [['Session', session] as const]),
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
  const span = useResource(`span ${tenant} ${traceId} ${spanId}`, (signal) =>
    read('/traces/{traceId}/spans/{spanId}', { params: { traceId, spanId }, query: { tenant }, signal }),
  );
  return (
    <Loaded of={span} what="the span">
      {(data) => {
        const json = JSON.stringify(data, null, 2);
        return (
          <>
            <h3>
              Span <Text of={data.name} />
            </h3>
            <CopyButton text={json} what="the span" />
            <LongText of={json} />
          </>
        );
      }}
    </Loaded>
  );
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly name: Name; readonly title: string }[];
  readonly selected: Name;
  readonly onSelect: (name: Name) => void;
  readonly children: ComponentChildren;
}

/** Tabs: the left and right arrows go from one to the next. */
function Tabs<Name extends string>({ label, tabs, selected, onSelect, children }: TabsProps<Name>) {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || !(event.currentTarget instanceof HTMLElement)) {
      return;
    }
    event.preventDefault();
    const index = tabs.findIndex(({ name }) => name === selected);
    const next = (index + step + tabs.length) % tabs.length;
    const target = tabs[next];
    if (target !== undefined) {
      onSelect(target.name);
      event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
    }
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} tabIndex={-1} onKeyDown={move}>
        {tabs.map(({ name, title }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === selected}
            aria-controls={`panel-${name}`}
            tabIndex={name === selected ? 0 : -1}
            onClick={() => onSelect(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`panel-${selected}`} aria-labelledby={`tab-${selected}`} tabIndex={0}>
        {children}
      </div>
    </div>
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
