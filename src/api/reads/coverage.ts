import { isLiveRule, type DecisionStatus } from '../../domain/decision.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import type {
  CoverageRow,
  FunnelQuery,
  FunnelReading,
  FunnelRow,
  WaitingCount,
} from '../../store/contracts/sums.ts';
import { isoTime } from '../json/rows.ts';

export const COVERAGE_GROUPS = ['scorer', 'rule', 'reason', 'service'] as const;
export type CoverageGroup = (typeof COVERAGE_GROUPS)[number];

/** Lines of a coverage, and the scorers and rules of which one counts; undefined: all. */
interface CoverageChoice {
  readonly by?: CoverageGroup | undefined;
  readonly sinceMs: number;
  readonly scorer?: readonly string[] | undefined;
  readonly rule?: readonly string[] | undefined;
}

/** One line of a coverage. Of the keys of groups, it has the one that was asked for; none for the total. */
export type CoverageLine = ReturnType<typeof coverageLines>[number];

const COUNT_OF = {
  scored: 'scored',
  filtered: 'filtered',
  sampled_out: 'sampledOut',
  not_applicable: 'notApplicable',
  deferred: 'deferred',
  failed: 'failed',
} as const satisfies Record<DecisionStatus, string>;

/**
 * Folds the counts of the store to the lines of a coverage, the greatest number of eligible decisions first. Decisions of backfills
 * and commands count only by rule, in lines of their own, and where their rule is asked for: they are about the same targets.
 */
export function coverageLines(
  rows: readonly CoverageRow[],
  waiting: readonly WaitingCount[] | undefined,
  { by, sinceMs, scorer, rule }: CoverageChoice,
) {
  const isAsked = (pair: { readonly rule: string; readonly scorer: string }) =>
    (scorer?.includes(pair.scorer) ?? true) && (rule?.includes(pair.rule) ?? true);
  const namesRule = by === 'rule' || rule !== undefined;
  const counted = rows.filter((row) => isAsked(row) && (namesRule || isLiveRule(row.rule)));
  const groups = Map.groupBy(counted, (row) => readGroup(row, by));
  const known = by === 'reason' || by === 'service' ? undefined : waiting?.filter(isAsked);
  const waitings = Map.groupBy(known ?? [], (count) => (by === 'scorer' || by === 'rule' ? count[by] : ''));
  const names = new Set([...(by === undefined ? [''] : []), ...groups.keys(), ...waitings.keys()]);
  return [...names]
    .map((name) => {
      const group = groups.get(name) ?? [];
      const first = group[0];
      const since = isoTime(sinceMs);
      return {
        ...describeGroup(by, name, first),
        ...countRows(group, ({ decisions }) => decisions),
        ...(known === undefined
          ? {}
          : { waiting: (waitings.get(name) ?? []).reduce((sum, each) => sum + each.waiting, 0) }),
        reasons: countReasons(group),
        estimate: buildEstimate(group),
        since,
      };
    })
    .toSorted((a, b) => b.eligible - a.eligible);
}

function readGroup(row: CoverageRow, by: CoverageGroup | undefined): string {
  if (by === undefined) {
    return '';
  }
  return by === 'reason' ? JSON.stringify([row.status, row.reason]) : row[by];
}

function describeGroup(
  by: CoverageGroup | undefined,
  name: string,
  first: CoverageRow | undefined,
): {
  scorer?: string;
  rule?: string;
  reason?: string | null;
  service?: string | null;
  status?: DecisionStatus;
} {
  if (by === undefined) {
    return {};
  }
  if (by === 'reason') {
    return first === undefined ? {} : { reason: first.reason || null, status: first.status };
  }
  return { [by]: by === 'service' ? name || null : name };
}

function countRows(rows: readonly CoverageRow[], measure: (row: CoverageRow) => number) {
  const counts = { scored: 0, notApplicable: 0, deferred: 0, failed: 0, sampledOut: 0, filtered: 0 };
  for (const row of rows) {
    counts[COUNT_OF[row.status]] += measure(row);
  }
  const sampled = counts.scored + counts.notApplicable + counts.deferred + counts.failed;
  return { eligible: sampled + counts.sampledOut, sampled, ...counts };
}

