import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alertmanagerChannel } from '../../../src/delivery/channels/alertmanager.ts';
import type { AlertChannel } from '../../../src/delivery/channels/channel.ts';
import { pagerdutyChannel } from '../../../src/delivery/channels/pagerduty.ts';
import { goTime, labelFingerprint } from '../../../src/delivery/channels/prometheus.ts';
import { slackChannel } from '../../../src/delivery/channels/slack.ts';
import {
  type WebhookContent,
  alertmanagerBody,
  webhookChannel,
} from '../../../src/delivery/channels/webhook.ts';
import { type AlertEvent, buildLabels } from '../../../src/monitors/alert-event.ts';
import { alertOfScorer, anAlert, budgetAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { recordedPost } from '../../support/fakes/recorded-post.ts';

const never = new AbortController().signal;
const NOW = Date.UTC(2026, 10, 21, 11);
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const { requests, post } = recordedPost();
const parts = { name: 'ops', post, now: () => NOW, publicUrl: 'https://scores.example' };
const EVENTS_URL = 'https://events.pagerduty.com/v2/enqueue';

async function sent(channel: AlertChannel, ...events: AlertEvent[]) {
  expect(await channel.send({ id: events[0]?.id ?? '', events }, never)).toEqual({ kind: 'delivered' });
  const request = requests.at(-1);
  return { url: request?.url, body: JSON.parse(request?.body ?? '') };
}

describe('an Alertmanager', () => {
  const channel = alertmanagerChannel.open('http://am.example:9093/x/', parts);

  it('gets a beginning with an end three reminders from now', async () => {
    const { url, body } = await sent(channel, anAlert());
    expect(url).toBe('http://am.example:9093/x/api/v2/alerts');
    expect(body).toEqual([
      {
        labels: {
          agent: 'support-agent',
          alertname: 'ScoreDrift',
          detector: 'drift',
          environment: 'production',
          scorer: 'faithfulness',
          scorer_fingerprint: 'f'.repeat(32),
          severity: 'page',
        },
        annotations: expect.objectContaining({ current_mean: '0.52', sample_trace_ids: TRACE }),
        startsAt: '2026-11-21T10:10:00Z',
        endsAt: '2026-11-21T11:03:00Z',
        generatorURL: 'https://scores.example/alerts',
      },
    ]);
  });

  it('gets an end with the same labels', async () => {
    const [firing, resolved] = [
      await sent(channel, anAlert()),
      await sent(channel, resolvedEvent(anAlert())),
    ];
    expect(resolved.body[0].labels).toEqual(firing.body[0].labels);
    expect(resolved.body[0].endsAt).toBe('2026-11-21T15:10:00Z');
  });

  it('has no value in a label: what changes while an alert lasts would make another alert of it', async () => {
    const worse = anAlert({ before: 0.9, after: 0.1, count: 1_000, evidenceLog10: 99, serviceVersion: '9' });
    const [first, second] = [await sent(channel, anAlert()), await sent(channel, worse)];
    expect(second.body[0].labels).toEqual(first.body[0].labels);
  });

  it('gets the budget, its period and the percentage of an alert about a budget as labels, and the money as annotations', async () => {
    const { body } = await sent(channel, budgetAlert(80, 4.1));
    expect(body[0].labels).toEqual({
      alertname: 'BudgetSpent',
      budget: 'rule production',
      budget_percent: '80',
      budget_period: 'day',
      detector: 'budget',
      severity: 'warning',
    });
    expect(body[0].annotations).toEqual({
      budget_cap_usd: '5',
      budget_renews_at: '2026-11-22T00:00:00.000Z',
      budget_spent_usd: '4.1',
      description: 'The budget renews at 2026-11-22 00:00 UTC.',
      incident_id: budgetAlert(80, 4.1).incidentId,
      summary: "rule production's budget of 5 USD a UTC day: 80 % is reached, 4.1 USD are spent",
    });
  });

  it('is reminded of many in requests of a hundred', async () => {
    const events = Array.from({ length: 205 }, (_, index) => alertOfScorer(`scorer-${index}`));
    const before = requests.length;
    expect(await channel.reminders?.send(events, never)).toEqual({ kind: 'delivered' });
    const sizes = requests.slice(before).map(({ body }) => (JSON.parse(body) as unknown[]).length);
    expect(sizes).toEqual([100, 100, 5]);
  });
});

describe('PagerDuty', () => {
  const channel = pagerdutyChannel.open({ routingKey: 'key', url: EVENTS_URL }, parts);

  it('gets a budget as the source of its alert', async () => {
    const { body } = await sent(channel, budgetAlert(100, 5));
    expect(body.payload).toMatchObject({
      source: "rule production's budget of 5 USD a UTC day",
      severity: 'warning',
      class: 'budget',
    });
    expect(body.payload).not.toHaveProperty('component');
  });

  it('opens an incident', async () => {
    const event = anAlert();
    const { url, body } = await sent(channel, event);
    expect(url).toBe(EVENTS_URL);
    expect(body).toEqual({
      routing_key: 'key',
      event_action: 'trigger',
      dedup_key: event.incidentId,
      client: 'spanscore',
      client_url: 'https://scores.example/alerts',
      payload: {
        summary:
          'ScoreDrift: faithfulness of support-agent in production: mean score fell from 0.91 to 0.52 (1 is best)',
        source: 'support-agent',
        severity: 'critical',
        timestamp: '2026-11-21T10:10:00.000Z',
        component: 'faithfulness',
        group: 'production',
        class: 'drift',
        custom_details: expect.objectContaining({
          baseline_mean: '0.91',
          current_mean: '0.52',
          n: '69',
          change_started_at: '2026-11-21T06:40:00.000Z',
          cause: expect.stringContaining('gpt-5-mini'),
        }),
      },
      links: [
        { href: 'https://example.com/runbook', text: 'runbook' },
        { href: `https://scores.example/traces/${TRACE}`, text: `trace ${TRACE}` },
      ],
    });
  });

  it('closes the same incident, whatever its beginning contained', async () => {
    const event = anAlert();
    expect((await sent(channel, resolvedEvent(event))).body).toEqual({
      routing_key: 'key',
      event_action: 'resolve',
      dedup_key: event.incidentId,
    });
  });

  it.each([
    ['critical', 'critical'],
    ['PAGE', 'critical'],
    ['warning', 'warning'],
    ['info', 'info'],
    ['anything', 'error'],
  ])('takes the severity %s for %s', async (severity, expected) => {
    const { body } = await sent(channel, anAlert({ labels: { severity } }));
    expect(body.payload.severity).toBe(expected);
  });

  it('gets no more than it takes: 1,024 characters of summary, and a source always', async () => {
    const series = { ...anAlert().series, agent: '', environment: '' };
    const { body } = await sent(channel, anAlert({ series, alert: 'x'.repeat(2_000) }));
    expect(body.payload.summary).toHaveLength(1_024);
    expect(body.payload.summary.endsWith('…')).toBe(true);
    expect(body.payload.source).toBe('faithfulness');
    expect(body.payload).not.toHaveProperty('group');
  });

  it('has other addresses', async () => {
    const eu = pagerdutyChannel.open(
      { routingKey: 'key', url: 'https://events.eu.pagerduty.com/v2/enqueue' },
      parts,
    );
    expect((await sent(eu, anAlert())).url).toBe('https://events.eu.pagerduty.com/v2/enqueue');
  });
});

describe('Slack', () => {
  const channel = slackChannel.open({ url: 'https://hooks.slack.example/T/B/x' }, parts);

  it('gets a beginning in blocks, and in a text for devices without blocks', async () => {
    const { url, body } = await sent(channel, anAlert({ serviceVersion: '1.2.3', agentVersion: '7' }));
    const sentence =
      'faithfulness of support-agent in production: mean score fell from 0.91 to 0.52 (1 is best)';
    expect(url).toBe('https://hooks.slack.example/T/B/x');
    expect(body).toEqual({
      text: `Firing: ScoreDrift\nScoreDrift: ${sentence}`,
      unfurl_links: false,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Firing: ScoreDrift', emoji: false } },
        {
          type: 'section',
          text: {
            type: 'mrkdwn',
            text: [
              `*<https://scores.example/alerts|ScoreDrift>*: ${sentence}`,
              'The change began about 2026-11-21 06:40 UTC; 69 observations since then, evidence 5.3 (log10).',
              'Version 1.2.3',
              'Agent version 7',
              '• −0.30 in faithfulness: 100 % within model gpt-5-mini (0.91 → 0.40), mix 0 %.',
              `• trace <https://scores.example/traces/${TRACE}|${TRACE}>: 0.1`,
              'Runbook: https://example.com/runbook',
            ].join('\n'),
          },
        },
      ],
    });
  });

  it('gets an end in one line', async () => {
    const { body } = await sent(channel, resolvedEvent(anAlert()));
    expect(body.blocks[0].text.text).toBe('Resolved: ScoreDrift');
    expect(body.blocks[1].text.text).toBe(
      '*<https://scores.example/alerts|ScoreDrift>*: faithfulness of support-agent in production: over after 5 h',
    );
  });

  it('gets alerts of one deploy together', async () => {
    const version = { serviceVersion: '1.2.3' };
    const { body } = await sent(channel, anAlert(version), alertOfScorer('toxicity', version));
    expect(body.blocks[0].text.text).toBe('Firing: 2 alerts of support-agent 1.2.3');
    expect(body.blocks).toHaveLength(3);
  });

  it('reads no sign of its own in a name', async () => {
    const { body } = await sent(channel, alertOfScorer('<!channel> & <https://x|y>'));
    expect(body.text).not.toMatch(/<|&(?!amp;|lt;|gt;)/);
    expect(body.blocks[1].text.text).toContain('&lt;!channel&gt; &amp; &lt;https://x|y&gt; of support-agent');
  });

  it('gets no more than it takes', async () => {
    const long = alertOfScorer('&'.repeat(5_000), { alert: 'x'.repeat(500) });
    const { body } = await sent(channel, long);
    expect(body.text.length).toBeLessThanOrEqual(4_000);
    expect(body.blocks[0].text.text.length).toBeLessThanOrEqual(150);
    expect(body.blocks[1].text.text.length).toBeLessThanOrEqual(3_000);
    expect(body.blocks[1].text.text).not.toMatch(/&(?!amp;)/);
  });

  it('gets a message below 12,000 characters in all, with every alert in it', async () => {
    const many = Array.from({ length: 10 }, (_, index) =>
      alertOfScorer(`s${index}-${'"'.repeat(400)}`, {
        annotations: { runbook_url: `https://x/${'y'.repeat(2_000)}` },
        cause: { ...anAlert().cause!, sentence: 'm'.repeat(3_000) },
      }),
    );
    const { body } = await sent(channel, ...many);
    expect(JSON.stringify(body).length).toBeLessThan(12_000);
    expect(body.blocks).toHaveLength(11);
    many.forEach(({ series }, index) =>
      expect(body.blocks[index + 1].text.text).toContain(series.scorer.slice(0, 20)),
    );
  });

  it('names the number of agents of a message about several', async () => {
    const other = anAlert({ series: { ...anAlert().series, agent: 'sales-agent' } });
    const { body } = await sent(channel, anAlert(), other);
    expect(body.blocks[0].text.text).toBe('Firing: 2 alerts of 2 agents');
  });
});

