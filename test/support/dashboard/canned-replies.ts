import type { Item, Replies } from '../../../src/dashboard/api-types.ts';
import type { CannedReplies } from './canned-api.ts';
import { INCIDENT_DETAIL, TURNS, VERSIONS, WORK_REPLIES } from './canned-work.ts';
import {
  aBackfill,
  aCoverageLine,
  anAgent,
  anAgentDetail,
  aQuality,
  aDistribution,
  anOverviewLine,
  aReading,
  aScoreItem,
  aSeries,
  aTrace,
  aTraceItem,
  TRACE,
} from './reply-builders.ts';

const SINCE = '2026-11-22T00:00:00.000Z';
const UNTIL = '2026-11-23T00:00:00.000Z';

const CALLS = {
  calls: 120,
  failed: 3,
  inputTokens: 120_000,
  outputTokens: 9_000,
  costUsd: 0.42,
  latencyP50Ms: 900,
  latencyP95Ms: 2_400,
};

const INCIDENT = {
  incidentId: 'i-1',
  alert: 'HallucinationDrift',
  scorer: 'hallucination',
  agent: 'weather-agent',
  environment: 'production',
  startsAt: SINCE,
  endsAt: null,
  muted: false,
};

const SERIES = {
  tenant: '',
  scorer: 'hallucination',
  fingerprint: 'f1',
  agent: 'weather-agent',
  environment: 'production',
};

const ALERT: Item<'/alerts'> = {
  id: 'e-1',
  incidentId: 'i-1',
  status: 'firing',
  alert: 'HallucinationDrift',
  summary: 'hallucination of weather-agent in production: mean score fell from 0.8 to 0.7 (1 is best)',
  detector: 'drift',
  series: SERIES,
  seriesId: 's-1',
  startsAt: SINCE,
  endsAt: null,
  changeBegan: SINCE,
  limit: null,
  before: 0.8,
  after: 0.7,
  count: 69,
  lateScores: 2,
  evidenceLog10: 5.3,
  labels: {},
  annotations: {},
  worstTraces: [{ traceId: TRACE, scoreId: 's-1', score: 0 }],
  cause: null,
  held: false,
  serviceVersion: '',
  agentVersion: '',
  muted: false,
  mute: null,
  acknowledgedAt: null,
};

const MONITOR: Item<'/monitors'> = {
  ruleKey: 'k-1',
  group: 'quality',
  alert: 'HallucinationDrift',
  detector: 'drift',
  series: SERIES,
  seriesId: 's-1',
  phase: 'firing',
  since: SINCE,
  incidentId: 'i-1',
  finding: null,
  lacks: null,
  mean: 0.7,
  baseline: 0.8,
  limit: null,
  evidenceLog10: 5.3,
  scores: 1_069,
  bucket: SINCE,
  lateScores: 12,
  lastLateBucket: SINCE,
  muted: false,
};

const RULE: Item<'/rules'> = {
  rule: 'production',
  version: 'v1',
  activeFrom: SINCE,
  target: 'trace',
  scorers: ['hallucination'],
  where: { service: ['weather'] },
  sample: { rate: 0.1, always: [] },
  budget: { perDay: 5 },
  versions: [{ version: 'v1', activeFrom: SINCE, rate: 0.1 }],
  decisions: { since: SINCE, scored: 300, eligible: 1_000 },
};

const SCORER: Item<'/scorers'> = {
  scorer: 'hallucination',
  use: 'hallucination',
  measures: 'claims of the answer that the evidence contradicts',
  module: null,
  kind: 'judge',
  version: '1',
  judge: 'openai/gpt-5-mini',
  fingerprint: 'f1',
  higherIsBetter: false,
  scoreMin: 0,
  scoreMax: 1,
  rows: ['hallucination'],
  passLines: [{ line: 0.500_000_002, isDeclared: true }],
  rules: ['production'],
  activeFrom: SINCE,
};

