import type { Incident, Issue, IssueDetail, Replies } from '../../../src/dashboard/api-types.ts';
import { aTraceItem } from './reply-builders.ts';

const SINCE = '2026-11-22T00:00:00.000Z';
const LATER = '2026-11-22T12:30:00.000Z';

const rate = (value: number, n: number) => ({
  value,
  low: value - 0.04,
  high: value + 0.03,
  n,
  effectiveN: n,
});

/** Two versions of an agent, of which the newer one is worse. */
export const VERSIONS: Replies['/agents/{agent}/versions'] = {
  left: { version: '1.4.0', runs: 151, tokens: 742, p50Ms: 2_000 },
  right: { version: '1.5.0', runs: 356, tokens: 870, p50Ms: 2_900 },
  items: [
    {
      scorer: 'hallucination',
      left: rate(0.957, 151),
      right: rate(0.675, 356),
      evidenceLog10: 53.2,
      verdict: 'worse',
    },
    {
      scorer: 'tone',
      left: rate(0.9, 151),
      right: rate(0.91, 356),
      evidenceLog10: -0.4,
      verdict: 'not_shown',
    },
  ],
};

/** Issue of an agent that the newer version made worse. */
export const ISSUE: Issue = {
  id: '9f2c000000000001',
  aliases: [],
  title: 'answer contradicts `get_order`: status',
  kind: 'claim',
  agent: 'weather-agent',
  tenant: '',
  subject: { tool: 'get_order', path: 'status' },
  state: 'escalating',
  share: { value: 0.021, low: 0.014, high: 0.031, n: 2_941 },
  runs: 61,
  users: 40,
  sessions: 38,
  firstSeen: SINCE,
  lastSeen: LATER,
  points: [0, null, 0.02],
  versions: [{ version: '1.5.0', runs: 61, share: rate(0.1, 610) }],
  resolvedVersion: '',
  verification: {
    version: '1.6.0',
    state: 'running',
    before: rate(0.1, 610),
    since: rate(0.06, 40),
    decidedAt: null,
  },
};

/** The same issue with an example, its segments and its history. */
export const ISSUE_DETAIL: IssueDetail = {
  ...ISSUE,
  examples: [
    {
      traceId: 'f'.repeat(32),
      at: LATER,
      question: 'Where is my order?',
      answer: 'It was cancelled. Anything else?',
      claim: 'It was cancelled.',
      evidence: { source: 'get_order', quote: '{"status":"shipped"}', spanId: 'b7ad6b7169203331' },
      error: null,
      comment: null,
    },
  ],
  segments: [{ dimension: 'model', value: 'gpt-5-mini', runs: 61, share: rate(0.1, 610) }],
  history: [{ at: LATER, by: 'lead', what: 'resolve in 1.6.0' }],
};

/** Parts of an incident that its own route tells. */
export const INCIDENT_DETAIL: Pick<Incident, 'cause' | 'versions' | 'issues' | 'messages' | 'notes'> = {
  cause: {
    sentence: '−0.25 in tone: 98 % within agent version 1.5.0 (new, 0.95 → 0.70), mix 2 %.',
    verdict: 'segment',
    who: null,
    judge: null,
    segments: [
      {
        segment: { agentVersion: '1.5.0' },
        kind: 'within',
        before: 0.946,
        after: 0.701,
        n: 287,
        share: 0.98,
        isNew: true,
        evidenceLog10: 9.1,
        same: [],
      },
    ],
    before: { mean: 0.946, n: 2_000 },
    after: { mean: 0.701, n: 300 },
    change: -0.245,
    within: -0.24,
    mix: -0.005,
    dimensions: [],
  },
  versions: VERSIONS,
  issues: [],
  messages: [
    { channel: 'slack-quality', at: LATER, state: 'sent' },
    { channel: 'pagerduty', at: LATER, state: 'failed' },
  ],
  notes: [{ at: LATER, by: 'lead', text: 'Rolled back the prompt.' }],
};

/** Lists of the pages of work. */
export const WORK_REPLIES: Pick<
  Replies,
  '/sessions' | '/costs' | '/issues' | '/issues/{id}' | '/issues/{id}/traces'
> = {
  '/issues': {
    items: [
      ISSUE,
      {
        ...ISSUE,
        id: '9f2c000000000002',
        title: 'tool `refund` fails: HTTP 504',
        kind: 'tool-error',
        state: 'ignored',
      },
    ],
    next: null,
  },
  '/issues/{id}': ISSUE_DETAIL,
  '/issues/{id}/traces': {
    items: [{ traceId: 'f'.repeat(32), at: LATER, version: '1.5.0', userId: 'user-1' }],
  },
  '/sessions': {
    items: [
      {
        tenant: '',
        sessionId: 'sess-1',
        startedAt: SINCE,
        lastTurnAt: LATER,
        turnCount: 3,
        userId: 'user-9',
        agents: ['weather-agent'],
        services: ['weather'],
        totalTokens: 672,
        costUsd: 0.0063,
        worst: { scorer: 'hallucination', score: 0.25 },
        scores: [],
      },
    ],
    next: null,
  },
  '/costs': {
    items: ['2026-11-21T00:00:00.000Z', SINCE].flatMap((bucket, day) => [
      { key: 'production', bucket, agentUsd: 0.16, judgeUsd: 0.92 + day, runs: 284, unpriced: 0 },
      { key: 'local-8b', bucket, agentUsd: null, judgeUsd: 0.2, runs: 40, unpriced: 40 },
    ]),
    next: null,
  },
};

/** Turns of a session: one with scores, and one with the reason for none. */
export const TURNS = [
  aTraceItem(),
  aTraceItem({
    traceId: 'e'.repeat(32),
    scores: [],
    state: 'not_scored',
    finding: null,
    notScored: [{ scorer: 'hallucination', reason: 'no_content' }],
  }),
];
