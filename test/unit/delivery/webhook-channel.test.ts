import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildLabels } from '../../../src/monitors/alert-event.ts';
import { goTime, labelFingerprint } from '../../../src/delivery/channels/prometheus.ts';
import {
  alertmanagerBody,
  webhookChannel,
  type WebhookContent,
} from '../../../src/delivery/channels/webhook.ts';
import { alertOfScorer, anAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { recordedPost } from '../../support/fakes/recorded-post.ts';

const never = new AbortController().signal;
const NOW = Date.UTC(2026, 10, 21, 11);
const LINKS = { publicUrl: 'https://scores.example' };

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

async function sent(...events: ReturnType<typeof anAlert>[]) {
  const { requests, post } = recordedPost();
  const channel = webhookChannel.open(
    { url: 'https://hooks.example/alerts', secret: 'a secret' },
    { name: 'webhook-ops', post, now: () => NOW, ...LINKS },
  );
  const outcome = await channel.send({ id: events[0]?.id ?? '', events }, never);
  const [request] = requests;
  return { outcome, request, body: JSON.parse(request?.body ?? '') as Recording['body'] };
}

describe('a body', () => {
  it.each(recordings.map((recording) => [recording.body.status, recording] as const))(
    'is byte for byte what a real Alertmanager sent of the same: %s',
    (_status, { body, headers }) => {
      const written = alertmanagerBody(body);
      expect(written).toBe(`${JSON.stringify(body)}\n`);
      expect(String(Buffer.byteLength(written))).toBe(headers['content-length']);
    },
  );

  it('has the keys of a real one, in their order', async () => {
    const { body } = await sent(anAlert());
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
    const { body, outcome } = await sent(event);
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
            'The change began about 2026-11-21 06:40 UTC; 69 observations since then, evidence 5.3 (log10). Besides, 2 scores came more than an hour after the trace, too late to count. Most of it: model gpt-5-mini: 82 % of the change (0.91 → 0.4, 41 scores).',
          incident_id: event.incidentId,
          late_scores: '2',
          log10_evidence: '5.31',
          n: '69',
          runbook_url: 'https://example.com/runbook',
          sample_trace_ids: '0af7651916cd43dd8448eb211c80319c',
          sample_trace_urls: 'https://scores.example/traces/0af7651916cd43dd8448eb211c80319c',
          segments:
            'model gpt-5-mini: 82 % of the change (0.91 → 0.4, 41 scores); model gpt-5: 18 % of the change (0.91 → 0.7, 28 scores)',
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
    const [firing, resolved] = [await sent(anAlert()), await sent(resolvedEvent(anAlert()))];
    expect(resolved.body).toMatchObject({ status: 'resolved', notification_reason: 'all alerts resolved' });
    expect(resolved.body.alerts[0]?.endsAt).toBe('2026-11-21T15:10:00Z');
    expect(resolved.body.alerts[0]?.labels).toEqual(firing.body.alerts[0]?.labels);
    expect(resolved.body.alerts[0]?.fingerprint).toBe(firing.body.alerts[0]?.fingerprint);
    expect(resolved.body.groupKey).toBe(firing.body.groupKey);
  });

  it('of a part of a series has its values in the labels, where they are known, and those of a rule yield', async () => {
    const series = { ...anAlert().series, model: 'gpt-5', agentVersion: '2', service: '' };
    const { body } = await sent(anAlert({ series, labels: { model: 'any' } }));
    expect(body.alerts[0]?.labels).toEqual({
      ...buildLabels(anAlert({ labels: {} })),
      model: 'gpt-5',
      agent_version: '2',
    });
  });

  it('of several alerts has in common what they have in common', async () => {
    const { body } = await sent(anAlert(), alertOfScorer('toxicity', { labels: { severity: 'info' } }));
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
    const { body } = await sent(
      anAlert({
        labels: { scorer: 'another', team: '<a&b>', __proto__: 'x' },
        annotations: { summary: 'Look!' },
      }),
    );
    expect(body.alerts[0]?.labels).toMatchObject({ scorer: 'faithfulness', team: '<a&b>' });
    expect(body.alerts[0]?.annotations['summary']).toBe('Look!');
  });

  it('escapes as programs in Go do', async () => {
    const { request } = await sent(anAlert({ labels: { team: '<a&b>' } }));
    expect(request?.body).toContain(String.raw`"team":"\u003ca\u0026b\u003e"`);
    expect(request?.body.endsWith('}\n')).toBe(true);
  });
});

it('a message is signed over its exact bytes, with the id of its event', async () => {
  const event = anAlert();
  const { request } = await sent(event);
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