const SESSION: Replies['/sessions/{sessionId}'] = {
  tenant: '',
  sessionId: 'sess-1',
  startedAt: SINCE,
  lastTurnAt: UNTIL,
  turnCount: 1,
  userId: 'user-9',
  agents: ['weather-agent'],
  services: ['weather'],
  worst: { scorer: 'hallucination', score: 0.25 },
  totalTokens: 224,
  costUsd: 0.0021,
  scores: [aScoreItem({ target: 'session', traceId: '', sessionId: 'sess-1', scorer: 'multi-turn' })],
  decisions: [],
  turns: TURNS,
  omittedTurns: 0,
};

const COMPARISON: Replies['/compare'] = {
  left: 'hallucination',
  right: 'human:correctness',
  since: SINCE,
  until: UNTIL,
  n: 120,
  agreement: 0.9,
  kappa: 0.72,
  kappaLow: 0.6,
  kappaHigh: 0.84,
  spearman: 0.7,
  confusion: { bothPass: 80, leftPasses: 7, rightPasses: 5, bothFail: 28 },
  disagreements: [TRACE],
};

const QUEUE: Replies['/labels/queue'] = {
  scorer: 'hallucination',
  strategy: 'stratified',
  reviewer: 'ann',
  day: '2026-11-23',
  higherIsBetter: false,
  scoreMin: 0,
  scoreMax: 1,
  labelled: 4,
  left: 2,
  items: [TRACE, 'f'.repeat(32)].map((traceId) => ({
    tenant: '',
    target: 'trace' as const,
    targetId: traceId,
    traceId,
    spanId: '',
    sessionId: 'sess-1',
    agent: 'weather-agent',
    service: 'weather',
    environment: 'production',
    startedAt: SINCE,
    run: aReading().runs[0] ?? null,
  })),
};

const AGREEMENT: Replies['/labels/agreement'] = {
  scorer: 'hallucination',
  since: SINCE,
  until: UNTIL,
  versions: [
    {
      scorer: 'hallucination',
      fingerprint: '3f9c2a71aaaa',
      scorerVersion: '1',
      judgeModel: 'openai/gpt-5-mini',
      higherIsBetter: false,
      scores: 1_000,
      n: 60,
      agreement: 0.87,
      kappa: 0.73,
      kappaLow: 0.56,
      kappaHigh: 0.9,
      confusion: { bothPass: 28, leftPasses: 2, rightPasses: 6, bothFail: 24 },
      sensitivity: 0.98,
      sensitivityLow: 0.87,
      sensitivityHigh: 0.997,
      specificity: 0.57,
      specificityLow: 0.41,
      specificityHigh: 0.72,
      passRate: 0.9,
      estimate: {
        scores: 1_000,
        effectiveN: 1_000,
        labels: 60,
        raw: 0.9,
        estimate: 0.86,
        low: 0.74,
        high: 0.98,
        strata: [
          { verdict: 'pass', share: 0.9, labels: 30, agree: 0.93 },
          { verdict: 'fail', share: 0.1, labels: 30, agree: 0.8 },
        ],
        moreLabels: { toHalve: 110 },
      },
      corrected: { share: 0.86, low: 0.74, high: 0.98 },
      certificate: { state: 'uncertified', sensitivityLow: 0.87, specificityLow: 0.41 },
    },
  ],
  reviewers: [
    {
      scorer: 'hallucination',
      left: 'ann',
      right: 'bob',
      n: 20,
      agreement: 0.95,
      kappa: 0.89,
      kappaLow: 0.67,
      kappaHigh: 1,
    },
  ],
};

const ESTIMATES: Replies['/labels/estimate'] = {
  scorer: 'hallucination',
  since: SINCE,
  until: UNTIL,
  items: AGREEMENT.versions.flatMap(({ scorer, fingerprint, estimate, certificate }) =>
    ['hallucination', 'weather-agent'].map((series) => ({
      series,
      scorer,
      fingerprint,
      ...estimate,
      certificate,
    })),
  ),
};

