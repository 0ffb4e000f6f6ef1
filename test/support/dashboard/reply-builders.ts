import type {
  AgentDetail,
  AgentItem,
  AgentQuality,
  Item,
  Replies,
  Writes,
} from '../../../src/dashboard/api-types.ts';
import { scoreJson, decisionJson } from '../../../src/api/json/rows.ts';
import { aScore } from '../builders/a-score.ts';
import { buildDecision } from '../store/store-rows.ts';
import type { Score } from '../../../src/domain/score.ts';
import type { Decision } from '../../../src/domain/decision.ts';

export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const ROOT_SPAN = 'b7ad6b7169203331';
export const TOOL_SPAN = 'b7ad6b7169203332';

/** Builds a line of the overview with 24 buckets. */
export function anOverviewLine(more: Partial<Item<'/overview'>> = {}): Item<'/overview'> {
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 22, hour)).toISOString();
  return {
    scorer: 'hallucination',
    higherIsBetter: false,
    scoreMin: 0,
    scoreMax: 1,
    series: Array.from({ length: 24 }, (_, hour) => ({ bucket: at(hour), n: 40, mean: 0.2 + hour / 200 })),
    mean: 0.315,
    n: 412,
    effectiveN: 400,
    eligible: 5_130,
    scored: 412,
    baseline: { mean: 0.2, p10: 0, p90: 0.5, n: 9_000, from: 'history' },
    estimate: null,
    incident: null,
    ...more,
  };
}

/** Builds a score as the API replies it. */
export function aScoreItem(more: Partial<Score> = {}): Item<'/scores'> {
  return scoreJson(aScore(more));
}

/** Builds a decision as the API replies it. */
export function aDecisionItem(
  more: Partial<Decision> = {},
): Replies['/traces/{traceId}']['decisions'][number] {
  return decisionJson(buildDecision({ traceId: TRACE, decidedAt: 1_763_712_345_678, ...more }), 0);
}

type SpanItem = Replies['/traces/{traceId}']['spans'][number];

/** Builds a span as the API replies it: the root of the run. */
export function aSpanItem(more: Partial<SpanItem> = {}): SpanItem {
  return {
    traceId: TRACE,
    spanId: ROOT_SPAN,
    parentSpanId: '',
    name: 'invoke_agent weather',
    kind: 'agent',
    spanKind: 'Internal',
    service: 'weather',
    scope: 'test',
    scopeVersion: '1',
    startedAt: '2026-11-21T07:05:18.000Z',
    endedAt: '2026-11-21T07:05:19.000Z',
    startUnixNano: '1795244718000000000',
    durationMs: 1_000,
    status: 'unset',
    statusMessage: '',
    attributes: { 'gen_ai.operation.name': 'invoke_agent' },
    resourceAttributes: { 'service.name': 'weather' },
    events: [],
    links: [],
    truncated: false,
    ...more,
  };
}

type Trace = Replies['/traces/{traceId}'];

/** Builds a trace with a root, a model call and a tool, one judged score with claims, and its decision. */
export function aTrace(more: Partial<Trace> = {}): Trace {
  return {
    tenant: '',
    traceId: TRACE,
    state: 'scored',
    reading: aReading(),
    spans: [
      aSpanItem(),
      aSpanItem({
        spanId: TOOL_SPAN,
        parentSpanId: ROOT_SPAN,
        name: 'execute_tool get_weather',
        kind: 'tool',
        startedAt: '2026-11-21T07:05:18.200Z',
        durationMs: 300,
        attributes: { 'gen_ai.tool.call.result': '{"city":"Paris","tempC":18,"sky":"rain"}' },
      }),
      aSpanItem({
        spanId: 'b7ad6b7169203333',
        parentSpanId: ROOT_SPAN,
        name: 'chat gpt-5-mini',
        kind: 'model',
        startedAt: '2026-11-21T07:05:18.600Z',
        durationMs: 350,
      }),
    ],
    scores: [
      aScoreItem({
        traceId: TRACE,
        spanId: ROOT_SPAN,
        verdicts: [
          { statement: 'It is 18 degrees.', verdict: 'supported', quote: '"tempC":18', spanId: TOOL_SPAN },
          {
            statement: 'The sky is sunny.',
            verdict: 'contradicted',
            reason: 'The result says rain.',
            quote: '"sky":"rain"',
            spanId: TOOL_SPAN,
          },
        ],
      }),
    ],
    decisions: [aDecisionItem({ scorer: 'hallucination' })],
    joinedWith: [],
    issues: [],
    ...more,
  };
}

