import { z } from 'zod';
import { channelName, httpUrl, secret } from '../../config/schema/fields.ts';
import { cutText } from '../../domain/cut-text.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import { ALERTS_PAGE, formatSubject, formatSummary, pageLink, traceLink } from './alert-text.ts';
import { type AlertLinks, defineChannel, postAlert } from './channel.ts';
import { buildAnnotations } from './prometheus.ts';

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
 * The channels of `alerts.pagerduty`, Events API v2: one event opens an incident there and one closes it. Both, and every repeat,
 * share a `dedup_key`, which is the incident's id.
 */
export const pagerdutyChannel = defineChannel({
  name: 'pagerduty',
  options: z
    .array(
      z.strictObject({
        name: channelName,
        routingKey: secret('Integration key of the Events API v2.'),
        url: httpUrl('URL for events. Change it for another service region.').default(
          'https://events.pagerduty.com/v2/enqueue',
        ),
      }),
    )
    .describe('PagerDuty services.'),
  mayBePrivate: false,
  readTarget: ({ name, routingKey, url }) => ({
    url,
    name,
    identity: { key: 'routingKey', value: routingKey },
  }),
  open: ({ routingKey, url }, { name, post, publicUrl }) => ({
    name,
    maxEvents: 1,
    async send({ events: [event] }, signal) {
      if (event === undefined) {
        return { kind: 'delivered' };
      }
      const isFiring = event.status === 'firing';
      const body = JSON.stringify({
        routing_key: routingKey,
        event_action: isFiring ? 'trigger' : 'resolve',
        dedup_key: event.incidentId,
        ...(isFiring ? buildTrigger(event, { publicUrl }) : {}),
      });
      return postAlert({ url, body, headers: {} }, post, signal);
    },
  }),
});

function buildTrigger(event: AlertEvent, links: AlertLinks): object {
  const { series, detector, labels } = event;
  return {
    client: 'spanscore',
    client_url: pageLink(ALERTS_PAGE, links),
    payload: {
      summary: cutText(`${event.alert}: ${formatSummary(event)}`, MAX_SUMMARY_CHARS),
      source: series.agent || series.scorer || formatSubject(event),
      severity: SEVERITIES.get((labels['severity'] ?? '').toLowerCase()) ?? 'error',
      timestamp: new Date(event.startsAtMs).toISOString(),
      ...(series.scorer === '' ? {} : { component: series.scorer }),
      ...(series.environment === '' ? {} : { group: series.environment }),
      class: detector,
      custom_details: { ...labels, ...buildAnnotations(event, links) },
    },
    links: buildLinks(event, links),
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
