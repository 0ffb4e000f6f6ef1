import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { AgentTraceBuilder, type ToolStep } from '../../support/builders/agent-trace.ts';
import { anAlert, budgetAlert, explainRuns } from '../../support/builders/an-alert.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildDecision, buildScore, newTraceId } from '../../support/store/store-rows.ts';
import { store as storeSpans } from '../../support/store/stored-agent.ts';

/** Most calls of tools for one question. */
const MOST_CALLS = 4;

const NEEDLE = 'warehouse B7 is closed until Monday';

interface Told {
  readonly agent?: string;
  readonly version?: string;
  readonly question: string;
  readonly answer: string;
  readonly tools?: readonly ToolStep[];
  readonly sessionId?: string;
  readonly userId?: string;
  /** Score of grounding with its reason; null: none. */
  readonly score: readonly [value: number, reason: string] | null;
  /** Reason for which the run has no score. */
  readonly lost?: string;
}

let world: ApiWorld;
let client: Client;
let nowMs: number;
let ids: Record<'refund' | 'long' | 'lost' | 'wrong', string>;

beforeAll(async () => {
  world = await apiWorld();
  nowMs = await world.store.spans.nowMs();
  ids = await storeShop();
  client = new Client({ name: 'test', version: '1' });
  const url = new URL(`http://127.0.0.1:${world.port}/mcp`);
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer ${tokenOf('admin', 'a')}` } },
    }),
  );
});
afterAll(async () => {
  await client.close();
  await world.stop();
});

/** Stores a run of tenant `a` as spans, with what was read from them. Returns its trace id. */
async function tell(told: Told): Promise<string> {
  const { agent = 'shop', version = '1.0', question, answer, tools = [], score, lost } = told;
  const traceId = newTraceId();
  const startedAt = nowMs - 600_000;
  const names = {
    'gen_ai.agent.name': agent,
    'gen_ai.agent.version': version,
    'gen_ai.conversation.id': told.sessionId ?? `session-${traceId}`,
    'user.id': told.userId ?? 'user-1',
  };
  const trace = new AgentTraceBuilder(traceId, startedAt)
    .of(agent)
    .asking(question)
    .answering(answer)
    .withAttributes(names);
  tools.forEach((tool) => trace.with(tool));
  await storeSpans(world.store, decodeOtlpJson(trace.request()).spans, 'a');
  const own = {
    tenant: 'a',
    traceId,
    agent,
    agentVersion: version,
    serviceName: agent,
    userId: names['user.id'],
    sessionId: names['gen_ai.conversation.id'],
    evidenceUntil: nowMs,
  };
  const failed = tools.filter(({ error }) => error !== undefined);
  await world.store.runs.write([
    buildRunRecord({
      ...own,
      startedAt,
      question,
      answer,
      tools: tools.map(({ name }) => name),
      toolCalls: tools.length,
      toolErrors: failed.length,
    }),
  ]);
  if (score !== null) {
    const [value, reason] = score;
    const fields = { scorer: 'grounding', score: value, reason, traceTimestamp: startedAt };
    await world.store.scores.write([buildScore({ ...own, ...fields })]);
  }
  const status = lost === undefined ? 'scored' : lost === 'budget_exhausted' ? 'deferred' : 'failed';
  await world.store.decisions.write([
    buildDecision({ ...own, rule: 'production', scorer: 'grounding', status, reason: lost ?? '' }),
    ...(lost === 'judge_unauthorised'
      ? [
          buildDecision({
            ...own,
            rule: 'sessions',
            scorer: '*',
            status: 'sampled_out',
            reason: 'sampled_out: rate 0.1',
          }),
        ]
      : []),
  ]);
  return traceId;
}

/** Stores the runs of three agents: version 2.0 of `shop` invents prices because a tool fails. */
async function storeShop() {
  const priced = (cents: number) => ({ name: 'get_price', args: { item: 'lamp' }, result: { cents } });
  const late = { name: 'get_price', args: { item: 'lamp' }, error: 'upstream timed out after 2 s' };
  const invented = {
    version: '2.0',
    question: 'What does the lamp cost?',
    answer: 'It costs 12 euros.',
    tools: [late],
  };
  for (let index = 0; index < 12; index += 1) {
    const question = 'What does the lamp cost?';
    const answer = 'It costs 40 euros.';
    await tell({ question, answer, tools: [priced(4000)], score: [0.95, 'The price is in the result.'] });
    await tell({ ...invented, score: [0.1 + index / 100, 'The price is in no result.'] });
    await tell({ agent: 'billing', question: 'Send my bill', answer: 'Sent.', score: [1, 'true'] });
  }
  const wrong = await tell({
    version: '2.0',
    question: 'Do you ship to Norway?',
    answer: 'Yes, in 5 days.',
    tools: [{ name: 'get_zones', args: {}, result: ['NO: 5 days'] }],
    score: [0.02, 'No zone is named.'],
    userId: 'user-norway',
  });
  const worst = await tell({ ...invented, score: [0.01, 'The price is in no result.'] });
  const refund = await tell({
    question: 'Where is the refund of order 4711?',
    answer: 'It was paid on Friday.',
    tools: [{ name: 'find_refund', args: { order: 4711 }, result: { paid: '2026-11-20' } }],
    score: [0.9, 'The day is in the result.'],
    sessionId: 'session-refund',
    userId: 'user-7',
  });
  await tell({
    question: 'And to which account?',
    answer: 'To the card.',
    score: [0.2, 'No result names an account.'],
    sessionId: 'session-refund',
    userId: 'user-7',
  });
  const long = await tell({
    question: 'Why is my parcel late?',
    answer: 'I do not know.',
    tools: [
      {
        name: 'read_log',
        args: {},
        result: `${'scan ok; '.repeat(2_500)}${NEEDLE}; ${'scan ok; '.repeat(200)}`,
      },
    ],
    score: [0.6, 'The log was not used.'],
  });
  const unscored = { agent: 'mail', question: 'Write to Ann', answer: 'Done.', score: null };
  const lost = await tell({ ...unscored, lost: 'judge_unauthorised' });
  for (let index = 0; index < 4; index += 1) {
    await tell({ ...unscored, lost: 'budget_exhausted' });
  }
  await storeIncidents(worst);
  return { refund, long, lost, wrong };
}

async function storeIncidents(worst: string): Promise<void> {
  const cause = explainRuns([
    ['before', { agentVersion: '1.0' }, 60, 0.95],
    ['after', { agentVersion: '2.0' }, 60, 0.12],
    ['after', { agentVersion: '1.0' }, 60, 0.95],
  ]);
  const series = { ...anAlert().series, tenant: 'a', agent: 'shop' };
  const startsAtMs = nowMs - 60_000;
  const changeBeganMs = nowMs - 660_000;
  const worstTraces = [{ traceId: worst, scoreId: '', score: 0.01 }];
  const { id: _, incidentId: __, ...spent } = budgetAlert(100, 5);
  await world.store.alerts.write([
    anAlert({ series, startsAtMs, changeBeganMs, worstTraces, cause, agentVersion: '2.0' }),
    anAlert({ ...spent, series: { ...spent.series, tenant: 'a' }, startsAtMs }),
  ]);
}

type Facts = Record<string, unknown>;
type Ask = (tool: string, args?: Facts) => Promise<Facts>;

const itemsOf = (facts: Facts) => facts['items'] as Facts[];
const firstOf = (facts: Facts, kind: string) => itemsOf(facts).find((item) => item['kind'] === kind) ?? {};
const callsOf = (facts: Facts) => facts['toolCalls'] as Facts[];

/** Removes the marks of data from all texts. */
function unfence(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(text.replaceAll(/<\/?data-[0-9a-f]{8,}>/gu, ''));
}

interface Investigation {
  readonly question: string;
  readonly solve: (ask: Ask) => Promise<unknown>;
  readonly answer: unknown;
}

const EXPENSIVE = { name: 'production', scorers: ['keyword-coverage'], where: { agent: 'shop' } };

const INVESTIGATIONS: readonly Investigation[] = [
  {
    question: 'which version brought the open incident',
    solve: async (ask) => {
      const { incidentId } = firstOf(await ask('whats_wrong'), 'incident');
      const { agentVersion, cause, versions } = await ask('explain_incident', { incidentId });
      const { left, right } = versions as Record<string, Facts>;
      const named = JSON.stringify((cause as Facts)['segments']).includes('2.0');
      return [agentVersion, named, left?.['version'], right?.['version']];
    },
    answer: ['2.0', true, '1.0', '2.0'],
  },
  {
    question: 'what the worst run of the incident did wrong',
    solve: async (ask) => {
      const { incidentId } = firstOf(await ask('whats_wrong'), 'incident');
      const { examples } = await ask('explain_incident', { incidentId });
      const [{ traceId, answer } = {}] = examples as Facts[];
      const run = await ask('show_run', { traceId });
      return [answer, callsOf(run)[0]?.['error']];
    },
    answer: ['It costs 12 euros.', 'upstream timed out after 2 s'],
  },
  {
    question: 'which tool fails most often, and with which error',
    solve: async (ask) => {
      const { agent, tool, n, traceIds } = firstOf(await ask('whats_wrong'), 'tool_errors');
      const run = await ask('show_run', { traceId: (traceIds as string[])[0] });
      return [agent, tool, n, callsOf(run)[0]?.['error']];
    },
    answer: ['shop', 'get_price', 13, 'upstream timed out after 2 s'],
  },
  {
    question: 'which scores of an agent fail, and for which reason',
    solve: async (ask) => {
      const { scorer, n, traceIds } = firstOf(await ask('whats_wrong', { agent: 'shop' }), 'failing');
      const run = await ask('show_run', { traceId: (traceIds as string[])[1] });
      return [scorer, n, (run['scores'] as Facts[])[0]?.['reason']];
    },
    answer: ['grounding', 15, 'No zone is named.'],
  },
  {
    question: 'whether another agent is in order',
    solve: async (ask) => ask('whats_wrong', { agent: 'billing' }),
    answer: { allClear: true, items: [] },
  },
  {
    question: 'which budget is spent',
    solve: async (ask) => firstOf(await ask('whats_wrong'), 'budget')['summary'],
    answer: expect.stringMatching(/production.*5/u),
  },
  {
    question: 'why one run has no score, and what mends it',
    solve: async (ask) => {
      const items = itemsOf(await ask('why_not_scored', { traceId: ids.lost }));
      return items.map(({ scorer, status, reason, mend }) => [scorer, status, reason, mend]);
    },
    answer: [
      ['grounding', 'failed', 'judge_unauthorised', 'judges.providers.<name>.apiKey'],
      // A rule as a whole left the run out.
      [null, 'sampled_out', 'sampled_out', 'rules.sessions.sample.rate'],
    ],
  },
  {
    question: 'which setting brings most scores back',
    solve: async (ask) => {
      const items = itemsOf(await ask('why_not_scored', { agent: 'mail' }));
      const [most = {}] = items.toSorted((a, b) => Number(b['count']) - Number(a['count']));
      return [most['reason'], most['count'], most['mend']];
    },
    answer: ['budget_exhausted', 4, 'rules.production.budget.perDay'],
  },
  {
    question: 'whether the new version is worse',
    solve: async (ask) => {
      const found = await ask('compare_versions', { agent: 'shop', left: '1.0', right: '2.0' });
      return itemsOf(found).map(({ scorer, verdict }) => [scorer, verdict]);
    },
    answer: [['grounding', 'worse']],
  },
  {
    question: 'what was told about an order, from the words of a customer',
    solve: async (ask) => {
      const [{ traceId } = {}] = itemsOf(await ask('find_runs', { query: 'order 4711' }));
      const run = await ask('show_run', { traceId });
      return [traceId === ids.refund, run['answer'], callsOf(run)[0]?.['arguments'], run['userId']];
    },
    answer: [true, 'It was paid on Friday.', '{"order":4711}', 'user-7'],
  },
  {
    question: 'which turn of a session went wrong',
    solve: async (ask) => {
      const filters = { sessionId: 'session-refund', scorer: 'grounding', max: 0.5 };
      const [{ traceId } = {}] = itemsOf(await ask('find_runs', filters));
      const { question, scores } = await ask('show_run', { traceId });
      return [question, (scores as Facts[])[0]?.['reason']];
    },
    answer: ['And to which account?', 'No result names an account.'],
  },
  {
    question: 'what stands deep in the result of a tool',
    solve: async (ask) => {
      let text = '';
      let cursor: unknown;
      do {
        const page = await ask('show_run', {
          traceId: ids.long,
          ...(cursor === undefined ? {} : { cursor }),
        });
        const part = callsOf(page)[0]?.['result'] as string | undefined;
        text += part?.replace(/…$/u, '') ?? '';
        cursor = page['next'];
      } while (cursor !== null && !text.includes(NEEDLE));
      return text.includes(NEEDLE);
    },
    answer: true,
  },
  {
    question: 'what a narrower rule matches, and how it is written',
    solve: async (ask) => {
      const { matched, selected, costUsd } = await ask('preview_rule', { rule: EXPENSIVE });
      const { yaml } = await ask('propose_rule', { rule: EXPENSIVE });
      return [Number(matched) > Number(selected), selected, costUsd, yaml];
    },
    answer: [true, 29, 0, expect.stringContaining('agent: shop')],
  },
  {
    question: 'that a verdict is wrong, said by a person',
    solve: async (ask) => {
      const filters = { userId: 'user-norway', scorer: 'grounding', order: 'worst' };
      const [{ traceId } = {}] = itemsOf(await ask('find_runs', filters));
      const { scoreId } = await ask('add_label', {
        traceId,
        scorer: 'grounding',
        score: 1,
        reason: 'The zone names Norway.',
      });
      const { scores } = await ask('show_run', { traceId });
      const sources = (scores as Facts[]).map(({ source, score }) => `${String(source)} ${String(score)}`);
      return [traceId === ids.wrong, typeof scoreId, sources];
    },
    answer: [true, 'string', expect.arrayContaining(['human 1', 'live 0.02'])],
  },
  {
    question: 'which failing runs become tests',
    solve: async (ask) => {
      const filters = { agent: 'shop', scorer: 'grounding', max: 0.145, limit: 20 };
      const items = itemsOf(await ask('export_tests', filters));
      return [
        items.length,
        new Set(items.map(({ input, expected }) => `${String(input)} ${String(expected)}`)),
      ];
    },
    answer: [7, new Set(['What does the lamp cost? null', 'Do you ship to Norway? null'])],
  },
];

test.each(INVESTIGATIONS)(
  `an agent finds out $question in at most ${MOST_CALLS} calls`,
  async ({ solve, answer }) => {
    let calls = 0;
    const found = await solve(async (tool, args = {}) => {
      calls += 1;
      const result = await client.callTool({ name: tool, arguments: args });
      expect(result).not.toMatchObject({ isError: true });
      return unfence(result.structuredContent) as Facts;
    });
    expect(found).toEqual(answer);
    expect(calls).toBeLessThanOrEqual(MOST_CALLS);
  },
);
