import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createOtlpExporters, type OtlpForm } from '../../../src/delivery/exporters/otlp.ts';
import { startScoreDelivery } from '../../../src/delivery/deliver-scores.ts';
import type { DeliveryLoop } from '../../../src/delivery/deliver.ts';
import type { DeadLetterSink } from '../../../src/store/contracts/dead-letters.ts';
import type { ScoreExporter } from '../../../src/delivery/exporters/exporter.ts';
import { createWebhookExporter } from '../../../src/delivery/exporters/webhook.ts';
import { createLog, silentLog } from '../../../src/telemetry/log.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { memoryScoreFeed } from '../../support/fakes/memory-score-feed.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { soleDuties } from '../../support/fakes/sole-duties.ts';
import type { ScoreFeed } from '../../../src/store/scores/exports.ts';

let receiver: HttpReceiver;
let loops: DeliveryLoop[];

beforeEach(async () => {
  receiver = await startHttpReceiver();
  loops = [];
});
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()));
  await receiver.close();
});

function otlp(...as: OtlpForm[]): ScoreExporter[] {
  return otlpWithin(60_000, ...as);
}

function otlpWithin(timeoutMs: number, ...as: OtlpForm[]): ScoreExporter[] {
  return createOtlpExporters({
    endpoint: `${receiver.url}/`,
    as,
    headers: { 'x-team': 'a' },
    version: '0.1.0',
    attempts: 2,
    timeoutMs,
  });
}

async function run(
  feed: ScoreFeed,
  exporters: ScoreExporter[],
  deadLetters: DeadLetterSink = recordingLetters(),
): Promise<DeliveryLoop> {
  const loop = await startScoreDelivery(
    exporters,
    { intervalMs: 5, firstRetryMs: 5, maxRetryMs: 20, drainMs: 60_000 },
    { feed, deadLetters, duties: soleDuties, log: silentLog, random: () => 0.5 },
  );
  loops.push(loop);
  return loop;
}

interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  events: { name: string; timeUnixNano: string; attributes: JsonSpan['attributes'] }[];
  links: { traceId: string; spanId: string }[];
}

function listSpans(request: { body: string } | undefined): JsonSpan[] {
  const body = JSON.parse(request?.body ?? '{}') as {
    resourceSpans: { scopeSpans: { scope: { name: string }; spans: JsonSpan[] }[] }[];
  };
  return body.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
}

