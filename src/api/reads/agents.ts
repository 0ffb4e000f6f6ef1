import { openCurrentReads, type CurrentReads } from '../../aggregates/refresh-aggregates.ts';
import type { Config } from '../../configuration.ts';
import type { ReadScope } from './traces.ts';
import { buildRate, isDifferent, weighDifference, type Rate } from '../../domain/agreement/rate.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { findPriceByModel } from '../../domain/money/model-prices.ts';
import { leastDiscovery } from '../../monitors/version-compare.ts';
import type { CostKey, CostRow, RunSumsQuery, SummaryRow } from '../../store/contracts/sums.ts';
import type { AgentRuns, FirstRun } from '../../store/sums/run-sums.ts';

/** Days before a range whose rates it is compared with. */
const BEFORE_MS = 14 * DAY_MS;

/** Most agents and versions of a reply. */
const MAX_ROWS = 2_000;

/** Longest range that is read by the hour; a longer one is read by the day. */
const HOURLY_MS = 31 * DAY_MS;

/** Buckets of a range of a day or less. */
const HOURS = 24;

export type AgentRequest = Omit<RunSumsQuery, 'tenant'>;

export type AgentView = Awaited<ReturnType<typeof readAgents>>[number];

/** Creates the numbers of agents for the callers of a tenant, or of all. */
export function createAgentReads(terms: ReadScope) {
  return {
    /** Agents with runs or live scores in a range, those with the most runs first. */
    list: async (request: AgentRequest) =>
      readAgents(terms, await openCurrentReads(terms.store, terms.tenant), request),
    /** Throws a `NotFoundError` for an agent without a stored run. */
    read: (name: string, request: Omit<AgentRequest, 'agent'>) => readAgent(terms, name, request),
    /** Throws a `NotFoundError` for an agent without a stored run. */
    compareVersions: (name: string, request: VersionsRequest) => compareVersions(terms, name, request),
    costs: (request: AgentRequest & { readonly by: CostKey; readonly bucketMs: number }) =>
      readCosts(terms, request),
  };
}

/** Pass lines of all stored scorers. */
async function readPassLines(
  { findPass }: Pick<ReadScope, 'findPass'>,
  reads: Pick<CurrentReads, 'scorerNames'>,
) {
  return new Map(
    await Promise.all(reads.scorerNames.map(async (name) => [name, await findPass(name)] as const)),
  );
}

/** Returns the pass lines that labels or a bar declare. */
export async function readDeclaredLines(
  terms: Pick<ReadScope, 'findPass'>,
  reads: Pick<CurrentReads, 'scorerNames'>,
): Promise<Map<string, number>> {
  const lines = await readPassLines(terms, reads);
  return new Map([...lines].flatMap(([name, { line, isDeclared }]) => (isDeclared ? [[name, line]] : [])));
}

async function readAgents(terms: ReadScope, reads: CurrentReads, request: AgentRequest) {
  const { store, tenant, config } = terms;
  const { runSums } = store;
  const [sums, first, qualities] = await Promise.all([
    runSums.agents({ ...request, tenant, limit: MAX_ROWS }),
    runSums.versions({ ...request, tenant }),
    readQualities(terms, reads, request),
  ]);
  const all = sums.filter(({ version }) => version === null);
  const ofRuns = new Map(all.map((row) => [row.agent, row]));
  const names = [...new Set([...ofRuns.keys(), ...qualities.keys()])];
  return names.map((agent) =>
    buildAgent(agent, {
      runs: ofRuns.get(agent) ?? NO_RUNS,
      versions: sums.filter((row) => row.agent === agent && row.version !== null),
      first: first.filter((row) => row.agent === agent),
      qualities: qualities.get(agent) ?? NO_QUALITIES,
      prices: config.judges.prices,
    }),
  );
}

const NO_RUNS = {
  service: '',
  runs: 0,
  readRuns: 0,
  toolErrorRuns: 0,
  costUsd: null,
  uncostedModels: [],
  p95Ms: null,
} as const;

interface Qualities {
  readonly service: string;
  readonly items: readonly ReturnType<typeof buildQuality>[];
}

const NO_QUALITIES: Qualities = { service: '', items: [] };

interface AgentParts {
  readonly runs: AgentRuns | typeof NO_RUNS;
  readonly versions: readonly AgentRuns[];
  readonly first: readonly FirstRun[];
  readonly qualities: Qualities;
  readonly prices: Config['judges']['prices'];
}

