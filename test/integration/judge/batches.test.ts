import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JudgeBatches, type StoredBatch } from '../../../src/judge/batches.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { askForText } from '../../../src/judge/judge.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { BackfillReport } from '../../../src/jobs/stored-job.ts';
import { createScorer } from '../../../src/scorers/evals/index.ts';
import type { JobProgress } from '../../../src/store/contracts/jobs.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  buildBackfillJob,
  createBackfillKind,
  runJob,
  Stopped,
  type RanJob,
} from '../../support/scoring/backfill-runs.ts';
import { agentSpan, buildRule, createTestScoring, newTraceId } from '../../support/scoring/scoring-world.ts';

// A backfill in batches, through the package of OpenAI, against a server with the wire of its batch interface. The server outlives
// the processes that are stopped, and counts what it answers: each answer is paid.

interface BatchLine {
  readonly custom_id: string;
  readonly body: { readonly model: string; readonly input: unknown };
}

interface ServedBatch {
  readonly id: string;
  readonly lines: readonly BatchLine[];
  readonly createdAt: number;
  polls: number;
}

type Outcome = 'answered' | 'expired' | 'refused' | 'missing' | 'unusable';

/** Behaviour of the server, and what it has done. */
const world = {
  files: new Map<string, readonly BatchLine[]>(),
  batches: [] as ServedBatch[],
  /** Requests about the batch of another program, which ends after some. */
  foreign: undefined as ServedBatch | undefined,
  /** Called once: breaks the next start of a batch after the server has made it. */
  breaksStart: false,
  refusesStart: undefined as number | undefined,
  failsPolls: 0,
  /** Decides the outcome of a request by its text and the number of times that it was asked. */
  decide: (_text: string, _times: number): Outcome => 'answered',
  asked: new Map<string, number>(),
  paid: new Map<string, number>(),
};

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
};

const POLLS_TO_END = 2;

function showBatch(batch: ServedBatch) {
  const isEnded = batch.polls >= POLLS_TO_END;
  return {
    id: batch.id,
    object: 'batch',
    endpoint: '/v1/responses',
    status: isEnded ? 'completed' : 'in_progress',
    created_at: batch.createdAt,
    input_file_id: 'f',
    output_file_id: isEnded ? `out-${batch.id}` : null,
    request_counts: { total: batch.lines.length, completed: 0, failed: 0 },
  };
}

function answer(line: BatchLine, outcome: Outcome): object {
  const { custom_id } = line;
  if (outcome === 'expired') {
    return { custom_id, response: null, error: { code: 'batch_expired', message: 'it took too long' } };
  }
  if (outcome === 'refused') {
    const error = { message: 'the model is away', type: 'server_error', code: null };
    return { custom_id, response: { status_code: 503, body: { error } }, error: null };
  }
  const text = outcome === 'unusable' ? 'as you like' : '{"score":1}';
  const body = {
    id: 'r',
    object: 'response',
    created_at: 1,
    model: 'judge-1',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 1_000_000, output_tokens: 0, total_tokens: 1_000_000 },
  };
  return { custom_id, response: { status_code: 200, body }, error: null };
}

/** Answers a batch once: what it answers is paid. */
const results = new Map<string, string>();
function readResults(batch: ServedBatch): string {
  const known = results.get(batch.id);
  if (known !== undefined) {
    return known;
  }
  const lines = batch.lines.flatMap((line) => {
    const text = JSON.stringify(line.body.input);
    const question = /says-\d+/.exec(text)?.[0] ?? text;
    const times = (world.asked.get(question) ?? 0) + 1;
    world.asked.set(question, times);
    const outcome = world.decide(question, times);
    if (outcome === 'answered' || outcome === 'unusable') {
      world.paid.set(question, (world.paid.get(question) ?? 0) + 1);
    }
    return outcome === 'missing' ? [] : [JSON.stringify(answer(line, outcome))];
  });
  const written = `${lines.join('\n')}\n`;
  results.set(batch.id, written);
  return written;
}

interface Served {
  readonly status: number;
  readonly body: string;
}
const json = (value: object, status = 200): Served => ({ status, body: JSON.stringify(value) });
const fault = (message: string, status: number) => json({ error: { message, type: 'x', code: 'x' } }, status);

/** Makes a batch of an uploaded file. Undefined: the connection breaks before the reply. */
function startBatch(body: string): Served | undefined {
  if (world.refusesStart !== undefined) {
    return fault('no batches today', world.refusesStart);
  }
  const { input_file_id } = JSON.parse(body) as { input_file_id: string };
  const lines = world.files.get(input_file_id) ?? [];
  const createdAt = Math.floor(Date.now() / 1_000);
  const batch = { id: `batch-${world.batches.length}`, lines, createdAt, polls: 0 };
  world.batches.push(batch);
  const breaks = world.breaksStart;
  world.breaksStart = false;
  return breaks ? undefined : json(showBatch(batch));
}

