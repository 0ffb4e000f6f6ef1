import type { AlertEvent } from '../../monitors/alert-event.ts';
import type { createAgentReads } from './agents.ts';
import type { Deploy, DeployMarker } from '../../domain/deploy-marker.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { compareVersions, type VersionComparison } from '../../monitors/version-compare.ts';
import type { MarkerStore } from '../../store/monitors/deploy-markers.ts';
import { computeAgreement, countAnswers, computeSpearman } from '../../domain/agreement/agreement.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import type { AggregateFilter, ComparedScores, SummaryQuery } from '../../store/contracts/sums.ts';
import type { AggregateReads } from '../../store/sums/read-sums.ts';
import type { ReadScope } from './traces.ts';
import type { Store } from '../../store/store.ts';

type AgentReads = ReturnType<typeof createAgentReads>;

/** Deploy of one service, and its effect on each series of the service. */
export interface ComparedDeploy {
  readonly deploy: Deploy;
  readonly comparisons: readonly VersionComparison[];
}

const MAX_MARKERS = 1_000;

/**
 * Compares scores before and after a version, for each service or agent that has it. The deploy began when the version was
 * announced or first seen, whichever was earlier. Throws a `NotFoundError` for an unknown version (in this tenant).
 */
export async function compareDeploys(
  markers: MarkerStore,
  { version, tenant }: { readonly version: string; readonly tenant?: string | undefined },
): Promise<ComparedDeploy[]> {
  const { items: found } = await markers.list({ version, tenant }, { limit: MAX_MARKERS });
  if (found.length === 0) {
    throw new NotFoundError(`version ${version} is unknown: no score has it and no deploy was announced`);
  }
  const services = Map.groupBy(found, (marker) => JSON.stringify([marker.tenant, marker.service]));
  const compared: ComparedDeploy[] = [];
  for (const members of services.values()) {
    const deploy = buildDeploy(version, members);
    const comparisons = compareVersions(await markers.scoresAround(deploy));
    compared.push({ deploy, comparisons });
  }
  return compared;
}

/**
 * Builds the deploy of a version. The version of a service covers all its agents; the version of an agent covers that
 * agent.
 */
function buildDeploy(version: string, markers: readonly DeployMarker[]): Deploy {
  const earliest = markers.reduce((first, marker) => (marker.atMs < first.atMs ? marker : first));
  const ofAll = markers.some(({ agent, serviceVersion }) => agent === '' || serviceVersion === version);
  const agents = ofAll ? [] : [...new Set(markers.map(({ agent }) => agent))];
  return { tenant: earliest.tenant, service: earliest.service, version, agents, atMs: earliest.atMs };
}

/**
 * Compares the version in most of the scores of an incident with the version before it, from all runs of both. Null without two versions of
 * one agent, and once their runs have expired.
 */
export async function compareChanged(
  agents: Pick<AgentReads, 'compareVersions'>,
  { series, cause, agentVersion, serviceVersion }: AlertEvent,
  nowMs: number,
) {
  const asked = agentVersion === '' ? 'serviceVersion' : 'agentVersion';
  const right = agentVersion || serviceVersion;
  const versions = cause?.dimensions.find(({ dimension }) => dimension === asked)?.segments ?? [];
  const [earlier] = versions
    .filter(({ value, before }) => ![right, ''].includes(value) && before !== null)
    .toSorted((a, b) => (b.before?.n ?? 0) - (a.before?.n ?? 0));
  if (earlier === undefined || right === '' || series.agent === '') {
    return null;
  }
  const pair = { left: earlier.value, right, fromMs: 0, toMs: nowMs, environment: undefined };
  return agents.compareVersions(series.agent, pair).catch((error: unknown) => {
    if (error instanceof NotFoundError) {
      return null;
    }
    throw error;
  });
}

/** Most scores of a side that are compared: the newest ones. */
const MAX_COMPARED = 10_000;