function readAttributes(item: { attributes: JsonSpan['attributes'] } | undefined): Record<string, unknown> {
  return Object.fromEntries((item?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}

const expectedAttributes = {
  'gen_ai.evaluation.name': 'hallucination',
  'gen_ai.evaluation.score.value': 0.25,
  'gen_ai.evaluation.score.label': 'hallucinated',
  'gen_ai.evaluation.explanation': 'One of four claims is not backed.',
  'spanscore.score.id': aScore().scoreId,
  'spanscore.score.revision': 1,
  'spanscore.scorer.version': '1',
  'spanscore.scorer.fingerprint': 'f'.repeat(32),
};

describe('evaluation spans', () => {
  test('arrive in the scored trace, below the scored span and linked to it, at the scored time', async () => {
    const feed = memoryScoreFeed(aScore());
    await run(feed, otlp('span-event'));

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);

    const [request] = receiver.requests;
    expect(request?.path).toBe('/v1/traces');
    expect(request?.headers['x-team']).toBe('a');
    expect(request?.body).toContain('"scope":{"name":"spanscore"');
    const [span] = listSpans(request);
    expect(span).toMatchObject({
      traceId: aScore().traceId,
      parentSpanId: aScore().spanId,
      startTimeUnixNano: '1763712345678000000',
      endTimeUnixNano: '1763712345678000000',
      links: [{ traceId: aScore().traceId, spanId: aScore().spanId }],
      events: [{ name: 'gen_ai.evaluation.result', timeUnixNano: '1763712345678000000' }],
    });
    expect(readAttributes(span)).toMatchObject(expectedAttributes);
    expect(readAttributes(span?.events[0])).toMatchObject(expectedAttributes);
  });

  test('have the same id when sent again, and another for another revision', async () => {
    for (const revision of [1, 1, 2]) {
      const feed = memoryScoreFeed(aScore({ revision }));
      await (await run(feed, otlp('span-event'))).stop();
    }

    const ids = receiver.requests.map((request) => listSpans(request)[0]?.spanId);
    expect(ids).toHaveLength(3);
    expect(ids[0]).toMatch(/^[0-9a-f]{16}$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test('of a session, which has no span, stand in a trace of their own', async () => {
    const feed = memoryScoreFeed(aScore({ traceId: '', spanId: '', target: 'session', targetId: 'sess-1' }));
    await run(feed, otlp('span-event'));
    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);

    const [span] = listSpans(receiver.requests[0]);
    expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(span?.parentSpanId ?? '').toBe('');
    expect(span?.links ?? []).toEqual([]);
  });

  test('are sent for human scores too, and never for withdrawn ones', async () => {
    const human = aScore({ scoreId: 'human', source: 'human', judgeModel: '' });
    const withdrawn = aScore({ scoreId: 'withdrawn', isDeleted: true });
    const feed = memoryScoreFeed(human, withdrawn);
    await run(feed, otlp('span-event'));
    await expect.poll(() => feed.marked('otlp-span-event')).toEqual(['human/1']);

    const spans = receiver.requests.flatMap(listSpans);
    expect(spans.map((span) => readAttributes(span)['spanscore.score.id'])).toEqual(['human']);
  });
});

describe('evaluation log records', () => {
  test('arrive with the context of the scored span', async () => {
    const feed = memoryScoreFeed(aScore());
    await run(feed, otlp('log'));
    await expect.poll(() => feed.marked('otlp-log')).toHaveLength(1);

    const [request] = receiver.requests;
    expect(request?.path).toBe('/v1/logs');
    const body = JSON.parse(request?.body ?? '{}') as {
      resourceLogs: {
        scopeLogs: { scope: { name: string }; logRecords: (JsonSpan & { eventName: string })[] }[];
      }[];
    };
    const scopeLogs = body.resourceLogs[0]?.scopeLogs[0];
    expect(scopeLogs?.scope.name).toBe('spanscore');
    expect(scopeLogs?.logRecords[0]).toMatchObject({
      traceId: aScore().traceId,
      spanId: aScore().spanId,
      eventName: 'gen_ai.evaluation.result',
      timeUnixNano: '1763712345678000000',
    });
    expect(readAttributes(scopeLogs?.logRecords[0])).toMatchObject({
      ...expectedAttributes,
      'event.name': 'gen_ai.evaluation.result',
    });
  });
});

describe('a receiver that fails', () => {
  test.each([500, 503, 401, 404])('with HTTP %i gets everything once it works again', async (status) => {
    const feed = memoryScoreFeed(aScore());
    receiver.answer(status);
    // Shorter than the first wait of the exporter itself, which would repeat a 503.
    const loop = await run(feed, otlpWithin(500, 'span-event'));
    await expect.poll(() => loop.counts().get('otlp-span-event')?.failures).toBeGreaterThan(0);
    expect(feed.marked('otlp-span-event')).toEqual([]);

    receiver.answer(200);

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);
    const ids = new Set(receiver.requests.flatMap(listSpans).map((span) => span.spanId));
    expect(ids.size).toBe(1);
  });

  test('by an outage leaves scores unmarked, and the next process sends them', async () => {
    const feed = memoryScoreFeed(aScore());
    const [gone] = createOtlpExporters({
      endpoint: 'http://127.0.0.1:1',
      as: ['span-event'],
      version: '0.1.0',
      attempts: 2,
      timeoutMs: 100,
    });
    const loop = await run(feed, gone === undefined ? [] : [gone]);
    await expect.poll(() => loop.counts().get('otlp-span-event')?.failures).toBeGreaterThan(0);
    await loop.stop();
    expect(feed.marked('otlp-span-event')).toEqual([]);

    await run(feed, otlp('span-event'));

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);
  });

  test('holds back no other', async () => {
    const feed = memoryScoreFeed(aScore());
    receiver.answer(({ path }) => (path === '/v1/logs' ? 401 : 200));
    await run(feed, otlp('log', 'span-event'));

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);
    expect(feed.marked('otlp-log')).toEqual([]);
  });

  test('by refusing one score gets all the others, and the score is a dead letter after its attempts', async () => {
    const scores = ['a', 'b', 'poison', 'c', 'd'].map((scoreId) => aScore({ scoreId }));
    const feed = memoryScoreFeed(...scores);
    receiver.answer(({ body }) => (body.includes('poison') ? 400 : 200));
    const letters = recordingLetters();
    const loop = await run(feed, otlp('span-event'), letters);

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(5);
    expect(loop.counts().get('otlp-span-event')).toMatchObject({ delivered: 4, dead: 1 });
    expect(letters.letters).toMatchObject([
      { source: 'otlp-span-event', signal: 'scores', code: 'delivery_failed', attempts: 2 },
    ]);
    expect(Buffer.from(letters.letters[0]?.body ?? []).toString()).toContain('poison');
  });
});