/** Builds the reading of the trace. */
export function aReading(): NonNullable<Trace['reading']> {
  const message = (role: 'user' | 'assistant', parts: readonly object[]) => ({
    id: role,
    role,
    createdAt: '2026-11-21T07:05:18.000Z',
    content: { format: 2, parts },
  });
  const run = {
    target: { kind: 'trace', traceId: TRACE, spanId: ROOT_SPAN },
    conventions: ['otel-genai'],
    agent: 'weather-agent',
    agentVersion: null,
    service: 'weather',
    serviceVersion: 'v1',
    environment: 'production',
    sessionId: 'sess-1',
    userId: 'user-9',
    models: ['gpt-5-mini'],
    usage: { inputTokens: 193, outputTokens: 31, totalTokens: 224, reasoningTokens: 0, cachedInputTokens: 0 },
    startedAt: '2026-11-21T07:05:18.000Z',
    endedAt: '2026-11-21T07:05:19.000Z',
    status: 'ok',
    error: null,
    input: {
      inputMessages: [message('user', [{ type: 'text', text: 'What is the weather in Paris?' }])],
      rememberedMessages: [],
      systemMessages: [{ role: 'system', content: 'You are a weather assistant.' }],
      taggedSystemMessages: {},
    },
    output: [
      message('assistant', [
        {
          type: 'tool-invocation',
          toolInvocation: {
            toolCallId: 'call_0',
            toolName: 'get_weather',
            args: { city: 'Paris' },
            state: 'result',
            result: { city: 'Paris', tempC: 18, sky: 'rain' },
          },
        },
        { type: 'text', text: 'It is 18 degrees. The sky is sunny.' },
      ]),
    ],
    documents: [],
    context: [],
    scorable: true,
    notScorable: null,
    warnings: [],
    subRuns: [],
  };
  return {
    traceId: TRACE,
    spanCount: 3,
    logCount: 0,
    runs: [run],
    notScorable: null,
    notUnderstood: [],
    truncated: false,
  } as unknown as NonNullable<Trace['reading']>;
}

/** Builds an item of the list of traces. */
export function aTraceItem(more: Partial<Item<'/traces'>> = {}): Item<'/traces'> {
  return {
    tenant: '',
    traceId: TRACE,
    spanId: ROOT_SPAN,
    sessionId: 'sess-1',
    userId: 'user-9',
    agent: 'weather-agent',
    agentVersion: null,
    service: 'weather',
    serviceVersion: 'v1',
    environment: 'production',
    startedAt: '2026-11-21T07:05:18.000Z',
    endedAt: '2026-11-21T07:05:19.000Z',
    durationMs: 1_000,
    status: 'ok',
    errorType: null,
    models: ['gpt-5-mini'],
    usage: { inputTokens: 193, outputTokens: 31, totalTokens: 224, reasoningTokens: 0, cachedInputTokens: 0 },
    costUsd: 0.0021,
    toolCalls: 1,
    toolErrors: 0,
    tools: ['get_weather'],
    question: 'What is the weather in Paris?',
    answer: 'It is 18 degrees. The sky is sunny.',
    finding: {
      scorer: 'hallucination',
      verdict: 'contradicted',
      claim: 'The sky is sunny.',
      quote: 'cloudy, with rain',
    },
    notScored: [],
    scores: [
      {
        scoreId: '5f2f3b1e-7f39-5c0e-9d3e-0f6f4b3c2a11',
        scorer: 'hallucination',
        score: 0.25,
        label: 'hallucinated',
        higherIsBetter: false,
        source: 'live',
        passes: false,
      },
    ],
    decisions: { scored: 1 },
    state: 'scored',
    ...more,
  };
}

/** Builds a quality of an agent that got worse. */
export function aQuality(more: Partial<AgentQuality> = {}): AgentQuality {
  const rate = (value: number) => ({ value, low: value - 0.05, high: value + 0.04, n: 284, effectiveN: 280 });
  return {
    scorer: 'hallucination',
    isDeclared: true,
    pass: rate(0.66),
    before: rate(0.95),
    change: -0.29,
    median: 0.9,
    medianBefore: 1,
    significant: true,
    points: Array.from({ length: 24 }, (_, hour) => (hour === 7 ? null : 0.95 - hour / 80)),
    ...more,
  };
}

