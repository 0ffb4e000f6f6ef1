import { afterAll, expect, it, vi } from 'vitest';
import { type HttpReceiver, startHttpReceiver } from '../../support/fakes/http-receiver.ts';
import { type JudgeScript, type JudgeServer, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { receivedWebhooks } from '../../support/fakes/received-webhooks.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { sendAnswers, type ServeAddresses, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Real processes, buckets of a minute, a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const SIZE = 20;

/** A service with its judge and the receiver of its pages. */
class Story {
  readonly #judge: JudgeServer;
  readonly receiver: HttpReceiver;
  readonly folder: ServeFolder;

  static async open(): Promise<Story> {
    return new Story(await startJudgeServer(lenient), await startHttpReceiver());
  }

  constructor(judge: JudgeServer, receiver: HttpReceiver) {
    this.#judge = judge;
    this.receiver = receiver;
    this.folder = new ServeFolder({
      judges: {
        default: 'local/judge',
        providers: { local: { baseURL: judge.baseUrl, concurrency: 16 } },
        anchors: { size: SIZE, share: 0.5, perHour: { min: 5, max: 500 }, wait: '5m' },
      },
      rules: [{ name: 'all', scorers: ['hallucination'] }],
      monitors: [
        {
          groups: [
            {
              name: 'quality',
              interval: '1m',
              rules: [{ alert: 'Low', detector: 'floor', minimum: 0.7, series: { scorer: 'hallucination' } }],
            },
          ],
        },
      ],
      alerts: { webhook: [{ url: `${receiver.url}/page` }], groupWait: '0s', allowAddresses: ['127.0.0.1'] },
    });
  }

  turnStrict(): void {
    this.#judge.script(verdictJudge);
  }

  /** Starts the service, lets anchors be frozen and judged again, and returns its addresses. */
  async startCalm(): Promise<ServeAddresses> {
    const addresses = await this.folder.start();
    await sendAnswers(addresses, 40, 'Paris');
    const isFrozen = async () => (await countOf(addresses, 'anchors FINAL WHERE First = 1')) === SIZE;
    await until(isFrozen, 120_000, () => this.folder.output.slice(-3_000));
    const isJudged = async () => (await countOf(addresses, 'anchors FINAL WHERE First = 0')) >= 5;
    await until(isJudged, 120_000, () => this.folder.output.slice(-3_000));
    return addresses;
  }

  /** Waits for the verdict of the monitor's incident. */
  async readVerdict(addresses: ServeAddresses): Promise<Incident> {
    let found: Incident | undefined;
    await until(
      async () => {
        const alerts = await read<Incident>(addresses, '/alerts');
        found = alerts.find(({ alert, cause }) => alert === 'Low' && cause?.who !== 'deciding');
        return found !== undefined;
      },
      600_000,
      () => this.folder.output.slice(-3_000),
    );
    return found as Incident;
  }

  async close(): Promise<void> {
    await this.folder.dispose();
    await this.#judge.close();
    await this.receiver.close();
  }
}

const stories: Story[] = [];

async function openStory(): Promise<Story> {
  const story = await Story.open();
  stories.push(story);
  return story;
}

afterAll(() => Promise.all(stories.map((story) => story.close())));

/** Rejects the claims of answers that are wrong. */
const lenient: JudgeScript = async (request) => {
  const reply = await verdictJudge(request);
  return reply.kind !== 'text' || request.prompt.includes('wrong')
    ? reply
    : { ...reply, text: reply.text?.replaceAll('"verdict":"yes"', '"verdict":"no"') ?? null };
};

const countOf = async ({ clickhouse }: ServeAddresses, sql: string) =>
  Number((await queryRows<{ n: string }>(clickhouse, `SELECT count() AS n FROM ${sql}`))[0]?.n);

interface Incident {
  readonly alert: string;
  readonly status: string;
  readonly held: boolean;
  readonly labels: Record<string, string>;
  readonly cause: {
    readonly who: string;
    readonly judge: { before: number; after: number; n: number };
  } | null;
}

async function read<Item>({ api }: ServeAddresses, path: string): Promise<Item[]> {
  const reply = await fetch(`${api}/api/v1${path}`);
  return ((await reply.json()) as { items: Item[] }).items;
}

// Most of the time is waiting for buckets to close: both run at the same time.
it.concurrent('a judge that turns strict under the same name is blamed for the fall, and nobody is paged', async () => {
  const story = await openStory();
  const addresses = await story.startCalm();
  story.turnStrict();
  await sendAnswers(addresses, 60, 'Rome');

  const verdict = await story.readVerdict(addresses);
  expect(verdict).toMatchObject({ held: true, labels: { cause: 'judge' }, cause: { who: 'judge' } });
  expect(verdict.cause?.judge.before).toBe(1);
  expect(verdict.cause?.judge.after).toBeLessThan(0.7);
  const alerts = await read<Incident>(addresses, '/alerts');
  expect(alerts.filter(({ alert }) => alert === 'JudgeDrift')).toMatchObject([
    { status: 'firing', labels: { scorer: 'hallucination', judge: 'local/judge' }, cause: null },
  ]);
  expect(await read(addresses, '/anchors')).toMatchObject([
    { scorer: 'hallucination', size: SIZE, before: 1, state: 'drifted' },
  ]);
  expect(receivedWebhooks(story.receiver, '/page').incidents).toEqual({});
  const areScored = async () => (await countOf(addresses, 'scores FINAL')) === 100;
  await until(areScored, 120_000, () => story.folder.output.slice(-3_000));
  expect(
    await countOf(addresses, `judge_calls WHERE ScoreId = '' AND ServedModel = 'judge'`),
  ).toBeGreaterThan(5);
});

it.concurrent('an agent that turns worse is blamed itself, with one page', async () => {
  const story = await openStory();
  const addresses = await story.startCalm();
  await sendAnswers(addresses, 60, 'the wrong town');

  const verdict = await story.readVerdict(addresses);
  expect(verdict).toMatchObject({ held: false, labels: { cause: 'agent' }, cause: { who: 'agent' } });
  const pages = () => Object.values(receivedWebhooks(story.receiver, '/page').incidents);
  await until(() => pages().length > 0, 60_000);
  expect(pages().map((messages) => messages.map(({ status }) => status))).toEqual([['firing']]);
  expect(await read(addresses, '/anchors')).toMatchObject([{ before: 1, after: 1, change: 0, state: 'ok' }]);
});
