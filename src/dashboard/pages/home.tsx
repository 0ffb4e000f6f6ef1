import type { ComponentChildren } from 'preact';
import type { AgentItem, Funnel, Replies } from '../api-types.ts';
import { AnswerItem } from '../parts/answer.tsx';
import { TopIssues } from '../parts/issues.tsx';
import { CopyLink } from '../parts/copy-button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { AgentsTable, listQualities } from '../parts/quality.tsx';
import { RateByAgent } from '../parts/rate-by-agent.tsx';
import { Text } from '../parts/text.tsx';
import { WorstChange } from '../parts/worst-change.tsx';
import { type Resource, useRead } from '../resource.ts';
import { frame, framed } from '../router.ts';
import { formatNumber, formatPercent, formatUsd } from '../view-models/format.ts';
import { TIME_RANGES } from '../view-models/frame.ts';
import { keepChosen, type AlertEvent } from '../view-models/incidents.ts';
import { formatInterval } from '../view-models/rates.ts';
import type { TraceRow } from '../view-models/trace-list.ts';
import { agentOf, listOpen, listWorse, NONE_OPEN } from '../view-models/worst-change.ts';
import { Welcome } from './welcome.tsx';

/** Events of alerts that are read for the open ones. */
const EVENTS = 200;

/** Answers that are looked at for the worst ones with a finding, and those that are shown. */
const ANSWERS = { read: 12, shown: 4 } as const;

/** First page: is my agent well, what got worse since when and why, and what does it cost. An empty store is welcomed instead. */
export function Home() {
  const first = useRead('/traces', { query: { limit: 1 } });
  return first.kind === 'ready' && first.data.items.length === 0 ? <Welcome /> : <Filled />;
}

function Filled() {
  const filters = frame.value;
  const agents = useRead('/agents', { query: filters });
  const alerts = useRead('/alerts', { query: { limit: EVENTS } });
  const items = agents.kind === 'ready' ? agents.data.items : [];
  const open = alerts.kind === 'ready' ? listOpen(keepChosen(alerts.data.items, filters)) : NONE_OPEN;
  const { worst } = open;
  const subject = chooseSubject(worst, items);
  return (
    <Page title="Home" isTitleHidden>
      <Loaded of={alerts} what="the open incidents" lines={1}>
        {() => (
          <WorstChange
            open={open}
            agents={items}
            isCounted={agents.kind === 'ready'}
            onMute={alerts.reload}
          />
        )}
      </Loaded>
      <TopIssues />
      <Figures />
      <AgentsCard agents={agents} />
      <div class="split">
        {subject.scorer === undefined ? (
          <div />
        ) : (
          <RateByAgent scorer={subject.scorer} subject={subject.agent} />
        )}
        <WorstAnswers agent={subject.agent} scorer={worst?.series.scorer} name={subject.name} />
      </div>
    </Page>
  );
}

interface Subject {
  readonly agent: string | undefined;
  /** Name of the agent in words. */
  readonly name: string | undefined;
  readonly scorer: string | undefined;
}

/** Chooses what the chart and the worst answers are about: the worst open change, else the quality that got worse the most. */
function chooseSubject(worst: AlertEvent | undefined, agents: readonly AgentItem[]): Subject {
  if (worst !== undefined) {
    return { agent: worst.series.agent || undefined, name: agentOf(worst), scorer: worst.series.scorer };
  }
  const [worse] = listWorse(agents);
  return {
    agent: worse?.agent,
    name: worse?.agent,
    scorer: worse?.quality.scorer ?? listQualities(agents)[0],
  };
}

function AgentsCard({ agents }: { readonly agents: Resource<Replies['/agents']> }) {
  return (
    <section class="card" aria-labelledby="qualities">
      <div class="row between">
        <h2 id="qualities">
          Agents and qualities{' '}
          <span class="quiet">· pass rate of the {rangeName()} against the 14 days before</span>
        </h2>
        <CopyLink />
      </div>
      <Loaded
        of={agents}
        what="the agents"
        lines={8}
        empty={<p>No agent has run in this time. Choose a longer range.</p>}
      >
        {(data) => <AgentsTable caption="Agents and qualities" agents={data.items} />}
      </Loaded>
    </section>
  );
}

function rangeName(): string {
  const { since, until } = frame.value;
  const named = until === undefined ? TIME_RANGES.find(([range]) => range === since?.[0])?.[1] : undefined;
  return named ?? 'chosen time';
}

