import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAgentTrace, type AgentTraceBuilder } from '../support/builders/agent-trace.ts';
import { queryRows, runCommand } from '../support/store/clickhouse-query.ts';
import { startHttpReceiver, type HttpReceiver } from '../support/fakes/http-receiver.ts';
import { startJudgeServer, type JudgeServer } from '../support/fakes/judge-server.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { until } from '../support/until.ts';
import { verdictJudge } from '../support/fakes/verdict-judge.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../../examples/erase/erase.mjs', import.meta.url));
const SCORERS = ['hallucination', 'keyword-coverage', 'no-tool-errors'];

/** A trace of Ann; the question and the answer name things that no other trace holds. */
const byUser = anAgentTrace()
  .asking('Where is the red umbrella of Ann?')
  .answering('The red umbrella is in Rome.')
  .withAttributes({ 'user.id': 'ann', 'gen_ai.conversation.id': 'ann-chat' });
/** Ann's id stands in JSON within the JSON of a framework's metadata. */
const byMetadata = anAgentTrace()
  .asking('Where is the blue umbrella of Ann?')
  .withAttributes({
    metadata: JSON.stringify({ about: JSON.stringify({ user_id: 'ann' }) }),
    'gen_ai.conversation.id': 'other-chat',
  });
/** Nothing but the session leads to Ann. */
const bySession = anAgentTrace()
  .asking('Where is the green umbrella of Ann?')
  .withAttributes({ 'gen_ai.conversation.id': 'ann-chat' });
/** Another person, whose id begins like Ann's. */
const ofAnother = anAgentTrace()
  .asking('Where is the umbrella of Annette?')
  .withAttributes({ 'user.id': 'annette', 'gen_ai.conversation.id': 'annette-chat' });

const ofAnn = [byUser, byMetadata, bySession];
/** One score for each session of the four traces. */
const SESSIONS = 3;
const TRACES_OF_ANN = ofAnn.map(({ traceId }) => traceId);

describe('the example that erases a person', () => {
  let judge: JudgeServer;
  let receiver: HttpReceiver;
  let folder: ServeFolder;
  let serve: ServeAddresses;

  beforeAll(async () => {
    judge = await startJudgeServer(verdictJudge);
    receiver = await startHttpReceiver();
    folder = new ServeFolder({
      judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl } } },
      rules: [
        { name: 'all', scorers: SCORERS },
        { name: 'sessions', target: 'session', scorers: ['no-tool-errors'] },
      ],
      readiness: { session: { idle: '1s' } },
      exporters: { webhook: { url: receiver.url } },
    });
    serve = await folder.start();
    await Promise.all([...ofAnn, ofAnother].map((trace) => sendTraces(serve.otlpHttp, trace.request())));
    await until(async () => (await countRows('exports')) === SCORERS.length * 4 + SESSIONS);
    await setAside(byUser);
    await setAside(ofAnother);
    await raiseAlert();
  });

  afterAll(async () => {
    await folder.dispose();
    await judge.close();
    await receiver.close();
  });

  async function countRows(table: string, where = '1'): Promise<number> {
    const [row] = await queryRows<{ n: string }>(
      serve.clickhouse,
      `SELECT count() AS n FROM ${table} WHERE ${where}`,
    );
    return Number(row?.n);
  }

  /** A record that could not be read: the bytes of a request, its trace id in binary. */
  async function setAside({ traceId }: AgentTraceBuilder): Promise<void> {
    const body = Buffer.concat([Buffer.from(traceId, 'hex'), Buffer.from([0, 255])]).toString('base64');
    await runCommand(
      serve.clickhouse,
      `INSERT INTO dead_letters (Id, Source, Body) SELECT generateUUIDv4(), 'kafka', '${body}'`,
    );
  }

  async function raiseAlert(): Promise<void> {
    const worst = [byUser, ofAnother].map(({ traceId }) => ({ traceId, score: 0 }));
    await runCommand(
      serve.clickhouse,
      `INSERT INTO alert_events (EventId, IncidentId, Status, Alert, StartsAt, Event)
       SELECT generateUUIDv4(), generateUUIDv4(), 'firing', 'Worse', now64(3), '${JSON.stringify({ worstTraces: worst })}'`,
    );
  }

  /** The rows of every table that hold one of the texts in any column, as `table: text`. */
  async function findRows(texts: readonly string[]): Promise<string[]> {
    const tables = await queryRows<{ name: string }>(
      serve.clickhouse,
      `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`,
    );
    const needles = texts.map((text) => `'${text}'`).join(', ');
    const found = await Promise.all(
      tables.map(async ({ name }) => {
        const rows = await queryRows<{ text: string }>(
          serve.clickhouse,
          `SELECT DISTINCT arrayJoin(arrayFilter(text -> position(line, text) > 0, [${needles}])) AS text
           FROM (SELECT formatRow('JSONEachRow', *) AS line FROM ${name})`,
        );
        return rows.map(({ text }) => `${name}: ${text}`);
      }),
    );
    return found.flat().toSorted();
  }

  async function erase(...args: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [SCRIPT, ...args], { cwd: folder.path });
    return stdout;
  }

  it('lists the traces first, and deletes nothing', async () => {
    const before = await findRows([...TRACES_OF_ANN, 'umbrella of Ann?']);
    const listed = await erase('ann', 'ann-chat');

    expect(before.map((hit) => hit.split(':')[0])).toEqual(expect.arrayContaining(HOLDING_TABLES));
    for (const traceId of TRACES_OF_ANN) {
      expect(listed).toContain(traceId);
    }
    expect(listed).not.toContain(ofAnother.traceId);
    expect(await findRows([...TRACES_OF_ANN, 'umbrella of Ann?'])).toEqual(before);
  });

  it('leaves no data of the person in any column of any table', async () => {
    await erase('ann', 'ann-chat', '--yes');

    const texts = [...TRACES_OF_ANN, 'umbrella of Ann?', 'red umbrella', '"ann"', 'ann-chat'];
    expect(await findRows(texts)).toEqual([]);
    expect(await countRows('exports')).toBe(SCORERS.length + 1);
    expect(await countRows('system.tables', "name LIKE 'erased_%'")).toBe(0);
  });

  it('keeps every row of other persons, and their traces in alerts and dead letters', async () => {
    expect(await countRows('scores', `TargetId = 'annette-chat'`)).toBe(1);
    expect(await countRows('scores', `Target = 'session'`)).toBe(1);
    expect(await countRows('scores', `TraceId = '${ofAnother.traceId}'`)).toBe(SCORERS.length);
    expect(await countRows('otel_traces')).toBe(ofAnother.spans().length);
    expect(await countRows('dead_letters')).toBe(1);
    expect(await countRows('alert_events', `position(Event, '${ofAnother.traceId}') > 0`)).toBe(1);
  });

  it('erases a single trace by its id', async () => {
    await erase(ofAnother.traceId, '--yes');

    expect(await findRows([ofAnother.traceId, 'annette'])).toEqual([]);
  });

  it('is refused without an id', async () => {
    await expect(erase('--yes')).rejects.toThrow('name what to erase');
  });
});

/** Tables that name a trace: a new one that is missing in the SQL shows as a row that is left. */
const HOLDING_TABLES = [
  'otel_traces',
  'trace_arrivals',
  'trace_activity',
  'trace_starts',
  'judge_calls',
  'scores',
  'score_arrivals',
  'outcome_arrivals',
  'decisions',
  'runs',
  'alert_events',
];