/** Builds an agent with two versions, one quality, and a model without a price. */
export function anAgent(more: Partial<AgentItem> = {}): AgentItem {
  return {
    agent: 'weather-agent',
    service: 'weather',
    runs: 284,
    versions: [
      { version: '1.5.0', firstSeen: '2026-11-21T10:00:00.000Z', runs: 200 },
      { version: '1.4.0', firstSeen: '2026-11-09T10:00:00.000Z', runs: 84 },
    ],
    qualities: [aQuality(), aQuality({ scorer: 'no-tool-errors', change: 0.02, significant: false })],
    toolErrors: { value: 0.054, low: 0.03, high: 0.08, n: 284, effectiveN: 284 },
    costUsd: 0.115,
    unpricedModels: ['local-8b'],
    p95Ms: 4_800,
    ...more,
  };
}

/** Builds an agent with its tools, models and users. */
export function anAgentDetail(): AgentDetail {
  const { versions, ...agent } = anAgent();
  return {
    ...agent,
    versions: versions.map((version) => ({
      ...version,
      qualities: agent.qualities.map(({ scorer, pass }) => ({ scorer, pass })),
    })),
    tools: [{ name: 'get_weather', calls: 210, errors: 12, p95Ms: 310 }],
    models: [{ model: 'gpt-5-mini', runs: 284, costUsd: 0.115 }],
    users: [{ userId: 'user-9', runs: 12, failing: 7 }],
  };
}

const SUMMARY = {
  n: 412,
  effectiveN: 400,
  mean: 0.21,
  p10: 0,
  p50: 0.2,
  p90: 0.5,
  passRate: 0.9,
  pass: { value: 0.9, low: 0.87, high: 0.93, n: 412, effectiveN: 400 },
  weight: 5_130,
  unweighted: 0,
};

/** Builds a series of 24 hours with a baseline, a version and an open incident. Every fourth bucket has few scores. */
export function aSeries(more: Partial<Replies['/series']> = {}): Replies['/series'] {
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 22, hour)).toISOString();
  const baseline = { mean: 0.2, p10: 0.05, p90: 0.4, n: 9_000, from: 'history' as const };
  return {
    items: Array.from({ length: 24 }, (_, hour) => ({
      ...SUMMARY,
      scorer: 'hallucination',
      bucket: at(hour),
      n: hour % 4 === 0 ? 12 : 60,
      mean: 0.2 + hour / 100,
    })),
    next: null,
    groups: [
      {
        ...SUMMARY,
        scorer: 'hallucination',
        scoreMin: 0,
        scoreMax: 1,
        higherIsBetter: false,
        baseline,
        estimate: null,
      },
    ],
    truncatedGroups: 0,
    bucket: '1h',
    since: at(0),
    until: at(24),
    sums: { behindSeconds: 0 },
    baseline,
    markers: [{ service: 'weather', agent: '', version: 'v2', agentVersion: '', at: at(12) }],
    incidents: [
      {
        incidentId: 'i-1',
        alert: 'HallucinationDrift',
        scorer: 'hallucination',
        agent: 'weather-agent',
        environment: 'production',
        startsAt: at(18),
        endsAt: null,
        muted: false,
      },
    ],
    ...more,
  };
}

/** Builds a distribution of ten bins and that of the time before. */
export function aDistribution(more: Partial<Replies['/distribution']> = {}): Replies['/distribution'] {
  const histogram = (counts: number[]) => {
    const n = counts.reduce((sum, count) => sum + count, 0);
    const shares = counts.map((count) => count / n);
    return {
      since: '2026-11-22T00:00:00.000Z',
      until: '2026-11-23T00:00:00.000Z',
      n,
      weight: n,
      mean: 0.21,
      counts,
      shares,
    };
  };
  return {
    scorer: 'hallucination',
    scoreMin: 0,
    scoreMax: 1,
    higherIsBetter: false,
    edges: Array.from({ length: 11 }, (_, index) => index / 10),
    current: histogram([60, 50, 40, 30, 20, 10, 8, 6, 4, 2]),
    compareTo: 'baseline',
    reference: histogram([90, 70, 40, 20, 10, 5, 4, 3, 2, 1]),
    ...more,
  };
}