/** Most traces of disagreements in a reply. */
const MAX_DISAGREEMENTS = 100;

/** Longest range that is searched hour by hour, milliseconds; longer ones day by day. */
const HOURLY_MS = 3 * DAY_MS;

/** Choice of scores of a request. Times are Unix milliseconds: [fromMs, toMs), whole hours. */
export type ScoresRequest = Omit<AggregateFilter, 'tenant' | 'scorers'>;

export interface ComparedSide {
  readonly scorer: string;
  /** Absent: the newest score of each target counts. */
  readonly fingerprint?: string;
  readonly isHuman: boolean;
}

type CompareRequest = Omit<ScoresRequest, 'source'> & {
  readonly tenant: string | undefined;
  readonly left: ComparedSide;
  readonly right: ComparedSide;
};

interface CompareStores extends Pick<Store, 'comparedScores'> {
  readonly reads: Pick<AggregateReads, 'sum'>;
  readonly findPass: ReadScope['findPass'];
}

/**
 * Compares the scores that two sides gave to the same targets: the newest ones, when there are many. The ids name traces, the
 * trace with the largest difference first.
 */
export async function compareScores(stores: CompareStores, { left, right, ...request }: CompareRequest) {
  const { reads, comparedScores } = stores;
  const sides = [left, right];
  // People's scores are few and limit what is read of the others.
  const limiting = sides.some(({ isHuman }) => isHuman) ? sides.filter(({ isHuman }) => isHuman) : sides;
  const starts = await Promise.all(limiting.map((side) => findStart(reads, request, side)));
  const fromMs = Math.max(request.fromMs, ...starts);
  const pairs = await comparedScores.pairs({
    ...request,
    fromMs,
    left: await addScale(stores, request, left),
    right: await addScale(stores, request, right),
    limit: MAX_COMPARED,
  });
  const confusion = countAnswers(pairs);
  return {
    fromMs,
    ...computeAgreement(confusion),
    confusion,
    spearman: computeSpearman(pairs.map((pair) => [pair.left, pair.right])),
    disagreements: pairs
      .filter((pair) => pair.leftPasses !== pair.rightPasses)
      .slice(0, MAX_DISAGREEMENTS)
      .map(({ traceId }) => traceId),
  };
}

/** Finds the time from which a side has no more scores than are compared, or has one bucket. */
async function findStart(
  reads: CompareStores['reads'],
  request: Omit<CompareRequest, 'left' | 'right'>,
  { scorer, fingerprint, isHuman }: ComparedSide,
): Promise<number> {
  const bucketMs = request.toMs - request.fromMs > HOURLY_MS ? DAY_MS : HOUR_MS;
  const query: SummaryQuery = {
    ...request,
    scorers: [scorer],
    ...(fingerprint === undefined ? {} : { fingerprint: [fingerprint] }),
    source: isHuman ? 'human' : 'live',
    by: [],
    bucketMs,
  };
  const buckets = await reads.sum(query);
  let scores = 0;
  for (const { bucketMs: startMs, n } of buckets.toReversed()) {
    scores += n;
    if (scores > MAX_COMPARED && scores > n) {
      return (startMs ?? 0) + bucketMs;
    }
  }
  return request.fromMs;
}

/** Adds the pass line, and the direction of scores that have none: people score on the scale of the scorer of that name. */
async function addScale(
  { reads, findPass }: CompareStores,
  { tenant, fromMs, toMs }: Omit<CompareRequest, 'left' | 'right'>,
  side: ComparedSide,
): Promise<ComparedScores> {
  const { line: passLine } = await findPass(side.scorer);
  if (!side.isHuman) {
    return { ...side, passLine, higherIsBetter: true };
  }
  const [scale] = await reads.sum({
    tenant,
    fromMs,
    toMs,
    scorers: [side.scorer],
    source: 'live',
    by: [],
  });
  return { ...side, passLine, higherIsBetter: scale?.higherIsBetter ?? true };
}