const STATUS: Replies['/status'] = {
  version: '0.1.0',
  pid: 12,
  startedAt: SINCE,
  startedAtMs: 1_763_712_000_000,
  roles: ['api', 'store'],
  otlpHttp: 'http://0.0.0.0:14318',
  otlpGrpc: null,
  spansPerSecond: 12.5,
  scoresPerSecond: 0.25,
  components: [
    { name: 'store', healthy: true, error: null },
    { name: 'kafka', healthy: false, error: 'no broker answers' },
  ],
  store: { kind: 'embedded engine', version: '25.8', bytes: 5_242_880, rows: { spans: 1_200, scores: 30 } },
  scoring: {
    waiting: 3,
    queued: 7,
    inFlight: 2,
    retries: 1,
    lagMs: 150,
    oldestWaitMs: 4_000,
    oldestQueuedMs: null,
  },
  judges: [
    {
      judge: 'openai/gpt-5-mini',
      scorer: 'hallucination',
      state: 'failing',
      failingSinceMs: 1_763_712_000_000,
      kinds: { judge_timeout: 3 },
      lastFailure: { reason: 'no reply in 30 s' },
    },
  ],
  jobs: [{ id: 'job-1', kind: 'purge', status: 'running', error: null }],
  budgets: [
    {
      scope: 'rule',
      rule: 'production',
      tenant: null,
      period: 'day',
      spentUsd: 1.2,
      reservedUsd: 0.1,
      capUsd: 5,
      renewsAt: UNTIL,
    },
  ],
  configuration: {
    file: 'spanscore.yaml',
    revision: 3,
    loadedAt: UNTIL,
    lastReload: {
      outcome: 'applied',
      revision: 3,
      at: UNTIL,
      changed: ['rules.production'],
      issues: [],
      needsRestart: [],
    },
  },
  config: { store: { dataDir: '.spanscore' }, judges: { default: 'openai/gpt-5-mini' } },
  configChanges: { judges: { default: 'openai/gpt-5-mini' } },
};

