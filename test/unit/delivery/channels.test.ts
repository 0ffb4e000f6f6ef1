import { describe, expect, it } from 'vitest';
import type { AlertChannel } from '../../../src/delivery/channels/channel.ts';
import { alertmanagerChannel } from '../../../src/delivery/channels/alertmanager.ts';
import { pagerdutyChannel } from '../../../src/delivery/channels/pagerduty.ts';
import { slackChannel } from '../../../src/delivery/channels/slack.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import { alertOfScorer, anAlert, budgetAlert, PAST, resolvedEvent } from '../../support/builders/an-alert.ts';
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
          segments: expect.stringContaining('gpt-5-mini'),
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
              '• model gpt-5-mini: 82 % of the change (0.91 → 0.4, 41 scores)',
              '• model gpt-5: 18 % of the change (0.91 → 0.7, 28 scores)',
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
        segments: Array.from({ length: 5 }, () => ({
          dimension: 'model' as const,
          value: 'm'.repeat(600),
          count: 1,
          mean: 0.1,
          ...PAST,
          share: 0.2,
        })),
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