/** Builds a line of a coverage. */
export function aCoverageLine(more: Partial<Item<'/coverage'>> = {}): Item<'/coverage'> {
  return {
    scorer: 'hallucination',
    eligible: 1_000,
    sampled: 400,
    scored: 300,
    notApplicable: 60,
    deferred: 30,
    failed: 10,
    sampledOut: 600,
    filtered: 50,
    waiting: 3,
    reasons: { failed: { judge_failed: 10 } },
    estimate: { eligible: 1_010, scored: 750, notApplicable: 150, deferred: 75, failed: 25, unweighted: 0 },
    since: '2026-11-22T00:00:00.000Z',
    ...more,
  };
}

/** Builds a backfill that is done. */
export function aBackfill(fields: Partial<Item<'/backfills'>> = {}): Item<'/backfills'> {
  return {
    id: '6f1b8f5e-6c0e-5b7e-9f0a-2f6d1c3a9e41',
    tenant: '',
    status: 'done',
    spec: {
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-22T00:00:00.000Z',
      rules: [{ name: 'production', scorers: { hallucination: 'f1' } }],
    },
    createdAt: '2026-11-22T00:00:00.000Z',
    startedAt: '2026-11-22T00:00:01.000Z',
    finishedAt: '2026-11-22T00:10:00.000Z',
    matched: 100,
    sessions: 0,
    scored: 80,
    skipped: { already_scored: 15 },
    failed: { timeout: 5 },
    remaining: 0,
    perSecond: null,
    etaSeconds: null,
    costUsd: 0.5,
    maxCostUsd: 5,
    checkpoint: null,
    owner: 'host:1',
    error: null,
    left: null,
    ...fields,
  };
}

/** Builds a preview of a rule on sessions, with one verdict. */
export function aSessionPreview(): Writes['POST /preview']['reply'] {
  const { rule, traces } = aPreview();
  return aPreview({
    rule: { ...rule, name: 'chats', target: 'session' },
    traces: traces.map(({ verdicts, ...each }) => ({
      ...each,
      traceId: '',
      sessionId: 'sess-1',
      verdicts: verdicts.map((verdict) => ({ ...verdict, target: 'session', targetId: 'sess-1' })),
    })),
  });
}

/** Builds a preview with one verdict. */
export function aPreview(
  fields: Partial<Writes['POST /preview']['reply']> = {},
): Writes['POST /preview']['reply'] {
  const cost = { costUsd: 0.42, costLow: 0.38, costHigh: 0.46 };
  const calls = {
    judgeCalls: 300,
    inputTokens: 120_000,
    outputTokens: 9_000,
    basis: 'stored_calls',
  } as const;
  return {
    rule: {
      name: 'production',
      target: 'trace',
      scorers: [{ scorer: 'hallucination', fingerprint: 'f1', judge: 'openai/gpt-5-mini' }],
      inForce: null,
    },
    from: '2026-11-21T00:00:00.000Z',
    to: '2026-11-22T00:00:00.000Z',
    matched: 400,
    selected: 100,
    left: { sampled_out: 300 },
    isComplete: true,
    estimate: {
      ...calls,
      ...cost,
      seconds: 40,
      prompts: 50,
      scorers: [],
      unscored: {},
      unpriced: [],
      unknown: [],
    },
    cascade: [],
    perWeek: { traces: 700, judgeCalls: 2_100, costUsd: 2.94, costLow: 2.66, costHigh: 3.22 },
    costUsd: 0.0042,
    traces: [
      {
        tenant: '',
        traceId: TRACE,
        sessionId: '',
        reading: null,
        verdicts: [
          {
            target: 'trace',
            targetId: TRACE,
            scorer: 'hallucination',
            status: 'scored',
            reason: 'One of two claims is not in the context.',
            score: 0.5,
            label: '',
            costUsd: 0.0042,
            stored: {
              score: 0.25,
              label: '',
              scoredAt: '2026-11-21T12:00:00.000Z',
              source: 'live',
              isSameScorer: false,
            },
          },
        ],
        error: null,
      },
    ],
    monitors: [
      {
        alert: 'HallucinationDrift',
        series: 'hallucination/weather-agent/production#f1',
        scores: 1_200,
        firedAt: ['2026-11-21T13:00:00.000Z'],
      },
    ],
    ...fields,
  };
}