describe('the environment of an agent', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('adds nothing to what the configuration of the exporter says', async () => {
    for (const signal of ['', 'TRACES_', 'LOGS_']) {
      vi.stubEnv(`OTEL_EXPORTER_OTLP_${signal}HEADERS`, 'authorization=Bearer%20agent,x-agent=1,x-team=b');
      vi.stubEnv(`OTEL_EXPORTER_OTLP_${signal}ENDPOINT`, 'http://127.0.0.1:1');
      vi.stubEnv(`OTEL_EXPORTER_OTLP_${signal}CERTIFICATE`, '/no/such/file');
      vi.stubEnv(`OTEL_EXPORTER_OTLP_${signal}COMPRESSION`, 'gzip');
      vi.stubEnv(`OTEL_EXPORTER_OTLP_${signal}TIMEOUT`, '1');
    }
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_off');
    vi.stubEnv('OTEL_SDK_DISABLED', 'true');
    const feed = memoryScoreFeed(aScore());
    await run(feed, otlp('span-event', 'log'));

    await expect.poll(() => feed.marked('otlp-span-event')).toHaveLength(1);
    await expect.poll(() => feed.marked('otlp-log')).toHaveLength(1);
    for (const { headers } of receiver.requests) {
      expect(headers).toMatchObject({ 'x-team': 'a', 'content-type': 'application/json' });
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('x-agent');
      expect(headers).not.toHaveProperty('content-encoding');
    }
  });
});

describe('stopping', () => {
  test('sends stored scores first', async () => {
    const feed = memoryScoreFeed(
      ...Array.from({ length: 1200 }, (_, index) => aScore({ scoreId: `s${index}` })),
    );

    await (await run(feed, otlp('span-event'))).stop();

    expect(feed.marked('otlp-span-event')).toHaveLength(1200);
    expect(receiver.requests).toHaveLength(3);
  });

  test('says so when a receiver does not answer until the end', async () => {
    const lines: string[] = [];
    const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
    const feed = memoryScoreFeed(aScore());
    receiver.answer('never');
    const deps = { feed, deadLetters: recordingLetters(), duties: soleDuties, log, random: () => 0.5 };
    const loop = await startScoreDelivery(otlp('span-event'), { intervalMs: 5, drainMs: 50 }, deps);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    await loop.stop();

    expect(feed.marked('otlp-span-event')).toEqual([]);
    expect(lines.join('')).toContain(
      'scores were being sent when their exporter stopped: they are sent again',
    );
  });
});

describe('webhooks', () => {
  const secret = `whsec_${Buffer.from('a secret of some length').toString('base64')}`;

  test('are signed, and carry an id that is stable over repeats', async () => {
    const feed = memoryScoreFeed(aScore());
    receiver.answer(500);
    const loop = await run(feed, [
      createWebhookExporter({ url: `${receiver.url}/hook`, secret, attempts: 2 }),
    ]);
    await expect.poll(() => loop.counts().get('webhook')?.failures).toBeGreaterThan(0);
    expect(feed.marked('webhook')).toEqual([]);
    receiver.answer(200);
    await expect.poll(() => feed.marked('webhook')).toHaveLength(1);

    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([`${aScore().scoreId}.1`]),
    );
    const headers = receiver.requests[0]?.headers;
    const body = receiver.requests[0]?.body ?? '';
    const signed = `${String(headers?.['webhook-id'])}.${String(headers?.['webhook-timestamp'])}.${body}`;
    const expected = createHmac('sha256', 'a secret of some length').update(signed).digest('base64');
    expect(headers?.['webhook-signature']).toBe(`v1,${expected}`);
    expect(JSON.parse(body)).toMatchObject({ type: 'score.written', data: { score: 0.25, revision: 1 } });
  });

  test('that were confirmed before a failure are not sent again', async () => {
    const feed = memoryScoreFeed(...['a', 'b', 'c'].map((scoreId) => aScore({ scoreId })));
    let broken = true;
    receiver.answer(({ body }) => (broken && body.includes('"scoreId":"b"') ? 503 : 200));
    const loop = await run(feed, [createWebhookExporter({ url: receiver.url, attempts: 2 })]);
    await expect.poll(() => loop.counts().get('webhook')?.failures).toBeGreaterThan(0);
    await expect.poll(() => feed.marked('webhook')).toEqual(['a/1', 'c/1']);

    broken = false;
    await expect.poll(() => feed.marked('webhook')).toHaveLength(3);

    const sentA = receiver.requests.filter(({ headers }) => headers['webhook-id'] === 'a.1');
    expect(sentA).toHaveLength(1);
    expect(sentA[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  test('follow no redirect', async () => {
    const feed = memoryScoreFeed(aScore());
    receiver.answer(302);
    const loop = await run(feed, [createWebhookExporter({ url: receiver.url, attempts: 2 })]);

    await expect.poll(() => loop.counts().get('webhook')?.failures).toBeGreaterThan(0);
    expect(feed.marked('webhook')).toEqual([]);
  });
});