function buildAgent(agent: string, { runs, versions, first, qualities, prices }: AgentParts) {
  const firstOf = new Map(first.map(({ version, firstMs }) => [version, firstMs]));
  return {
    agent,
    service: runs.service || qualities.service,
    runs: runs.runs,
    versions: versions
      .map(({ version, runs: n }) => ({
        version: version ?? '',
        runs: n,
        firstMs: firstOf.get(version ?? '') ?? null,
      }))
      .toSorted((a, b) => (b.firstMs ?? 0) - (a.firstMs ?? 0)),
    qualities: qualities.items,
    toolErrors: rateOfCounts(runs.toolErrorRuns, runs.readRuns),
    costUsd: runs.costUsd,
    unpricedModels: runs.uncostedModels.filter((model) => findPriceByModel(model, prices) === undefined),
    p95Ms: runs.p95Ms,
  };
}

/** Builds the rate of equal observations; null without any. */
export function rateOfCounts(counted: number, n: number): Rate | null {
  return n === 0 ? null : buildRate({ value: counted / n, n, effectiveN: n });
}

/** Reads the qualities of each agent, by its name, with the service that most of its scores have. */
async function readQualities(
  terms: ReadScope,
  reads: CurrentReads,
  request: AgentRequest,
): Promise<Map<string, Qualities>> {
  const { tenant } = terms;
  const lines = await readPassLines(terms, reads);
  const passLines = new Map([...lines].map(([name, { line }]) => [name, line]));
  const { agent, environment } = request;
  const base = { ...chooseAgents(agent), environment, tenant, source: 'live', passLines } as const;
  const range = alignScores(request);
  const { bucketMs, starts } = listBuckets(request);
  const buckets = { fromMs: starts[0] ?? 0, toMs: (starts.at(-1) ?? 0) + bucketMs };
  const beforeMs = range.fromMs - BEFORE_MS;
  const { now, before, points } = await reads.profile({
    ...base,
    fromMs: beforeMs,
    toMs: Math.max(range.toMs, buckets.toMs),
    by: ['agent', 'service'],
    range,
    buckets,
    bucketMs,
  });
  const isAsked = (row: SummaryRow) => agent === undefined || agent.includes(nameOf(row));
  const ofAgent = (rows: readonly SummaryRow[]) => Map.groupBy(rows.filter(isAsked), nameOf);
  const [nowOf, beforeOf, pointsOf] = [ofAgent(now), ofAgent(before), ofAgent(points)];
  return new Map(
    [...new Set([...nowOf.keys(), ...beforeOf.keys()])].map((name) => {
      const rows = {
        now: nowOf.get(name) ?? [],
        before: beforeOf.get(name) ?? [],
        points: pointsOf.get(name) ?? [],
      };
      const scorers = [...new Set([...rows.now, ...rows.before].map(({ scorer }) => scorer))].toSorted();
      const items = scorers.map((scorer) =>
        buildQuality(scorer, {
          now: rows.now.filter((row) => row.scorer === scorer),
          before: rows.before.filter((row) => row.scorer === scorer),
          points: rows.points.filter((row) => row.scorer === scorer),
          starts,
          isDeclared: lines.get(scorer)?.isDeclared ?? false,
        }),
      );
      const largest = rows.now.toSorted((a, b) => b.n - a.n)[0];
      return [name, { service: largest?.values[1] ?? '', items }];
    }),
  );
}

/** Chooses the scores of agents. Scores of agents without a name are read, too: such an agent goes by its service. */
function chooseAgents(agent: readonly string[] | undefined) {
  return agent === undefined ? {} : { agent: [...agent, ''] };
}

/** Returns the name of the agent of a group by agent and service. */
function nameOf({ values: [agent = '', service = ''] }: SummaryRow): string {
  return agent === '' ? service : agent;
}

/** Extends a range to whole hours, or to whole days when it is long. */
function alignScores({ fromMs, toMs }: AgentRequest) {
  const stepMs = toMs - fromMs > HOURLY_MS ? DAY_MS : HOUR_MS;
  return { fromMs: Math.floor(fromMs / stepMs) * stepMs, toMs: Math.ceil(toMs / stepMs) * stepMs };
}