function upload(body: string): Served {
  const lines = body.split('\n').filter((line) => line.startsWith('{"custom_id"'));
  const id = `file-${world.files.size}`;
  world.files.set(
    id,
    lines.map((line) => JSON.parse(line) as BatchLine),
  );
  return json({ id, object: 'file', bytes: 1, created_at: 1, filename: 'b', purpose: 'batch' });
}

function readBatch(batch: ServedBatch | undefined): Served {
  if (batch === undefined) {
    return fault('no such batch', 404);
  }
  if (world.failsPolls > 0) {
    world.failsPolls -= 1;
    return fault('down', 500);
  }
  batch.polls += 1;
  return json(showBatch(batch));
}

function listBatches(all: readonly ServedBatch[], after: string | null): Served {
  const start = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const page = all.slice(start, start + 2);
  return json({ data: page.map(showBatch), has_more: start + 2 < all.length, last_id: page.at(-1)?.id });
}

function serve(method: string, url: URL, body: string): Served | undefined {
  const [, kind = '', id = ''] = url.pathname.split('/');
  if (method === 'POST') {
    return kind === 'files' ? upload(body) : startBatch(body);
  }
  const all = [...world.batches, ...(world.foreign === undefined ? [] : [world.foreign])].toReversed();
  if (kind === 'batches') {
    return id === ''
      ? listBatches(all, url.searchParams.get('after'))
      : readBatch(all.find((each) => each.id === id));
  }
  const ended = all.find((each) => id === `out-${each.id}`);
  return ended === undefined ? fault('no such file', 404) : { status: 200, body: readResults(ended) };
}

let server: Server;
let baseURL = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const reply = serve(request.method ?? '', new URL(request.url ?? '', 'http://x'), body);
      if (reply === undefined) {
        request.socket.destroy();
        return;
      }
      response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(() => {
  [world.files, world.asked, world.paid, results].forEach((map) => map.clear());
  world.batches.length = 0;
  Object.assign(world, {
    foreign: undefined,
    breaksStart: false,
    refusesStart: undefined,
    failsPolls: 0,
    decide: () => 'answered',
  });
});

const HOUR_MS = 3_600_000;

const scorer = createScorer({
  id: 'asks',
  judge: { model: 'work/judge', instructions: 'Judge it.' },
  range: [0, 1],
}).generateScore({
  description: 'asks once',
  createPrompt: ({ run }) => `How good is ${JSON.stringify(run.output)}?`,
});

const openJudges = () =>
  createJudgeRegistry({
    providers: { work: { use: 'openai', baseURL, apiKey: 'k' } },
    prices: { 'work/judge': { input: 2, output: 2 } },
  });

function openPast(count: number): MemoryStore {
  const store = new MemoryStore();
  for (let index = 0; index < count; index += 1) {
    const says = `says-${index}`;
    store.ingest([agentSpan(newTraceId(), 'a', { says, startMs: store.clockMs - HOUR_MS + index })]);
  }
  store.clockMs += 2 * HOUR_MS;
  return store;
}

/** Runs a backfill in batches until it ends, or until `stopAt` stores of its progress. Returns them all. */
async function backfill(
  store: MemoryStore,
  {
    from,
    stopAt = Infinity,
    pageSize = 3,
  }: { from?: JobProgress | undefined; stopAt?: number; pageSize?: number } = {},
): Promise<RanJob & { readonly saves: readonly JobProgress[] }> {
  const judges = openJudges();
  const scoring = createTestScoring(store, {}, { judgeScope: { judges } });
  const asked = {
    fromMs: store.clockMs - 24 * HOUR_MS,
    toMs: store.clockMs,
    rules: [buildRule([scorer])],
    pageSize,
    from,
    options: { batch: true as const },
  };
  const saves: JobProgress[] = [];
  const ran = await runJob(createBackfillKind(scoring, asked), buildBackfillJob(asked), {
    onSave: (progress) => {
      saves.push(structuredClone(progress));
      if (saves.length === stopAt) {
        throw new Stopped();
      }
    },
  });
  return { ...ran, saves };
}

const reportOf = ({ progress, error }: RanJob): BackfillReport => {
  expect(error).toBeNull();
  return progress?.report as unknown as BackfillReport;
};

const paidOnce = (count: number) =>
  new Map(Array.from({ length: count }, (_, index) => [`says-${index}`, 1]));