async function readOutcome(reply: { status: number; retryAfterMs?: number | undefined; text?: string }) {
  const url = 'https://hooks.slack.example/secret';
  const channel = slackChannel.open({ url }, { ...parts, post: recordedPost(() => reply).post });
  return channel.send({ id: '1', events: [anAlert()] }, never);
}

describe('a reply', () => {
  it.each([200, 202])('with status %i is a receipt', async (status) => {
    expect(await readOutcome({ status })).toEqual({ kind: 'delivered' });
  });

  it.each([301, 307, 408, 429, 500, 503])('with status %i calls for another attempt', async (status) => {
    expect(await readOutcome({ status })).toMatchObject({
      kind: status === 429 ? 'away' : 'failed',
      error: { code: 'delivery_failed', stage: 'alert', retryable: true },
    });
  });

  it.each([400, 401, 403, 404, 410])('with status %i is the last word', async (status) => {
    expect(await readOutcome({ status, text: 'no_service\n' })).toMatchObject({
      kind: 'refused',
      error: {
        retryable: false,
        // What follows the origin of a web hook is its key.
        message: `https://hooks.slack.example answered HTTP ${status}: no_service`,
      },
    });
  });

  it('that asks for a pause delays all messages, a failure only its own', async () => {
    const answers: [number, number | undefined, string][] = [
      [429, 7_000, 'away'],
      [429, undefined, 'away'],
      [503, 7_000, 'away'],
      [500, undefined, 'failed'],
    ];
    for (const [status, retryAfterMs, kind] of answers) {
      expect(await readOutcome({ status, retryAfterMs })).toMatchObject({ kind, error: { retryAfterMs } });
    }
  });
});