/** Lists the buckets of the points: 24 hours for a range of a day or less, else the days of the range. */
function listBuckets({ fromMs, toMs }: AgentRequest) {
  const bucketMs = toMs - fromMs <= DAY_MS ? HOUR_MS : DAY_MS;
  const endMs = Math.ceil(toMs / bucketMs) * bucketMs;
  const count = bucketMs === HOUR_MS ? HOURS : endMs / DAY_MS - Math.floor(fromMs / DAY_MS);
  return {
    bucketMs,
    starts: Array.from({ length: count }, (_, index) => endMs - (count - index) * bucketMs),
  };
}

interface QualityRows {
  readonly now: readonly SummaryRow[];
  readonly before: readonly SummaryRow[];
  readonly points: readonly SummaryRow[];
  readonly starts: readonly number[];
  readonly isDeclared: boolean;
}

function buildQuality(scorer: string, { now, before, points, starts, isDeclared }: QualityRows) {
  const [pass, earlier] = [foldRate(now), foldRate(before)];
  return {
    scorer,
    isDeclared,
    pass,
    before: earlier,
    change: pass === null || earlier === null ? null : pass.value - earlier.value,
    significant: pass !== null && earlier !== null && isDifferent(pass, earlier),
    median: findMedian(now),
    medianBefore: findMedian(before),
    points: starts.map(
      (startMs) => foldRate(points.filter((row) => row.bucketMs === startMs))?.value ?? null,
    ),
  };
}

function findMedian(rows: readonly SummaryRow[]): number | null {
  return rows.toSorted((a, b) => b.n - a.n)[0]?.p50 ?? null;
}

/** Joins the pass rates of groups. Where a group has weighted scores, groups without any count not at all. */
function foldRate(rows: readonly SummaryRow[]): Rate | null {
  const lined = rows.filter(({ passRate, weight }) => passRate !== null && weight > 0);
  const weighted = lined.filter(({ n, unweighted }) => n > unweighted);
  const counted = weighted.length > 0 ? weighted : lined;
  const add = (read: (row: SummaryRow) => number) => counted.reduce((sum, row) => sum + read(row), 0);
  const weight = add((row) => row.weight);
  const squares = add((row) => row.weight ** 2 / row.effectiveN);
  return weight === 0
    ? null
    : buildRate({
        value: add((row) => (row.passRate ?? 0) * row.weight) / weight,
        n: add((row) => row.n),
        effectiveN: weight ** 2 / squares,
      });
}

async function readAgent(terms: ReadScope, name: string, request: Omit<AgentRequest, 'agent'>) {
  const { store, tenant } = terms;
  const { runSums } = store;
  const asked = { ...request, tenant, agent: [name] };
  const reads = await openCurrentReads(store, tenant);
  const passLines = await readDeclaredLines(terms, reads);
  const [[item], tools, models, users, versions] = await Promise.all([
    readAgents(terms, reads, asked),
    runSums.tools(asked),
    runSums.models(asked),
    runSums.users({ ...asked, passLines }),
    readVersionRates(terms, reads, asked),
  ]);
  if (item === undefined && (await runSums.versions(asked)).length === 0) {
    throw unknownAgent(name);
  }
  const view: AgentView =
    item ??
    buildAgent(name, {
      runs: NO_RUNS,
      versions: [],
      first: [],
      qualities: NO_QUALITIES,
      prices: terms.config.judges.prices,
    });
  return {
    ...view,
    versions: view.versions.map((each) => ({
      ...each,
      qualities: [...(versions.get(each.version) ?? [])].map(([scorer, pass]) => ({ scorer, pass })),
    })),
    tools,
    models,
    users,
  };
}

function unknownAgent(name: string): NotFoundError {
  return new NotFoundError(`there is no agent ${name}: no stored run has it; GET /agents lists the agents`);
}

async function readVersionRates(
  terms: ReadScope,
  reads: CurrentReads,
  { agent, environment, ...range }: AgentRequest & { readonly agent: readonly string[] },
): Promise<Map<string, Map<string, Rate | null>>> {
  const lines = await readPassLines(terms, reads);
  const rows = await reads.summarise({
    ...alignScores(range),
    ...chooseAgents(agent),
    environment,
    tenant: terms.tenant,
    source: 'live',
    passLines: new Map([...lines].map(([name, { line }]) => [name, line])),
    by: ['agent', 'service', 'agentVersion', 'serviceVersion'],
    quantiles: false,
  });
  const own = rows.filter((row) => agent.includes(nameOf(row)));
  const versions = Map.groupBy(own, ({ values: [, , ofAgent = '', ofService = ''] }) => ofAgent || ofService);
  return new Map(
    [...versions].map(([version, each]) => {
      const scorers = Map.groupBy(each, ({ scorer }) => scorer);
      return [version, new Map([...scorers].map(([scorer, group]) => [scorer, foldRate(group)]))];
    }),
  );
}

