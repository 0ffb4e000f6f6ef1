import type { Item } from '../api-types.ts';
import { formatNumber, formatPercent, formatScore } from './format.ts';

export type AlertEvent = Item<'/alerts'>;
export type Mute = Item<'/mutes'>;
type Monitor = Item<'/monitors'>;

/** Incident with its latest event. */
export interface Incident {
  readonly event: AlertEvent;
  readonly isOpen: boolean;
}

/** Joins the events of each incident: an end replaces its beginning. Newest first, open ones before the rest. */
export function joinIncidents(events: readonly AlertEvent[]): Incident[] {
  const groups = Map.groupBy(events, ({ incidentId }) => incidentId);
  const incidents = [...groups.values()].flatMap((group) => {
    const event = group.find(({ status }) => status === 'resolved') ?? group[0];
    return event === undefined ? [] : [{ event, isOpen: event.status === 'firing' }];
  });
  return incidents.toSorted(
    (a, b) =>
      Number(b.isOpen) - Number(a.isOpen) || (b.event.startsAt ?? '').localeCompare(a.event.startsAt ?? ''),
  );
}

/** Detectors whose numbers are shares, not means. */
const SHARES: readonly string[] = ['rate', 'coverage', 'scorer_errors'];

/** Writes a number of a detector: a share in percent, a mean as a score. */
function writeValue(detector: string, value: number | null): string {
  return SHARES.includes(detector) && value !== null ? formatPercent(value) : formatScore(value);
}

/** Writes the measured value before and after the change. A limit is named as a limit: nobody measured it. */
export function describeValues({
  detector,
  before,
  limit,
  after,
}: Pick<AlertEvent, 'detector' | 'before' | 'limit' | 'after'>): string {
  const write = (value: number | null) => writeValue(detector, value);
  return `${before === null ? '' : `${write(before)} → `}${write(after)}${limit === null ? '' : `, limit ${write(limit)}`}`;
}

/** Writes what changed, and on how many scores. */
export function describeChange(event: AlertEvent): string {
  const late = event.lateScores === 0 ? '' : `, ${formatNumber(event.lateScores)} too late`;
  return `${describeValues(event)} (n = ${formatNumber(event.count)}${late})`;
}

/** Writes the value of a monitor beside what it is held against. Only a finding has the value of a share. */
export function describeStanding({ detector, mean, baseline, limit, finding }: Monitor): string {
  if (limit === null) {
    return `mean ${formatScore(mean)}, usual ${formatScore(baseline)}`;
  }
  const isShare = SHARES.includes(detector);
  const value = isShare ? (finding?.after ?? null) : mean;
  const measured = value === null ? '' : `${isShare ? 'share' : 'mean'} ${writeValue(detector, value)}, `;
  return `${measured}limit ${writeValue(detector, limit)}`;
}

/** Keeps what the bar chooses: what is about its agents and environments, or about all of them. */
export function keepChosen<
  Row extends { readonly series: Pick<AlertEvent['series'], 'agent' | 'environment'> },
>(rows: readonly Row[], frame: Readonly<Record<string, readonly string[]>>): Row[] {
  return rows.filter(({ series }) =>
    (['agent', 'environment'] as const).every(
      (name) => series[name] === '' || (frame[name]?.includes(series[name]) ?? true),
    ),
  );
}

/** Writes the sentence of a cause. The part of the traffic's mix is said in words; one of 0 % is left out. */
export function writeCause({ sentence }: Pick<NonNullable<AlertEvent['cause']>, 'sentence'>): string {
  return sentence.replace(/, mix (−?)(\d+ %)\.$/u, (_, sign: string, part: string) => {
    const words = sign === '' ? `adds ${part}` : `takes ${part} off`;
    return part === '0 %' ? '.' : `; a shift of the traffic ${words}.`;
  });
}

/** Writes the reason of a change: who changed comes first, when that is known; '' when nothing is. */
export function describeCause({ cause }: Pick<AlertEvent, 'cause'>): string {
  const parts = [
    describeCulprit({ cause }) ?? [],
    cause === null || cause.verdict === 'none' ? [] : writeCause(cause),
  ];
  return (isCulpritKnown({ cause }) ? parts : parts.toReversed()).flat().join(' ');
}

const CULPRITS: Readonly<Record<string, string>> = {
  agent: 'The agent changed; its judge did not.',
  judge: 'The judge changed; the agent did not.',
  both: 'The agent and its judge changed.',
  unknown: 'Whether the agent or its judge changed is not known.',
  deciding: 'Whether the agent or its judge changed is being found out; the message waits.',
};