interface Recording {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: WebhookContent & { readonly routeLabels: object; readonly groupKey: string };
}

const recordings = readFileSync(
  new URL('../../fixtures/alerts/alertmanager-webhook-bodies.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recording);

async function sentToHook(...events: ReturnType<typeof anAlert>[]) {
  const recorded = recordedPost();
  const channel = webhookChannel.open(
    { url: 'https://hooks.example/alerts', secret: 'a secret' },
    { ...parts, name: 'webhook-ops', post: recorded.post },
  );
  const outcome = await channel.send({ id: events[0]?.id ?? '', events }, never);
  const [request] = recorded.requests;
  return { outcome, request, body: JSON.parse(request?.body ?? '') as Recording['body'] };
}

describe('the body of a web hook', () => {
  it.each(recordings.map((recording) => [recording.body.status, recording] as const))(
    'is byte for byte what a real Alertmanager sent of the same: %s',
    (_status, { body, headers }) => {
      const written = alertmanagerBody(body);
      expect(written).toBe(`${JSON.stringify(body)}\n`);
      expect(String(Buffer.byteLength(written))).toBe(headers['content-length']);
    },
  );

  it('has the keys of a real one, in their order', async () => {
    const { body } = await sentToHook(anAlert());
    const real = recordings[0]?.body;
    expect(Object.keys(body)).toEqual(Object.keys(real ?? {}));
    expect(Object.keys(body.alerts[0] ?? {})).toEqual(Object.keys(real?.alerts[0] ?? {}));
  });

  it('names an alert by the fingerprint that Prometheus gives its labels', () => {
    for (const { body } of recordings) {
      for (const { labels, fingerprint } of body.alerts) {
        expect(labelFingerprint(labels)).toBe(fingerprint);
      }
    }
  });

  it('of a beginning has what is known of it', async () => {
    const event = anAlert({ serviceVersion: '1.2.3', agentVersion: '7', lateScores: 2 });
    const { body, outcome } = await sentToHook(event);
    expect(outcome).toEqual({ kind: 'delivered' });
    expect(body).toMatchObject({
      receiver: 'webhook-ops',
      status: 'firing',
      notification_reason: 'first notification',
      version: '4',
      truncatedAlerts: 0,
    });
    expect(body.alerts).toEqual([
      {
        status: 'firing',
        labels: {
          agent: 'support-agent',
          alertname: 'ScoreDrift',
          detector: 'drift',
          environment: 'production',
          scorer: 'faithfulness',
          scorer_fingerprint: 'f'.repeat(32),
          severity: 'page',
        },
        annotations: {
          agent_version: '7',
          baseline_mean: '0.91',
          change_started_at: '2026-11-21T06:40:00.000Z',
          current_mean: '0.52',
          description:
            'The change began about 2026-11-21 06:40 UTC; 69 observations since then, evidence 5.3 (log10). Besides, 2 scores came more than an hour after the trace, too late to count. −0.30 in faithfulness: 100 % within model gpt-5-mini (0.91 → 0.40), mix 0 %.',
          incident_id: event.incidentId,
          late_scores: '2',
          log10_evidence: '5.31',
          n: '69',
          runbook_url: 'https://example.com/runbook',
          sample_trace_ids: '0af7651916cd43dd8448eb211c80319c',
          sample_trace_urls: 'https://scores.example/traces/0af7651916cd43dd8448eb211c80319c',
          cause: '−0.30 in faithfulness: 100 % within model gpt-5-mini (0.91 → 0.40), mix 0 %.',
          service_version: '1.2.3',
          summary:
            'faithfulness of support-agent in production: mean score fell from 0.91 to 0.52 (1 is best)',
        },
        startsAt: '2026-11-21T10:10:00Z',
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: 'https://scores.example/alerts',
        fingerprint: labelFingerprint(body.alerts[0]?.labels ?? {}),
      },
    ]);
  });

  it('of an end has the labels, the fingerprint and the group of its beginning', async () => {
    const [firing, resolved] = [await sentToHook(anAlert()), await sentToHook(resolvedEvent(anAlert()))];
    expect(resolved.body).toMatchObject({ status: 'resolved', notification_reason: 'all alerts resolved' });
    expect(resolved.body.alerts[0]?.endsAt).toBe('2026-11-21T15:10:00Z');
    expect(resolved.body.alerts[0]?.labels).toEqual(firing.body.alerts[0]?.labels);
    expect(resolved.body.alerts[0]?.fingerprint).toBe(firing.body.alerts[0]?.fingerprint);
    expect(resolved.body.groupKey).toBe(firing.body.groupKey);
  });

  it('of a part of a series has its values in the labels, where they are known, and those of a rule yield', async () => {
    const series = { ...anAlert().series, model: 'gpt-5', agentVersion: '2', service: '' };
    const { body } = await sentToHook(anAlert({ series, labels: { model: 'any' } }));
    expect(body.alerts[0]?.labels).toEqual({
      ...buildLabels(anAlert({ labels: {} })),
      model: 'gpt-5',
      agent_version: '2',
    });
  });

  it('of several alerts has in common what they have in common', async () => {
    const { body } = await sentToHook(anAlert(), alertOfScorer('toxicity', { labels: { severity: 'info' } }));
    expect(body.alerts.map(({ labels }) => labels['scorer'])).toEqual(['faithfulness', 'toxicity']);
    expect(body.commonLabels).toEqual({
      agent: 'support-agent',
      alertname: 'ScoreDrift',
      detector: 'drift',
      environment: 'production',
      scorer_fingerprint: 'f'.repeat(32),
    });
    expect(body.groupKey).toBe(
      `{}:{agent="support-agent", alertname="ScoreDrift", environment="production", scorer_fingerprint="${'f'.repeat(32)}"}`,
    );
  });

  it('lets no label of a rule pose as what identifies the series, and its annotations win', async () => {
    const { body } = await sentToHook(
      anAlert({
        labels: { scorer: 'another', team: '<a&b>', __proto__: 'x' },
        annotations: { summary: 'Look!' },
      }),
    );
    expect(body.alerts[0]?.labels).toMatchObject({ scorer: 'faithfulness', team: '<a&b>' });
    expect(body.alerts[0]?.annotations['summary']).toBe('Look!');
  });

  it('escapes as programs in Go do', async () => {
    const { request } = await sentToHook(anAlert({ labels: { team: '<a&b>' } }));
    expect(request?.body).toContain(String.raw`"team":"\u003ca\u0026b\u003e"`);
    expect(request?.body.endsWith('}\n')).toBe(true);
  });
});

it('a message is signed over its exact bytes, with the id of its event', async () => {
  const event = anAlert();
  const { request } = await sentToHook(event);
  const {
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': signature,
  } = request?.headers ?? {};
  expect([id, at]).toEqual([event.id, String(NOW / 1000)]);
  const expected = createHmac('sha256', 'a secret').update(`${id}.${at}.${request?.body}`).digest('base64');
  expect(signature).toBe(`v1,${expected}`);
});

it.each([
  [0, '1970-01-01T00:00:00Z'],
  [1_500, '1970-01-01T00:00:01.5Z'],
  [1_120, '1970-01-01T00:00:01.12Z'],
  [600_000, '1970-01-01T00:10:00Z'],
])('the time %i is written as in Go', (unixMs, text) => {
  expect(goTime(unixMs)).toBe(text);
});