export interface VersionsRequest extends Omit<AgentRequest, 'agent'> {
  readonly left: string;
  readonly right: string;
}

/**
 * Compares two versions of an agent, each quality by the e-value of its pass rates. Among all qualities, those whose e-values are large
 * enough are called different; of them 5 % are wrong at most, on average (`leastDiscovery`).
 */
async function compareVersions(terms: ReadScope, name: string, { left, right, ...request }: VersionsRequest) {
  const { store, tenant } = terms;
  const asked = { ...request, tenant, agent: [name] };
  const reads = await openCurrentReads(store, tenant);
  const [sums, rates] = await Promise.all([
    store.runSums.agents({ ...asked, limit: MAX_ROWS }),
    readVersionRates(terms, reads, asked),
  ]);
  if (sums.length === 0 && rates.size === 0) {
    throw unknownAgent(name);
  }
  const sideOf = (version: string) => {
    const found = sums.find((row) => row.version === version);
    return { version, runs: found?.runs ?? 0, tokens: found?.tokens ?? null, p50Ms: found?.p50Ms ?? null };
  };
  const [leftRates, rightRates] = [left, right].map(
    (version) => rates.get(version) ?? new Map<string, Rate | null>(),
  ) as [Map<string, Rate | null>, Map<string, Rate | null>];
  const compared = [...new Set([...leftRates.keys(), ...rightRates.keys()])].toSorted().map((scorer) => {
    const sides = { left: leftRates.get(scorer) ?? null, right: rightRates.get(scorer) ?? null };
    const logE =
      sides.left === null || sides.right === null ? null : weighDifference(sides.left, sides.right);
    return { scorer, ...sides, logE };
  });
  const least = leastDiscovery(compared.flatMap(({ logE }) => logE ?? []).toSorted((a, b) => b - a));
  return {
    left: sideOf(left),
    right: sideOf(right),
    items: compared.map(({ logE, ...item }) => ({
      ...item,
      evidenceLog10: logE === null ? null : logE / Math.LN10,
      verdict: nameVerdict(item, logE !== null && logE >= least),
    })),
  };
}

function nameVerdict(
  { left, right }: { readonly left: Rate | null; readonly right: Rate | null },
  isShown: boolean,
): 'worse' | 'better' | 'not_shown' {
  if (!isShown || left === null || right === null || left.value === right.value) {
    return 'not_shown';
  }
  return right.value < left.value ? 'worse' : 'better';
}

export interface Cost {
  readonly key: string;
  readonly bucketMs: number;
  readonly agentUsd: number | null;
  readonly judgeUsd: number | null;
  readonly runs: number;
  readonly unpriced: number;
}

async function readCosts(
  { store, tenant }: ReadScope,
  request: Parameters<ReturnType<typeof createAgentReads>['costs']>[0],
) {
  const query = { ...request, tenant };
  const [ofAgents, ofJudges] = await Promise.all([
    store.runSums.agentCosts(query),
    store.runSums.judgeCosts(query),
  ]);
  const costs = new Map<string, Cost>();
  // A run belongs to the bucket of its start, a judge call to the bucket of its own time: so a run counts once.
  const isOfRuns = request.by === 'agent' || request.by === 'agentVersion';
  const add = (row: CostRow, part: 'agentUsd' | 'judgeUsd') => {
    const name = JSON.stringify([row.key, row.bucketMs]);
    const before = costs.get(name) ?? {
      key: row.key,
      bucketMs: row.bucketMs,
      agentUsd: null,
      judgeUsd: null,
      runs: 0,
      unpriced: 0,
    };
    costs.set(name, {
      ...before,
      [part]: row.usd,
      ...(isOfRuns && part === 'judgeUsd' ? {} : { runs: row.runs, unpriced: row.unpriced }),
    });
  };
  ofAgents.forEach((row) => add(row, 'agentUsd'));
  ofJudges.forEach((row) => add(row, 'judgeUsd'));
  return [...costs.values()].toSorted((a, b) => a.bucketMs - b.bucketMs || (a.key < b.key ? -1 : 1));
}
