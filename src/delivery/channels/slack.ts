import { z } from 'zod';
import { channelName, hookUrl } from '../../config/schema/fields.ts';
import { cutText } from '../../domain/cut-text.ts';
import type { AlertEvent } from '../../monitors/alert-event.ts';
import {
  ALERTS_PAGE,
  formatFinding,
  numberText,
  listCauses,
  formatSummary,
  pageLink,
  traceLink,
} from './alert-text.ts';
import { type AlertLinks, type AlertMessage, defineChannel, postAlert } from './channel.ts';

const MAX_EVENTS = 10;
const MAX_HEADER_CHARS = 150;
const MAX_SECTION_CHARS = 3_000;
const MAX_TEXT_CHARS = 4_000;
/** Limit of a whole message; Slack refuses longer ones. */
const MAX_MESSAGE_CHARS = 12_000;

/**
 * The channels of `alerts.slack`: one Slack message for each alert message. `text` is shown by devices without blocks. Slack
 * cannot recognise a repeat.
 */
export const slackChannel = defineChannel({
  name: 'slack',
  options: z
    .array(z.strictObject({ name: channelName, url: hookUrl('An incoming-webhook URL.') }))
    .describe('Slack channels.'),
  mayBePrivate: false,
  readTarget: ({ name, url }) => ({ url, name, identity: { key: 'url', value: url } }),
  open: ({ url }, { name, post, publicUrl }) => ({
    name,
    maxEvents: MAX_EVENTS,
    send: (message, signal) =>
      postAlert({ url, body: writeBody(message, { publicUrl }), headers: {} }, post, signal),
  }),
});

/** Writes the body of a message. Sections of several alerts are shortened until all of them fit. */
function writeBody(message: AlertMessage, links: AlertLinks): string {
  for (let sectionChars = MAX_SECTION_CHARS; ; sectionChars = Math.floor(sectionChars / 2)) {
    const body = JSON.stringify(slackBody(message, links, sectionChars));
    if (body.length < MAX_MESSAGE_CHARS || sectionChars === 0) {
      return body;
    }
  }
}

function slackBody({ events }: AlertMessage, links: AlertLinks, sectionChars: number): object {
  const title = formatTitle(events);
  const lines = events.map((event) => `${escape(event.alert)}: ${escape(formatSummary(event))}`);
  const textChars = Math.min(MAX_TEXT_CHARS, sectionChars * 2);
  return {
    text: joinLines([escape(title), ...lines], textChars),
    unfurl_links: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutText(title, MAX_HEADER_CHARS), emoji: false } },
      ...events.map((event) => ({
        type: 'section',
        text: { type: 'mrkdwn', text: joinLines(formatLines(event, links), sectionChars) },
      })),
    ],
  };
}

function formatTitle(events: readonly AlertEvent[]): string {
  const [first] = events;
  const word = first?.status === 'resolved' ? 'Resolved' : 'Firing';
  if (events.length === 1) {
    return `${word}: ${first?.alert ?? ''}`;
  }
  const agents = new Set(events.map(({ series }) => series.agent));
  const subject =
    agents.size > 1
      ? `${agents.size} agents`
      : [first?.series.agent, first?.agentVersion || first?.serviceVersion].filter(Boolean).join(' ');
  return `${word}: ${events.length} alerts${subject === '' ? '' : ` of ${subject}`}`;
}

function formatLines(event: AlertEvent, links: AlertLinks): string[] {
  const headline = `*${writeLink(event.alert, pageLink(ALERTS_PAGE, links))}*: ${escape(formatSummary(event))}`;
  if (event.status === 'resolved') {
    return [headline];
  }
  const { runbook_url: runbook } = event.annotations;
  return [
    headline,
    escape(formatFinding(event)),
    ...(event.serviceVersion === '' ? [] : [`Version ${escape(event.serviceVersion)}`]),
    ...(event.agentVersion === '' ? [] : [`Agent version ${escape(event.agentVersion)}`]),
    ...listCauses(event).map((text) => `• ${escape(text)}`),
    ...event.worstTraces.map(
      ({ traceId, score }) =>
        `• trace ${writeLink(traceId, traceLink(traceId, event, links))}: ${numberText(score)}`,
    ),
    ...(runbook === undefined ? [] : [`Runbook: ${escape(runbook)}`]),
  ];
}

/** Writes a text as a link, if it has an address. */
function writeLink(text: string, href: string | undefined): string {
  return href === undefined ? escape(text) : `<${escapeUrl(href)}|${escape(text)}>`;
}

/** Escapes `&`, `<` and `>`, which mark links and mentions in Slack. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Escapes an address: inside a link, a `|` would end it. */
function escapeUrl(url: string): string {
  return escape(url).replaceAll('|', '%7C');
}

/** Joins as many whole lines as fit. A first line that is too long is cut, but never within an escaped character. */
function joinLines(lines: readonly string[], limit: number): string {
  let text = cutText(lines[0] ?? '', limit).replace(/&[a-z]{0,3}…$/, '…');
  for (const line of lines.slice(1)) {
    const longer = `${text}\n${line}`;
    if (longer.length > limit) {
      break;
    }
    text = longer;
  }
  return text;
}
