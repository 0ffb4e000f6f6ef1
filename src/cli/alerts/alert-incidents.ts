import type { Command } from 'commander';
import type { LocalApi } from '../../api/local-api.ts';
import { formatBeyond } from '../../delivery/channels/alert-text.ts';
import type {
  acknowledgedJson,
  alertJson,
  monitorJson,
  muteJson,
  NotCounted,
  unmutedJson,
} from '../../api/resources/alerts.ts';
import type { deployJson } from '../../api/resources/markers.ts';
import { isoTime } from '../../api/json/rows.ts';
import { configuredMonitors } from '../../monitors/live/configured-monitors.ts';
import { type SeriesFacets, splitTexts } from '../../domain/series-facets.ts';
import type { Finding } from '../../monitors/detector.ts';
import { limitUpTo, parseMoment, parseSpan, writeSpan } from '../arguments.ts';
import { cleanLine, shortFingerprint } from '../show/clean-text.ts';
import type { Bind, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { openApi, type Page } from '../open-api.ts';
import { table } from '../show/output.ts';
import { formatCount } from '../../domain/plural.ts';

type AlertJson = ReturnType<typeof alertJson>;
type MonitorJson = ReturnType<typeof monitorJson>;

/** Page of states in the order `firing`. */
type FiringPage = Page<MonitorJson> & { readonly notCounted: readonly NotCounted[] };

/** Most states of a page in the order `firing`, which has one page. */
const MAX_FIRING = 500;

interface ListOptions {
  readonly incidents?: boolean;
  readonly sinceDeploy?: string;
  readonly since?: number;
  readonly limit: number;
}

const MAX_ROWS = 10_000;

/** Adds the commands for running monitors: list, ack, mute, unmute. */
export function addIncidentCommands(alerts: Command, bind: Bind): void {
  alerts
    .command('list')
    .description('Print the state of every monitor and series, alerts first; or print past incidents.')
    .option('--since-deploy <version>', 'only series that got worse with this version of a service or agent')
    .option('--incidents', 'print when incidents began and ended, newest first')
    .option('--since <when>', 'with --incidents: since 1h, 7d, or a date and time', parseMoment)
    .option('--limit <n>', 'print at most n', limitUpTo(MAX_ROWS), 100)
    .action(bind(list));
  alerts
    .command('ack')
    .description(
      'Accept the change of an incident as normal: the incident ends, and the series gets a new baseline.',
    )
    .argument('<incident>', 'id of the incident, or of an alert about it')
    .action(bind(acknowledge));
  alerts
    .command('mute')
    .description('Stop messages about an alert, a series, an incident or everything for some time.')
    .argument(
      '<subject>',
      "name of an alert, id of a series (alerts list --json) or of an incident, or '*' for everything",
    )
    .requiredOption('--for <time>', 'how long: 30m, 2h, 7d', parseSpan)
    .option('--reason <text>', 'why; the page and GET /mutes show it')
    .action(bind(mute));
  alerts
    .command('unmute')
    .description('Allow messages about a muted subject again.')
    .argument('<subject>', 'the name or id that was muted')
    .option('--tenant <name>', "whose mute, if several tenants have one; '*': the one of all tenants")
    .action(bind(unmute));
}

async function list(context: CommandContext, options: ListOptions): Promise<ExitCode> {
  if (options.sinceDeploy !== undefined) {
    return listSinceDeploy(context, options.sinceDeploy);
  }
  const api = await openApi(context, 'alerts list');
  if (options.incidents === true) {
    return listIncidents(context, api, options);
  }
  const { items, notCounted } = await readStates(api, options.limit);
  const headers = ['STATE', 'SINCE', 'ALERT', 'SERIES', 'WHAT', 'INCIDENT'];
  await context.out.list(items, () => table(headers, items.map(showMonitor)));
  await reportMore(context, items.length, notCounted);
  return EXIT.done;
}

/** Reads the states that fire first, and after one page of them the others by alert and series. */
async function readStates(api: LocalApi, limit: number) {
  const query = { order: 'firing', limit: Math.min(limit, MAX_FIRING) };
  const { items, notCounted } = await api.read<FiringPage>('/monitors', query);
  const listed = new Set(items.map(nameState));
  const found = [...items];
  if (items.length === MAX_FIRING) {
    for await (const state of api.list<MonitorJson>('/monitors')) {
      if (found.length === limit) {
        break;
      }
      found.push(...(listed.has(nameState(state)) ? [] : [state]));
    }
  }
  return { items: found, notCounted };
}

function nameState({ ruleKey, seriesId }: MonitorJson): string {
  return `${ruleKey} ${seriesId}`;
}

async function listSinceDeploy(context: CommandContext, version: string): Promise<ExitCode> {
  const api = await openApi(context, 'alerts list');
  const { items } = await api.read<Page<ReturnType<typeof deployJson>>>('/markers/compare', { version });
  for (const compared of items) {
    const { before, after, series, evidenceLog10, verdict } = compared;
    await context.out.item(compared, () => {
      const evidence = evidenceLog10 === null ? '' : `, evidence ${evidenceLog10.toFixed(1)}`;
      const numbers = `${shown(before.mean)} (n ${before.count}) → ${shown(after.mean)} (n ${after.count})`;
      return `${verdict.padEnd(9)}  ${showSeries(series)}  ${numbers}${evidence}`;
    });
  }
  return EXIT.done;
}

async function listIncidents(
  context: CommandContext,
  api: LocalApi,
  { since, limit }: ListOptions,
): Promise<ExitCode> {
  let count = 0;
  for await (const alert of api.list<AlertJson>('/alerts', { since: isoTime(since ?? null) }, limit)) {
    count += 1;
    await context.out.item(alert, () => showAlert(alert));
  }
  if (count === 0) {
    context.out.talk('no incidents');
  }
  return EXIT.done;
}

async function acknowledge(context: CommandContext, id: string): Promise<ExitCode> {
  const api = await openApi(context, 'alerts ack');
  const incident = await api.write<ReturnType<typeof acknowledgedJson>>(
    'POST',
    `/alerts/${encodeURIComponent(id)}/ack`,
  );
  await context.out.document(
    incident,
    () =>
      `${incident.alert} gets a new baseline from the beginning of the change; the incident ends with the next bucket`,
  );
  return EXIT.done;
}

async function mute(
  context: CommandContext,
  subject: string,
  { for: forMs, reason }: { readonly for: number; readonly reason?: string },
): Promise<ExitCode> {
  const api = await openApi(context, 'alerts mute');
  const body = { subject, for: writeSpan(forMs), reason };
  const muted = await api.write<ReturnType<typeof muteJson>>('POST', '/mutes', { body });
  await context.out.document(muted, () => `no messages about ${muted.subject} until ${muted.until}`);
  return EXIT.done;
}

async function unmute(
  context: CommandContext,
  subject: string,
  { tenant }: { readonly tenant?: string },
): Promise<ExitCode> {
  const api = await openApi(context, 'alerts unmute');
  const ended = await api.write<ReturnType<typeof unmutedJson>>('DELETE', '/mutes', {
    query: { subject, tenant },
  });
  await context.out.document(ended, () => `${ended.unmuted} is no longer muted`);
  return EXIT.done;
}

/** Reports the rules missing from the list: rules without a series, paused rules, and scores that no rule counts. */
async function reportMore(
  context: CommandContext,
  listed: number,
  notCounted: readonly NotCounted[],
): Promise<void> {
  const { out } = context;
  const groups = await configuredMonitors((await context.loadConfig()).config);
  const rules = groups.flatMap((group) => group.rules);
  if (rules.length === 0) {
    out.talk('no monitors are configured; add them under the key monitors');
    return;
  }
  if (listed === 0) {
    out.talk('no series yet: a series begins with the first live score in a closed bucket');
  }
  for (const { alert } of rules.filter(({ paused }) => paused)) {
    out.talk(`${alert} is paused`);
  }
  for (const { scorer, refused, late } of notCounted) {
    if (refused > 0) {
      out.talk(
        `${cleanLine(scorer, 60)} is not monitored: it has no range or no direction (${refused} scores in 24 h); set range and higherIsBetter`,
      );
    }
    if (late > 0) {
      out.talk(
        `${late} scores of ${cleanLine(scorer, 60)} in 24 h came more than an hour after their trace ended; monitors do not count them`,
      );
    }
  }
}

function showMonitor(status: MonitorJson): string[] {
  const { phase, since, muted, alert, series, incidentId } = status;
  const marks = muted ? `${phase} (muted)` : phase;
  return [marks, since ?? '', alert, showSeries(series), showNumbers(status), incidentId ?? ''];
}

function showNumbers(status: MonitorJson): string {
  const late = status.lateScores === 0 ? '' : `; ${formatCount(status.lateScores, 'late score')} not counted`;
  return `${showState(status)}${late}`;
}

function showState(status: MonitorJson): string {
  const { lacks, finding, incidentId, mean, baseline, limit, scores } = status;
  if (lacks !== null) {
    return lacks;
  }
  if (incidentId !== null && finding !== null) {
    return `${showFinding(finding, status.detector)}, since ${finding.changeBegan ?? ''}`;
  }
  const expected =
    limit === null
      ? `baseline ${shown(baseline)}`
      : `${LIMITS.get(status.detector) ?? 'limit'} ${shown(limit)}`;
  return `mean ${shown(mean)}, ${expected}, n ${scores}`;
}

const LIMITS: ReadonlyMap<string, string> = new Map([
  ['floor', 'at least'],
  ['threshold', 'at least'],
  ['rate', 'share of low scores at most'],
  ['scorer_errors', 'share of failures at most'],
  ['coverage', 'share of scored runs at least'],
]);

function showFinding(finding: Pick<Finding, 'before' | 'after' | 'count'>, detector: string): string {
  const { before, after, count } = finding;
  return formatBeyond(finding, detector) ?? `${shown(before)} → ${shown(after)}, n ${count}`;
}

function showAlert(event: AlertJson): string {
  const { status, alert, summary, series, detector, startsAt, endsAt, incidentId, budget } = event;
  const { before, limit, after, count } = event;
  const marks = [
    ...(event.muted ? ['muted'] : []),
    ...(event.held
      ? [event.cause?.who === 'judge' ? 'held: the judge changed' : 'held: the judge is not certified']
      : []),
    ...(event.cause?.who === 'deciding' ? ['agent or judge: deciding'] : []),
    ...(event.acknowledgedAt === null ? [] : ['acknowledged']),
  ].map((mark) => ` (${mark})`);
  const numbers = showFinding({ before: limit ?? before, after, count }, detector);
  const text = budget === undefined ? `${showSeries(series)}  ${numbers}` : cleanLine(summary, 120);
  return `${endsAt ?? startsAt ?? ''}  ${status}${marks.join('')}  ${alert}  ${text}  ${incidentId}`;
}

function showSeries(series: SeriesFacets): string {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  const parts = [tenant, scorer, shortFingerprint(fingerprint), agent, environment].filter(
    (part) => part !== '',
  );
  return [...parts, ...splitTexts(series)].map((part) => cleanLine(part, 40)).join(' / ');
}

function shown(value: number | null): string {
  return value === null ? '-' : value.toFixed(3);
}