function buildEstimate(rows: readonly CoverageRow[]) {
  const sampled = rows.filter(({ status }) => status !== 'sampled_out' && status !== 'filtered');
  const { eligible, scored, notApplicable, deferred, failed } = countRows(sampled, ({ weight }) => weight);
  const unweighted = sampled.reduce((sum, row) => sum + row.unweighted, 0);
  return { eligible, scored, notApplicable, deferred, failed, unweighted };
}

function countReasons(rows: readonly CoverageRow[]) {
  const reasons: Partial<Record<DecisionStatus, Record<string, number>>> = {};
  for (const { status, reason, decisions } of rows) {
    if (reason !== '') {
      const ofStatus = (reasons[status] ??= {});
      ofStatus[reason] = (ofStatus[reason] ?? 0) + decisions;
    }
  }
  return reasons;
}

/** Range and choice of a funnel. */
export type FunnelRequest = Omit<FunnelQuery, 'tenant' | 'pairs' | 'live'>;

/** Steps of a funnel that lose something. */
export const FUNNEL_STEPS = ['arrived', 'eligible', 'sampled'] as const;

/** Step after which decisions of a status are lost. */
const LOST_AFTER = {
  filtered: 'arrived',
  sampled_out: 'eligible',
  not_applicable: 'sampled',
  deferred: 'sampled',
  failed: 'sampled',
} as const satisfies Record<Exclude<DecisionStatus, 'scored'>, (typeof FUNNEL_STEPS)[number]>;

const CAPTURE =
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true in the agent, or the setting of its framework';

/** Remedy of each reason: a key of the configuration, a setting or a command. A reason without a line needs no remedy, or has no setting. */
export const MENDS: Readonly<Record<string, string>> = {
  where: 'rules[].where',
  sampled_out: 'rules[].sample.rate',
  no_content_captured: CAPTURE,
  content_by_reference: CAPTURE,
  redacted: 'the redaction of the agent: spanscore redacts what a judge sees by itself',
  budget_exhausted: 'rules[].budget.perDay',
  judge_rate_limited: 'judges.providers.<name>.requestsPerMinute',
  judge_unavailable: 'judges.providers.<name>.baseURL',
  judge_unauthorised: 'judges.providers.<name>.apiKey',
  judge_timeout: 'judges.options.<name>.timeout',
  judge_malformed: 'scorers.<name>.judge',
  judge_refused: 'scorers.<name>.judge',
  judge_misconfigured: 'scorers.<name>.judge',
  judge_window: 'judges.options.<name>.contextTokens',
  overloaded: 'judges.providers.<name>.concurrency',
  timeout: 'scorers.<name>.limits.timeout',
  out_of_memory: 'scorers.<name>.limits.memory',
  scorer_failed: 'spanscore rescore --failed, once the scorer is mended',
  scorer_paused: 'scorers.<name>.module',
  scorer_unavailable: 'scorers.<name>.module',
  out_of_range: 'scorers.<name>.range',
  rule_removed: 'rules[].scorers',
  evidence_gone: 'store.retention.spans',
  score_lost: 'spanscore rescore --failed',
  reading_failed: 'spanscore rescore --failed',
  too_many_calls: 'rules[].target',
  too_many_targets: 'rules[].target',
};

/** Names the setting that mends a reason. When one rule has the reason, the name is the key of this rule. */
function findMend(reason: string, [rule, ...others]: readonly string[]): string | null {
  const mend = MENDS[reason] ?? null;
  return rule === undefined || others.length > 0 ? mend : (mend?.replace('rules[]', `rules.${rule}`) ?? null);
}