/** Returns true when it is known who changed: then this is said before the cause. */
export function isCulpritKnown({ cause }: Pick<AlertEvent, 'cause'>): boolean {
  return !['unknown', 'deciding'].includes(cause?.who ?? '');
}

/** Says who changed, by the anchors of the judge; undefined where no judge has anchors. */
export function describeCulprit({ cause }: Pick<AlertEvent, 'cause'>): string | undefined {
  const words = CULPRITS[cause?.who ?? ''];
  const judge = cause?.judge ?? null;
  return words === undefined || judge === null
    ? words
    : `${words} On its anchors: ${formatScore(judge.before)} → ${formatScore(judge.after)} (n = ${formatNumber(judge.n)}).`;
}

/** Says why no message of an incident is sent. */
export function describeHold({ cause }: Pick<AlertEvent, 'cause'>): string {
  return `held: ${cause?.who === 'judge' ? 'the judge changed' : 'the judge is not certified'}`;
}

/** Writes the series of an alert or a monitor: agent, environment and the facets that a rule splits by. */
export function describeSeriesFacets(series: AlertEvent['series']): string {
  const { agent, environment, target, model, agentVersion, serviceVersion, service } = series;
  const parts = [
    agent === '' ? 'all agents' : agent,
    environment,
    target,
    model,
    agentVersion === undefined ? '' : `agent version ${agentVersion || 'unknown'}`,
    serviceVersion === undefined ? '' : `service version ${serviceVersion || 'unknown'}`,
    service,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(', ');
}

/** Subject of a mute of everything, and tenant of a mute of all tenants. */
export const ALL = '*';

const PHASES: readonly (readonly [phase: Monitor['phase'], words: string])[] = [
  ['ok', 'ok'],
  ['learning', 'learning'],
  ['pending', 'pending'],
  ['firing', 'firing'],
  ['recovering', 'recovering'],
  ['no_data', 'without data'],
  ['scorer_error', 'with scorer errors'],
  ['paused', 'paused'],
];

/** Monitors of one rule. */
export interface MonitorGroup {
  readonly key: string;
  readonly alert: string;
  readonly detector: string;
  /** `42 ok, 3 learning, 1 firing`. */
  readonly states: string;
  readonly isFiring: boolean;
  readonly scores: number;
  readonly late: number;
  /** Monitors that are not simply ok, the firing ones first. */
  readonly others: readonly Monitor[];
}

/** Groups monitors by their rule, with the number of each state. */
export function groupMonitors(monitors: readonly Monitor[]): MonitorGroup[] {
  const groups = Map.groupBy(monitors, ({ group, alert, detector }) =>
    JSON.stringify([group, alert, detector]),
  );
  return [...groups].map(([key, all]) => {
    const count = (phase: Monitor['phase']) => all.filter((each) => each.phase === phase).length;
    return {
      key,
      alert: all[0]?.alert ?? '',
      detector: all[0]?.detector ?? '',
      states: PHASES.flatMap(([phase, words]) =>
        count(phase) === 0 ? [] : [`${count(phase)} ${words}`],
      ).join(', '),
      isFiring: count('firing') > 0,
      scores: all.reduce((sum, each) => sum + each.scores, 0),
      late: all.reduce((sum, each) => sum + each.lateScores, 0),
      others: all
        .filter(({ phase }) => phase !== 'ok')
        .toSorted((a, b) => Number(b.phase === 'firing') - Number(a.phase === 'firing')),
    };
  });
}

type Budget = NonNullable<AlertEvent['budget']>;

/** Open alert of a limit: the one of the greatest percentage, for each percentage has an alert of its own. */
export function findBudgetAlert(
  incidents: readonly Incident[],
  limit: Pick<Budget, 'scope' | 'rule' | 'tenant' | 'period'>,
): AlertEvent | undefined {
  return incidents
    .flatMap(({ event, isOpen }) => (isOpen && event.budget !== undefined ? [event] : []))
    .filter(
      ({ budget }) =>
        budget?.scope === limit.scope &&
        budget.rule === limit.rule &&
        budget.tenant === limit.tenant &&
        budget.period === limit.period,
    )
    .toSorted((a, b) => (b.budget?.percent ?? 0) - (a.budget?.percent ?? 0))[0];
}

/** Address of the runbook of an alert; undefined without one, and for an address that a browser should not open. */
export function findRunbook(annotations: Readonly<Record<string, string>>): string | undefined {
  const address = annotations['runbook_url'] ?? annotations['runbook'];
  return address !== undefined && /^https?:\/\//iu.test(address) && URL.canParse(address)
    ? address
    : undefined;
}
