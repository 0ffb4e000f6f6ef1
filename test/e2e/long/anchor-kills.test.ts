import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it, vi } from 'vitest';
import { type JudgeServer, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { startRequestGate, type RequestGate } from '../../support/fakes/request-gate.ts';
import { sendAnswers, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Three processes, two of them started several times, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 });

const RUNS = 24;
const SIZE = 8;

/** Judgings of an hour: two of each anchor. */
const PER_HOUR = 2 * SIZE;

/** Questions about anchors that a process has under way at most. */
const UNDER_WAY = 4;

/** A dead process is noticed after 15 seconds. */
const WITHIN_MS = 120_000;

/** Time in which a living process looks several times whether judges are to be asked, milliseconds. */
const LOOKS_MS = 20_000;

/** Writes at which a process is killed: of the frozen set, and of a judging. */
const WRITES = { set: /"First":(?:1|true)/u, judging: /"First":(?:0|false)/u } as const;

interface Moment {
  readonly write: keyof typeof WRITES;
  /** True: the store has the rows, and the process does not know. */
  readonly isDone: boolean;
}

const folders: ServeFolder[] = [];
const gates: RequestGate[] = [];
let judge: JudgeServer | undefined;

afterAll(async () => {
  for (const folder of folders.toReversed()) {
    await folder.dispose();
  }
  await Promise.all([judge?.close(), ...gates.map((gate) => gate.close())]);
});

function serveFolder(config: Record<string, unknown>, role: string): ServeFolder {
  const folder = new ServeFolder(config, ['--role', role]);
  folders.push(folder);
  return folder;
}

it('two processes freeze one set of anchors, and over kill -9 of the one that asks, only what it had under way is asked again', async () => {
  judge = await startJudgeServer(({ count }) =>
    replyJson({ quote: '', reason: '', answer: true }, { delayMs: 100 * (count % UNDER_WAY) }),
  );
  const { requests, baseUrl } = judge;
  const owner = serveFolder({ rules: [] }, 'collector,api,store');
  const { clickhouse, otlpHttp } = await owner.start();
  const count = async (sql: string) =>
    Number((await queryRows<{ n: string }>(clickhouse, `SELECT ${sql}`))[0]?.n);
  let moment: Moment | undefined;
  let killed: ServeFolder | undefined;
  const configOf = (url: string, size: number) => ({
    store: { ...clickhouse, url },
    scorers: { kind: { ask: 'Is the answer kind?' } },
    rules: [{ name: 'all', scorers: ['kind'] }],
    judges: {
      default: 'local/m',
      providers: { local: { baseURL: baseUrl } },
      anchors: { size, share: 1, perHour: { min: 1, max: PER_HOUR } },
    },
  });
  const scorers: { readonly folder: ServeFolder; readonly gate: RequestGate }[] = [];
  for (const _ of ['one', 'other']) {
    const gate = await startRequestGate(clickhouse.url, async ({ path, body }, forward) => {
      const isOfAnchors = /INSERT(?:\+|%20)INTO(?:\+|%20)anchors/u.test(path);
      if (moment === undefined || !isOfAnchors || !WRITES[moment.write].test(body)) {
        await forward();
        return true;
      }
      const { isDone } = moment;
      moment = undefined;
      await (isDone ? forward() : undefined);
      await folder.killGroup();
      killed = folder;
      return false;
    });
    gates.push(gate);
    const folder = serveFolder(configOf(gate.url, 0), 'scorer');
    scorers.push({ folder, gate });
  }
  const tell = () => scorers.map(({ folder }) => folder.output.slice(-1_500)).join('\n');

  // All runs are judged before there are anchors, so that each later question is about an anchor.
  await Promise.all(scorers.map(({ folder }) => folder.start()));
  await sendAnswers({ otlpHttp }, RUNS);
  await until(async () => (await count('count() AS n FROM scores FINAL')) === RUNS, WITHIN_MS, tell);
  expect(requests).toHaveLength(RUNS);
  for (const { folder, gate } of scorers) {
    await folder.stop();
    folder.configure(configOf(gate.url, SIZE));
  }

  moment = { write: 'set', isDone: false };
  await Promise.all(scorers.map(({ folder }) => folder.start()));
  const next: (Moment | undefined)[] = [
    { write: 'set', isDone: true },
    { write: 'judging', isDone: false },
    { write: 'judging', isDone: true },
    undefined,
  ];
  for (const following of next) {
    await until(() => killed !== undefined, WITHIN_MS, tell);
    const dead = killed;
    killed = undefined;
    moment = following;
    await dead?.start();
  }
  const judged = () => count('count() AS n FROM anchors FINAL WHERE First = 0');
  await until(async () => (await judged()) === PER_HOUR, WITHIN_MS, tell);
  await sleep(LOOKS_MS);

  const sets = await queryRows<{ frozen: number; judged: number }>(
    clickhouse,
    `SELECT toUInt32(countIf(First = 1)) AS frozen, toUInt32(countIf(First = 0)) AS judged
     FROM anchors FINAL GROUP BY Tenant, Scorer, Fingerprint, TraceId`,
  );
  expect(sets.map(({ frozen }) => frozen)).toEqual(Array.from({ length: SIZE }, () => 1));
  // In turn: an anchor that was under way at a kill may be a turn ahead.
  const turns = sets.map((set) => set.judged);
  expect(turns.reduce((sum, each) => sum + each, 0)).toBe(PER_HOUR);
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(2);
  const asked = requests.length - RUNS;
  expect(asked).toBeGreaterThanOrEqual(PER_HOUR);
  expect(asked - PER_HOUR).toBeLessThanOrEqual(2 * UNDER_WAY - 1);
  expect(await count('count() AS n FROM scores FINAL')).toBe(RUNS);
});