/** Builds the funnel: each step without its losses is the next one. A loss names the runs that it is about. */
export function buildFunnel(
  { rows: counts, waiting, fromMs, toMs, stepMs }: FunnelReading,
  request: FunnelRequest,
) {
  const rows = counts.filter(
    ({ scorer, agent, startMs }) => scorer === null && agent === null && startMs === null,
  );
  const agents = countEach(counts, ({ agent }) => agent).toSorted((a, b) => b.eligible - a.eligible);
  const steps = countEach(counts, ({ startMs }) => startMs).toSorted((a, b) => a.group - b.group);
  const countOf = (status: DecisionStatus) =>
    rows.filter((row) => row.status === status).reduce((sum, { count }) => sum + count, 0);
  const scored = countOf('scored');
  const sampled = scored + countOf('not_applicable') + countOf('deferred') + countOf('failed');
  const eligible = sampled + countOf('sampled_out');
  const losses = rows.flatMap((row) => buildLoss(row, { ...request, fromMs, toMs }));
  return {
    since: new Date(fromMs).toISOString(),
    until: new Date(toMs).toISOString(),
    bucket: stepMs === HOUR_MS ? ('1h' as const) : ('1d' as const),
    agents: agents.slice(0, MAX_AGENTS).map(({ group, ...each }) => ({ agent: group, ...each })),
    trend: steps.map(({ group, ...each }) => ({ bucket: new Date(group).toISOString(), ...each })),
    runs: (rows.find(({ status }) => status === null)?.runs ?? 0) + waiting.undecided,
    arrived: eligible + countOf('filtered') + waiting.count,
    eligible,
    sampled,
    scored,
    losses: [...losses, ...buildWaiting(waiting)].toSorted(
      (a, b) => FUNNEL_STEPS.indexOf(a.after) - FUNNEL_STEPS.indexOf(b.after) || b.count - a.count,
    ),
  };
}

/** Most agents of a funnel. */
const MAX_AGENTS = 50;

export function countByScorer({ rows }: Pick<FunnelReading, 'rows'>) {
  return new Map(countEach(rows, ({ scorer }) => scorer).map(({ group, ...each }) => [group, each]));
}

/** Counts the eligible and the scored pairs of each group; rows without one are left out. */
function countEach<T extends string | number>(
  rows: readonly FunnelRow[],
  groupOf: (row: FunnelRow) => T | null,
) {
  const add = (counts: readonly FunnelRow[]) => counts.reduce((sum, { count }) => sum + count, 0);
  return [...Map.groupBy(rows, groupOf)].flatMap(([group, counts]) =>
    group === null
      ? []
      : [
          {
            group,
            eligible: add(counts.filter(({ status }) => status !== 'filtered')),
            scored: add(counts.filter(({ status }) => status === 'scored')),
          },
        ],
  );
}

function buildLoss({ status, reason, count, runs, rules }: FunnelRow, request: FunnelRequest) {
  if (status === null || status === 'scored') {
    return [];
  }
  const traces = linkTraces({
    since: [new Date(request.fromMs).toISOString()],
    until: [new Date(request.toMs).toISOString()],
    rule: rules,
    status: [status],
    reason: reason === '' ? [] : [reason],
    agent: request.agent ?? [],
    environment: request.environment ?? [],
  });
  const mend = findMend(reason, rules);
  return [
    {
      after: LOST_AFTER[status],
      status,
      reason: reason || status,
      count,
      runs,
      traces,
      mend,
    },
  ];
}

function linkTraces(filters: Readonly<Record<string, readonly string[]>>): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(filters)) {
    values.forEach((value) => query.append(name, value));
  }
  return `/traces?${query.toString()}`;
}

/** Most traces that a link names by their ids. */
const MAX_NAMED = 100;

/** Builds the loss of what has no decision yet. No filter finds such traces, so the link names them. */
function buildWaiting({ count, traceIds }: FunnelReading['waiting']) {
  return count === 0
    ? []
    : [
        {
          after: 'arrived' as const,
          status: null,
          reason: 'waiting',
          count,
          runs: traceIds.length,
          traces: linkTraces({ traceId: traceIds.slice(0, MAX_NAMED) }),
          mend: null,
        },
      ];
}