/** Replies with data on every page. */
export const FULL: CannedReplies = {
  '/session': {
    token: null,
    tenant: null,
    scopes: ['read', 'label', 'admin'],
    proof: 'none',
    expiresAt: null,
  },
  '/overview': {
    items: [
      anOverviewLine({ incident: INCIDENT }),
      anOverviewLine({ scorer: 'keyword-coverage', higherIsBetter: true, baseline: null }),
    ],
    next: null,
    bucket: '1h',
    since: SINCE,
    until: UNTIL,
    sums: { behindSeconds: 0 },
    figures: {
      runs: 670,
      pass: { value: 0.84, low: 0.79, high: 0.88, n: 500, effectiveN: 480 },
      toolErrors: { value: 0.054, low: 0.04, high: 0.07, n: 670, effectiveN: 670 },
      agentUsd: 0.16,
      unpriced: 1,
      judgeUsd: 0.92,
    },
    incidents: [INCIDENT],
    budgets: [],
  },
  '/agents': {
    items: [
      anAgent(),
      anAgent({ agent: 'trip-planner', qualities: [aQuality({ change: 0, significant: false })] }),
    ],
    next: null,
  },
  '/agents/{agent}': anAgentDetail(),
  '/agents/{agent}/versions': VERSIONS,
  '/traces': {
    items: [
      aTraceItem(),
      aTraceItem({
        traceId: 'f'.repeat(32),
        status: 'error',
        finding: null,
        notScored: [{ scorer: 'hallucination', reason: 'no_content' }],
      }),
    ],
    next: 'c-2',
  },
  '/traces/facets': {
    runs: 330,
    buckets: [{ at: SINCE, runs: 40, errors: 2 }],
    service: [],
    model: [],
    agent: [
      { value: 'weather-agent', count: 240 },
      { value: 'trip-planner', count: 90 },
    ],
    agentVersion: [{ value: '1.5.0', count: 120 }],
    environment: [{ value: 'production', count: 330 }],
    scorer: [{ value: 'hallucination', count: 300 }],
    tool: [{ value: 'get_weather', count: 210 }],
    notScored: [{ value: 'no_content', count: 18 }],
    tenant: [],
  },
  '/traces/{traceId}': aTrace(),
  '/traces/{traceId}/spans/{spanId}': aTrace().spans[0],
  '/scores': { items: [aScoreItem()], next: null },
  '/series': aSeries(),
  '/distribution': aDistribution(),
  '/coverage/funnel': {
    since: SINCE,
    until: UNTIL,
    runs: 412,
    arrived: 5_200,
    agents: [{ agent: 'weather-agent', eligible: 5_130, scored: 3_745 }],
    trend: [{ bucket: SINCE, eligible: 5_130, scored: 3_745 }],
    bucket: '1h',
    eligible: 5_130,
    sampled: 4_100,
    scored: 3_745,
    losses: [
      {
        after: 'eligible',
        status: 'sampled_out',
        reason: 'sampled_out',
        count: 1_030,
        runs: 90,
        traces: '/traces?status=sampled_out&since=24h',
        mend: 'rules.production.sample.rate',
      },
      {
        after: 'sampled',
        status: 'not_applicable',
        reason: 'no_content',
        count: 355,
        runs: 30,
        traces: '/traces?reason=no_content&since=24h',
        mend: null,
      },
    ],
  },
  ...WORK_REPLIES,
  '/coverage': { items: [aCoverageLine(), aCoverageLine({ scorer: 'keyword-coverage' })], next: null },
  '/alerts': { items: [ALERT], next: null },
  '/alerts/{id}': {
    ...ALERT,
    ...INCIDENT_DETAIL,
  },
  '/backfills': { items: [aBackfill()], next: null },
  '/monitors': { items: [MONITOR], next: null },
  '/mutes': {
    items: [{ tenant: '*', subject: 'AnswersGotWorse', until: UNTIL, by: 'lead', reason: 'release' }],
    next: null,
  },
  '/judges': {
    items: [
      {
        judge: 'openai/gpt-5-mini',
        ...CALLS,
        failures: { judge_timeout: 3 },
        cacheHits: 10,
        breaker: 'closed',
        scorers: ['hallucination'],
        hours: [{ hour: SINCE, ...CALLS }],
      },
    ],
    next: null,
    since: SINCE,
    budgets: [
      {
        scope: 'rule',
        rule: 'production',
        tenant: null,
        period: 'day',
        spentUsd: 1.2,
        reservedUsd: 0.1,
        leftUsd: 3.7,
        capUsd: 5,
        renewsAt: UNTIL,
      },
    ],
  },
  '/rules': { items: [RULE], next: null },
  '/scorers': { items: [SCORER], next: null },
  '/sessions/{sessionId}': SESSION,
  '/compare': COMPARISON,
  '/labels/queue': QUEUE,
  '/labels/agreement': AGREEMENT,
  '/labels/estimate': ESTIMATES,
  '/status': STATUS,
} as CannedReplies;

/** Keeps the shape of a reply, without anything in it: lists are empty, and counts are 0. */
function emptied<Reply>(reply: Reply): Reply {
  const values = Object.entries(reply as object).map(([name, value]) => [
    name,
    Array.isArray(value) ? [] : typeof value === 'number' ? 0 : name === 'next' ? null : value,
  ]);
  return Object.fromEntries(values) as Reply;
}

const LISTS = [
  '/agents /traces/facets /coverage/funnel /costs /traces /sessions /scores /coverage /alerts /backfills /issues /monitors',
  '/mutes /judges /rules /scorers /labels/agreement /labels/estimate',
].flatMap((paths) => paths.split(' ') as (keyof CannedReplies)[]);

/** Replies of a store without anything. */
export const EMPTY: CannedReplies = {
  ...FULL,
  ...Object.fromEntries(LISTS.map((path) => [path, emptied(FULL[path])])),
  '/overview': { ...FULL['/overview'], items: [], incidents: [] } as Replies['/overview'],
  '/series': aSeries({ items: [], groups: [], baseline: null, markers: [], incidents: [] }),
  '/distribution': aDistribution({ current: { ...aDistribution().current, n: 0, mean: null } }),
  '/labels/queue': { ...QUEUE, items: [], left: 0 },
  '/compare': { ...COMPARISON, n: 0, agreement: null, kappa: null, spearman: null, disagreements: [] },
};