describe('a backfill in batches', () => {
  it('asks a page of questions in one batch, at half the price', async () => {
    const store = openPast(4);

    const ran = await backfill(store);

    expect(reportOf(ran)).toMatchObject({ matched: 4, scored: 4, failed: {}, remaining: 0 });
    expect(world.batches.map(({ lines }) => lines.length)).toEqual([3, 1]);
    expect(store.scores().map(({ score, source }) => [score, source])).toEqual(
      Array.from({ length: 4 }, () => [1, 'backfill']),
    );
    expect(ran.progress?.costUsd).toBeCloseTo(4);
    expect(world.paid).toEqual(paidOnce(4));
    expect(ran.progress?.checkpoint).toMatchObject({ batches: [] });
  });

  it('pays no question twice and loses none, wherever its process is killed', async () => {
    const { saves } = await backfill(openPast(4));
    expect(saves.length).toBeGreaterThan(6);
    for (let stopAt = 1; stopAt <= saves.length; stopAt += 1) {
      // Killed after a place was stored, and before: then the work after the former place is done again.
      for (const lost of [0, 1]) {
        [world.files, world.asked, world.paid, results].forEach((map) => map.clear());
        world.batches.length = 0;
        const store = openPast(4);
        const killed = await backfill(store, { stopAt });
        store.clockMs += 60_000;
        const from = killed.saves[stopAt - 1 - lost];

        const ran = await backfill(store, { from });

        expect(reportOf(ran), `stop ${stopAt}, ${lost} lost`).toMatchObject({ matched: 4, scored: 4 });
        expect(world.paid, `stop ${stopAt}, ${lost} lost`).toEqual(paidOnce(4));
        expect(store.scores()).toHaveLength(4);
      }
    }
  });

  it('finds a batch whose id never arrived, beside the batches of other programs', async () => {
    world.breaksStart = true;
    const createdAt = Math.floor(Date.now() / 1_000);
    const line = { custom_id: 'their-1', body: { model: 'x', input: 'theirs' } };
    world.foreign = { id: 'theirs', lines: [line], createdAt, polls: -2 };

    expect(reportOf(await backfill(openPast(2)))).toMatchObject({ scored: 2 });
    expect([world.paid.get('says-0'), world.paid.get('says-1')]).toEqual([1, 1]);
    expect(world.batches).toHaveLength(1);
  });

  it.each(['expired', 'refused', 'missing'] as const)(
    'asks again what is %s, and only that',
    async (outcome) => {
      world.decide = (text, times) => (text === 'says-1' && times === 1 ? outcome : 'answered');
      const store = openPast(3);

      expect(reportOf(await backfill(store))).toMatchObject({ scored: 3 });
      expect(world.paid).toEqual(paidOnce(3));
      expect(world.batches.map(({ lines }) => lines.length)).toEqual([3, 1]);
    },
  );

  it('leaves what no batch answers undecided, and says why', async () => {
    world.decide = (text) => (text === 'says-1' ? 'expired' : 'answered');
    const store = openPast(3);

    expect(reportOf(await backfill(store))).toMatchObject({ scored: 2, failed: { judge_unavailable: 1 } });
    const deferred = store.decisions().filter(({ status }) => status === 'deferred');
    expect(deferred.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('the batch has no answer to the question: it took too long'),
    ]);
  });

  it('reads a reply that cannot be used as a live one, and asks once more', async () => {
    world.decide = (text, times) => (text === 'says-0' && times === 1 ? 'unusable' : 'answered');

    expect(reportOf(await backfill(openPast(2)))).toMatchObject({ scored: 2 });
    expect(world.batches.map(({ lines }) => lines.length)).toEqual([2, 1]);
  });

  it('knows a question again in a process with another code around the data', async () => {
    let stored: readonly StoredBatch[] = [];
    for (const fenceCode of ['onecode', 'another']) {
      const batches: JudgeBatches = new JudgeBatches(
        {
          judges: openJudges(),
          prices: [],
          job: 'job',
          save: async () => undefined,
          signal: new AbortController().signal,
          log: silentLog,
          times: { quietMs: 20, pollMs: [5, 20] },
        },
        stored,
      );
      await batches.recover();
      const question = { instructions: 'Judge it.', prompt: `<${fenceCode}> says-0 </${fenceCode}>` };
      await withJudgeScope({ judges: batches.judges, fenceCode: () => fenceCode }, () =>
        askForText('work/judge', question),
      );
      ({ stored } = batches);
    }
    expect(world.paid).toEqual(paidOnce(1));
  });

  it('waits for a provider that is away', async () => {
    world.failsPolls = 3;

    expect(reportOf(await backfill(openPast(2)))).toMatchObject({ scored: 2 });
    expect(world.paid).toEqual(paidOnce(2));
  });

  it('waits for its judge when the provider makes no batch', async () => {
    world.refusesStart = 429;
    const { error, saved } = await backfill(openPast(2));

    expect(error).toMatchObject({ code: 'judge_unavailable', retryable: true });
    expect(saved?.checkpoint).toMatchObject({ batches: [] });
    expect(world.batches).toEqual([]);
  });
});