/** Six numbers of the range. */
function Figures() {
  const filters = frame.value;
  const overview = useRead('/overview', { query: filters });
  const funnel = useRead('/coverage/funnel', { query: filters });
  const judges = useRead('/judges');
  const figures = overview.kind === 'ready' ? overview.data.figures : undefined;
  const unpriced = figures?.unpriced ?? 0;
  const cap = judges.kind === 'ready' ? judges.data.budgets[0] : undefined;
  return (
    <ul class="figures plain" aria-label="Figures">
      <Figure name="Runs" value={figures && formatNumber(figures.runs)} />
      <Figure name="Answers that pass" value={figures && formatInterval(figures.pass)} />
      <Figure name="Runs with a tool error" value={figures && formatInterval(figures.toolErrors)} />
      <Figure name="Agents' cost" value={figures && formatUsd(figures.agentUsd)}>
        {unpriced > 0 && (
          <a href={framed('/judges')}>
            + {formatNumber(unpriced)} {unpriced === 1 ? 'run' : 'runs'} without a price
          </a>
        )}
      </Figure>
      <Figure name="Judges' cost" value={figures && formatUsd(figures.judgeUsd ?? 0)}>
        {cap !== undefined && <Cap cap={cap} />}
      </Figure>
      <Figure
        name="Scored of eligible"
        value={funnel.kind === 'ready' ? formatPercent(funnel.data.scored, funnel.data.eligible) : undefined}
      >
        {funnel.kind === 'ready' && (
          <a href={framed('/coverage')}>
            <Text of={describeLoss(funnel.data)} />
          </a>
        )}
      </Figure>
    </ul>
  );
}

interface FigureProps {
  readonly name: string;
  /** Undefined until it is loaded. */
  readonly value: string | null | undefined;
  readonly children?: ComponentChildren;
}

function Figure({ name, value, children }: FigureProps) {
  const [number = '', interval] = value?.split(' [') ?? [];
  return (
    <li class="card">
      <span class="quiet">{name}</span>
      <span class="number-of-page">
        {value === undefined || value === null ? <span class="skeleton">…</span> : number}
        {interval !== undefined && <small class="quiet"> [{interval}</small>}
      </span>
      <small>{children}</small>
    </li>
  );
}

function Cap({ cap }: { readonly cap: Replies['/judges']['budgets'][number] }) {
  return (
    <>
      <progress max={cap.capUsd} value={Math.min(cap.spentUsd, cap.capUsd)} aria-label="Spent of the cap" />
      <span class="quiet">
        {formatUsd(cap.spentUsd)} of {formatUsd(cap.capUsd)} a {cap.period}
      </span>
    </>
  );
}

function describeLoss({ losses, eligible }: Funnel): string {
  const [first] = losses.filter(({ after }) => after !== 'arrived').toSorted((a, b) => b.count - a.count);
  return first === undefined
    ? 'all of them'
    : `${formatPercent(first.count, eligible)} ${first.reason.replaceAll('_', ' ')}`;
}

/** Chooses the answers whose wrong words are known; without one, all that are bad. */
function chooseWorst(rows: readonly TraceRow[]): readonly TraceRow[] {
  const found = rows.filter(({ finding }) => finding !== null);
  return (found.length === 0 ? rows : found).slice(0, ANSWERS.shown);
}

interface WorstAnswersProps {
  readonly agent: string | undefined;
  readonly scorer: string | undefined;
  /** Name of the agent, in words. */
  readonly name: string | undefined;
}

/** Worst answers of an agent as texts, with the wrong words marked. */
function WorstAnswers({ agent, scorer, name }: WorstAnswersProps) {
  const filters = {
    ...frame.value,
    ...(agent === undefined ? {} : { agent }),
    ...(scorer === undefined ? {} : { scorer }),
  };
  const chosen = { ...filters, order: 'worst' };
  const worst = useRead('/traces', { query: { ...chosen, limit: ANSWERS.read } });
  return (
    <section class="card" aria-labelledby="worst-answers">
      <div class="row between">
        <h2 id="worst-answers">Worst answers{name !== undefined && <Text of={` of ${name}`} />}</h2>
        <a href={framed('/traces', chosen)}>all</a>
      </div>
      <Loaded of={worst} what="the worst answers" empty={<p>No answer has a score in this time.</p>}>
        {({ items }) => (
          <ul class="plain answers" aria-label="Worst answers">
            {chooseWorst(items).map((row) => (
              <li key={`${row.tenant} ${row.traceId}`}>
                <AnswerItem row={row} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
