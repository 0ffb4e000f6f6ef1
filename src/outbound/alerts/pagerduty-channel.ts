import type { AlertEvent } from '../../monitors/alert-event.ts';
import { attempt, type AlertChannel, type AlertLinks, type ChannelDeps } from './alert-channel.ts';
import { buildAnnotations } from './alert-labels.ts';
import { ALERTS_PAGE, formatSubject, formatSummary, pageLink, traceLink } from './alert-text.ts';
import { cutText } from '../../domain/cut-text.ts';

export interface PagerDutyChannelConfig extends AlertLinks {
  readonly name: string;
  /** Integration key of the Events API v2. */
  readonly routingKey: string;
  /** Another address of that API, e.g. for the service region EU. */
  readonly url?: string | undefined;
}

const EVENTS_URL = 'https://events.pagerduty.com/v2/enqueue';
const MAX_SUMMARY_CHARS = 1_024;
const MAX_LINKS = 10;

/** PagerDuty's four severities by common words; any other word becomes `error`. */
const SEVERITIES: ReadonlyMap<string, string> = new Map([
  ['critical', 'critical'],
  ['page', 'critical'],
  ['error', 'error'],
  ['warning', 'warning'],
  ['warn', 'warning'],
  ['ticket', 'warning'],
  ['info', 'info'],
]);

/**
 * Creates a channel to PagerDuty's Events API v2: one event opens an incident there and one closes it. Both, and every repeat,
 * share a `dedup_key`, which is the incident's id.
 */
export function createPagerDutyChannel(config: PagerDutyChannelConfig, { post }: ChannelDeps): AlertChannel {
  return {
    name: config.name,
    maxEvents: 1,
    async send({ events: [event] }, signal) {
      if (event === undefined) {
        return { kind: 'delivered' };
      }
      const body = JSON.stringify(
        event.status === 'firing' ? buildTriggerEvent(event, config) : buildResolveEvent(event, config),
      );
      return attempt({ url: config.url ?? EVENTS_URL, body, headers: {} }, post, signal);
    },
  };
}

function buildResolveEvent({ incidentId }: AlertEvent, { routingKey }: PagerDutyChannelConfig): object {
  return { routing_key: routingKey, event_action: 'resolve', dedup_key: incidentId };
}

function buildTriggerEvent(event: AlertEvent, config: PagerDutyChannelConfig): object {
  const { series, detector, labels } = event;
  return {
    routing_key: config.routingKey,
    event_action: 'trigger',
    dedup_key: event.incidentId,
    client: 'spanscore',
    client_url: pageLink(ALERTS_PAGE, config),
    payload: {
      summary: cutText(`${event.alert}: ${formatSummary(event)}`, MAX_SUMMARY_CHARS),
      source: series.agent || series.scorer || formatSubject(event),
      severity: SEVERITIES.get((labels['severity'] ?? '').toLowerCase()) ?? 'error',
      timestamp: new Date(event.startsAtMs).toISOString(),
      ...(series.scorer === '' ? {} : { component: series.scorer }),
      ...(series.environment === '' ? {} : { group: series.environment }),
      class: detector,
      custom_details: { ...labels, ...buildAnnotations(event, config) },
    },
    links: buildLinks(event, config),
  };
}

function buildLinks(event: AlertEvent, links: AlertLinks): object[] {
  const { runbook_url: runbook } = event.annotations;
  const traces = event.worstTraces.flatMap(({ traceId }) => {
    const href = traceLink(traceId, event, links);
    return href === undefined ? [] : [{ href, text: `trace ${traceId}` }];
  });
  return [...(runbook === undefined ? [] : [{ href: runbook, text: 'runbook' }]), ...traces].slice(
    0,
    MAX_LINKS,
  );
}
