import { type Command, Option } from 'commander';
import { formatBeyond, formatSummary } from '../../delivery/channels/alert-text.ts';
import {
  type acknowledgedJson,
  alertJson,
  type AlertReplies,
  type muteJson,
  type unmutedJson,
  isStatusMuted,
  monitorJson,
} from '../../api/resources/alerts.ts';
import type { deployJson } from '../../api/resources/markers.ts';
import { isoTime } from '../../api/json/rows.ts';
import {
  configuredMonitors,
  type KeyedRule,
  keyedRules,
  createStandings,
} from '../../monitors/live/configured-monitors.ts';
import { type SeriesFacets, splitTexts } from '../../domain/series-facets.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { Finding } from '../../monitors/detector.ts';
import { isMuted } from '../../monitors/mute.ts';
import type { MonitorStanding, MonitorStatus } from '../../monitors/monitor-status.ts';
import { limitUpTo, parseMoment, parseSpan, writeSpan } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import type { Bind, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { openApi } from '../open-api.ts';
import { table } from '../show/output.ts';
import type { Store } from '../../store/store.ts';
import { formatCount } from '../../domain/plural.ts';
import { DAY_MS } from '../../domain/durations.ts';

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
    .addOption(
      new Option('--since <when>', 'with --incidents: since 1h, 7d, or a date and time').argParser(
        parseMoment,
      ),
    )
    .addOption(new Option('--limit <n>', 'print at most n').argParser(limitUpTo(MAX_ROWS)).default(100))
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
    .addOption(new Option('--for <time>', 'how long: 30m, 2h, 7d').argParser(parseSpan).makeOptionMandatory())
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
  const { config, store } = await context.openApp();
  const replies = await readReplies(store);
  if (options.incidents === true) {
    return listIncidents(context, store, options, replies);
  }
  const rules = keyedRules(await configuredMonitors(config));
  const statuses = await createStandings(rules, store.monitorView).read({}, options.limit);
  const headers = ['STATE', 'SINCE', 'ALERT', 'SERIES', 'WHAT', 'INCIDENT'];
  await context.out.list(
    statuses.map((status) => monitorJson(status, replies)),
    () =>
      table(
        headers,
        statuses.map((status) => statusCells(status, replies)),
      ),
  );
  await reportMore(context, store, rules, statuses.length);
  return EXIT.done;
}

async function listSinceDeploy(context: CommandContext, version: string): Promise<ExitCode> {
  const api = await openApi(context, 'alerts list');
  const { items } = await api.read<{ readonly items: readonly ReturnType<typeof deployJson>[] }>(
    '/markers/compare',
    { version },
  );
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
  store: Store,
  { since, limit }: ListOptions,
  replies: AlertReplies,
): Promise<ExitCode> {
  const { items: events } = await store.alerts.list({ sinceMs: since }, { limit });
  if (events.length === 0) {
    context.out.talk('no incidents');
  }
  for (const event of events) {
    await context.out.item(alertJson(event, replies), () => showEvent(event, replies));
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
  { for: forMs }: { readonly for: number },
): Promise<ExitCode> {
  const api = await openApi(context, 'alerts mute');
  const body = { subject, for: writeSpan(forMs) };
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

async function readReplies(store: Store): Promise<AlertReplies> {
  const [mutes, acknowledged, nowMs] = await Promise.all([
    store.alerts.mutes(),
    store.alerts.acknowledged(),
    store.spans.nowMs(),
  ]);
  return { mutes, acknowledged, nowMs };
}

/**
 * Reports the rules missing from the list: rules without a series, paused rules, and scorers whose scores cannot be
 * watched.
 */
async function reportMore(
  context: CommandContext,
  store: Store,
  rules: readonly KeyedRule[],
  listed: number,
): Promise<void> {
  if (rules.length === 0) {
    context.out.talk('no monitors are configured; add them under the key monitors');
    return;
  }
  if (listed === 0) {
    context.out.talk('no series yet: a series begins with the first live score in a closed bucket');
  }
  for (const { rule } of rules.filter((each) => each.rule.paused)) {
    context.out.talk(`${rule.alert} is paused`);
  }
  const intervalMs = Math.min(...rules.map(({ group }) => group.intervalMs));
  const sinceMs = (await store.spans.nowMs()) - DAY_MS;
  for (const { scorer, refused, late } of await store.monitorView.setAside({ intervalMs, sinceMs })) {
    if (refused > 0) {
      context.out.talk(
        `${cleanLine(scorer, 60)} is not monitored: it has no range or no direction (${refused} scores in 24 h); set range and higherIsBetter`,
      );
    }
    if (late > 0) {
      context.out.talk(
        `${late} scores of ${cleanLine(scorer, 60)} in 24 h came more than an hour after their trace ended; monitors do not count them`,
      );
    }
  }
}

function statusCells(status: MonitorStanding, replies: AlertReplies): string[] {
  const { phase, sinceMs, alert, series, incidentId } = status;
  const marks = isStatusMuted(status, replies) ? `${phase} (muted)` : phase;
  return [marks, isoTime(sinceMs) ?? '', alert, showSeries(series), showNumbers(status), incidentId ?? ''];
}

function showNumbers(status: MonitorStanding): string {
  const late = status.lateScores === 0 ? '' : `; ${formatCount(status.lateScores, 'late score')} not counted`;
  return `${showState(status)}${late}`;
}

function showState(status: MonitorStatus): string {
  const { lacks, finding, incidentId, mean, baseline, limit, scores } = status;
  if (lacks !== null) {
    return lacks;
  }
  if (incidentId !== null && finding !== null) {
    return `${showFinding(finding, status.detector)}, since ${isoTime(finding.changeBeganMs) ?? ''}`;
  }
  const expected =
    limit === null
      ? `baseline ${shown(baseline)}`
      : `${LIMITS.get(status.detector) ?? 'limit'} ${shown(limit)}`;
  return `mean ${shown(mean)}, ${expected}, n ${scores}`;
}

/** Words for the limit of each detector that has one. */
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

function showEvent(event: AlertEvent, { mutes, acknowledged, nowMs }: AlertReplies): string {
  const { status, alert, series, startsAtMs, endsAtMs, incidentId } = event;
  const marks = [
    ...(isMuted(event, mutes, nowMs) ? ['muted'] : []),
    ...(acknowledged.has(incidentId) ? ['acknowledged'] : []),
  ].map((mark) => ` (${mark})`);
  const at = isoTime(endsAtMs ?? startsAtMs) ?? '';
  const numbers = showFinding(event, event.detector);
  const text =
    event.budget === undefined ? `${showSeries(series)}  ${numbers}` : cleanLine(formatSummary(event), 120);
  return `${at}  ${status}${marks.join('')}  ${alert}  ${text}  ${incidentId}`;
}

function showSeries(series: SeriesFacets): string {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  const parts = [tenant, scorer, fingerprint.slice(0, 8), agent, environment].filter((part) => part !== '');
  return [...parts, ...splitTexts(series)].map((part) => cleanLine(part, 40)).join(' / ');
}

function shown(value: number | null): string {
  return value === null ? '-' : value.toFixed(3);
}
