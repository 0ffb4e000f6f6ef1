import { DAY_MS, HOUR_MS } from '../domain/durations.ts';
import { StoreRejectedError } from '../domain/errors.ts';
import { MEMBER_TTL_MS } from '../ownership/ownership.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../process/parts.ts';
import type { AggregateFilter, AggregateStore, TouchedHour } from '../store/contracts/sums.ts';
import type { AggregateReads } from '../store/sums/read-sums.ts';
import type { DutyStore } from '../store/tables/members.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { createDecisionAggregates } from './count-coverage.ts';

/**
 * Time that a pass reads again, milliseconds. It is longer than the longest insert (30 s): a row may become visible that long after its
 * stamp. So the last pass that computes a bucket begins after all of its rows are visible.
 */
const OVERLAP_MS = 45_000;

/** Time between two marks of passes that find nothing, milliseconds: a mark is an insert. */
const MARK_EVERY_MS = 60_000;

/** Most score rows, hours and days of time of one computation. */
const MAX_ROWS = 500_000;
const MAX_HOURS = 2_000;
const MAX_SPAN_MS = 7 * DAY_MS;

/** Takes note of an hour that the store refused to compute. The other hours of the pass are computed. */
type OnRefusedHour = (hour: TouchedHour, error: StoreRejectedError) => void;

const throwRefusal: OnRefusedHour = (_hour, error) => {
  throw error;
};

/** Logs the hours that the store refused to compute. */
export function logRefusals(log: Log): OnRefusedHour {
  return ({ tenant, hourMs }, error) =>
    log.error('an hour could not be summed: the pages show its earlier numbers', {
      tenant,
      hour: new Date(hourMs).toISOString(),
      error: error.message,
    });
}

/**
 * Computes the hours whose scores were written, moved or deleted since the last pass. A pass that is interrupted is repeated by the next
 * one. Two processes may do this at once. Returns the number of touched hours.
 */
export async function refreshAggregates(
  store: AggregateStore,
  signal?: AbortSignal,
  onRefused = throwRefusal,
): Promise<number> {
  const progress = await readProgress(store);
  const hours = await listPending(store, progress);
  await computeAll(store, hours, onRefused, signal);
  const { nowMs, doneMs } = progress;
  if (hours.length > 0 || doneMs === null || Math.abs(nowMs - doneMs) >= MARK_EVERY_MS) {
    await store.markDone(nowMs);
  }
  return hours.length;
}

/** Reads how far the passes have come, and since when the next one lists written scores. Times are Unix milliseconds. */
async function readProgress(store: AggregateStore) {
  const [nowMs, doneMs] = await Promise.all([store.nowMs(), store.doneUntil()]);
  return { nowMs, doneMs, sinceMs: doneMs === null ? 0 : Math.min(doneMs, nowMs) - OVERLAP_MS };
}

/** Lists the hours that the next pass computes. */
function listPending(
  store: AggregateStore,
  { doneMs, sinceMs }: Awaited<ReturnType<typeof readProgress>>,
): Promise<TouchedHour[]> {
  return doneMs === null ? store.allHours() : store.touchedSince(sinceMs);
}

/** Reads of the aggregates with all stored scores. */
export interface CurrentReads extends Pick<
  AggregateReads,
  'sum' | 'summarise' | 'profile' | 'topGroups' | 'histogram'
> {
  /** Age of the oldest score that the aggregates lack, seconds. */
  readonly behindSeconds: number;
  /** Names of the scorers with scores. */
  readonly scorerNames: readonly string[];
}

/**
 * Opens the reads of the aggregates of a tenant, or of all. What the next pass computes is read from the scores: that pass may be under
 * way, stopped in the middle, or begin late. The newest hours of the range of a read are read so, as far as one computation goes.
 */
export async function openCurrentReads(
  { aggregates, aggregateReads }: Pick<Store, 'aggregates' | 'aggregateReads'>,
  tenant: string | undefined,
): Promise<CurrentReads> {
  const progress = await readProgress(aggregates);
  const { nowMs, doneMs, sinceMs } = progress;
  const [hours, firstMs, rowsOfDays, scorerNames] = await Promise.all([
    listPending(aggregates, progress),
    aggregateReads.firstWrittenSince(doneMs ?? 0),
    aggregateReads.rowsByDay(tenant),
    aggregateReads.scorerNames(tenant, sinceMs),
  ]);
  const pending = hours.filter((hour) => tenant === undefined || hour.tenant === tenant);
  const complete = <Filter extends AggregateFilter>(filter: Filter): Filter => {
    const inRange = pending.filter(({ hourMs }) => hourMs >= filter.fromMs && hourMs < filter.toMs);
    return { ...filter, lacking: takeNewest(inRange, rowsOfDays, nowMs) };
  };
  return {
    behindSeconds:
      firstMs === null || pending.length === 0 ? 0 : Math.max(0, Math.ceil((nowMs - firstMs) / 1_000)),
    scorerNames,
    sum: (query) => aggregateReads.sum(complete(query)),
    summarise: (query) => aggregateReads.summarise(complete(query)),
    profile: (query) => aggregateReads.profile(complete(query)),
    topGroups: (query, limit) => aggregateReads.topGroups(complete(query), limit),
    histogram: (filter) => aggregateReads.histogram(complete(filter)),
  };
}

/**
 * Takes the newest hours, as long as the scores of the days that a read of them opens are few. A score is of the day of its run, of the next
 * one by clocks that differ, or of the present day when its run came late.
 */
function takeNewest(
  hours: readonly TouchedHour[],
  rowsOfDays: ReadonlyMap<number, number>,
  nowMs: number,
): TouchedHour[] {
  const days = new Set<number>();
  let rows = 0;
  const open = (dayMs: number) => {
    rows += days.has(dayMs) ? 0 : (rowsOfDays.get(dayMs) ?? 0);
    days.add(dayMs);
  };
  open(startOfDay(nowMs));
  const newest = hours.toSorted((a, b) => b.hourMs - a.hourMs).slice(0, MAX_HOURS);
  const end = newest.findIndex(({ hourMs }) => {
    open(startOfDay(hourMs));
    open(startOfDay(hourMs) + DAY_MS);
    return rows > MAX_ROWS;
  });
  return end === -1 ? newest : newest.slice(0, end);
}

function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

/** Computes all aggregates anew. Returns the number of hours. */
export async function rebuildAggregates(
  store: AggregateStore,
  signal?: AbortSignal,
  onRefused = throwRefusal,
): Promise<number> {
  const nowMs = await store.nowMs();
  const hours = await store.allHours();
  await computeAll(store, hours, onRefused, signal);
  await store.markDone(nowMs);
  return hours.length;
}

async function computeAll(
  store: AggregateStore,
  hours: readonly TouchedHour[],
  onRefused: OnRefusedHour,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The newest hours are what people look at.
  for (const part of [...splitHours(hours)].toReversed()) {
    signal?.throwIfAborted();
    await computePart(store, part, onRefused);
  }
}

/** Computes hours in one statement; of a statement that the store refuses, each hour alone. */
async function computePart(
  store: AggregateStore,
  part: readonly TouchedHour[],
  onRefused: OnRefusedHour,
): Promise<void> {
  const [first] = part;
  try {
    await store.compute(part);
  } catch (error) {
    if (!(error instanceof StoreRejectedError) || first === undefined) {
      throw error;
    }
    if (part.length === 1) {
      onRefused(first, error);
      return;
    }
    for (const hour of part) {
      await computePart(store, [hour], onRefused);
    }
  }
}

/** Splits hours, in the order of time, into parts of one computation each. */
export function* splitHours(hours: readonly TouchedHour[]): Generator<TouchedHour[]> {
  let part: TouchedHour[] = [];
  let rows = 0;
  for (const hour of hours) {
    const firstMs = part[0]?.hourMs ?? hour.hourMs;
    const isFull =
      rows + hour.rows > MAX_ROWS || part.length === MAX_HOURS || hour.hourMs - firstMs >= MAX_SPAN_MS;
    if (isFull && part.length > 0) {
      yield part;
      part = [];
      rows = 0;
    }
    part.push(hour);
    rows += hour.rows;
  }
  if (part.length > 0) {
    yield part;
  }
}

/** Duty of the process that computes the aggregates. */
export const AGGREGATE_DUTY = 'aggregates';

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 10_000;

/** Time between two passes over the decisions and runs, milliseconds: only hours that have ended are summed. */
const DECISIONS_EVERY_MS = 60_000;

/**
 * Least time between two passes, as a multiple of the time of the last one. A pass computes the whole current hour, so its time grows
 * with the traffic of the hour: passes take at most 2.5 % of the time.
 */
const REST_FACTOR = 40;

/** Time between two merges of the tables of sums, milliseconds. */
const MERGE_EVERY_MS = HOUR_MS;

/** Starts to keep the aggregates of scores and decisions up to date, in one of the scorer processes at a time. */
export function startAggregates(store: Store, deps: DutyDeps): StartedPart {
  const decisionHours = createDecisionAggregates(store);
  let restUntilMs = 0;
  let decisionsDueMs = 0;
  let mergesDueMs = performance.now() + MERGE_EVERY_MS;
  const onRefused = logRefusals(deps.log);
  const work = async (signal: AbortSignal) => {
    if (performance.now() < restUntilMs) {
      return;
    }
    const startedMs = performance.now();
    await refreshAggregates(store.aggregates, signal, onRefused);
    if (startedMs >= decisionsDueMs) {
      await refreshAggregates(decisionHours, signal, onRefused);
      await refreshAggregates(store.runHours, signal, onRefused);
      decisionsDueMs = startedMs + DECISIONS_EVERY_MS;
    }
    const endedMs = performance.now();
    restUntilMs = endedMs + REST_FACTOR * (endedMs - startedMs);
    if (endedMs >= mergesDueMs) {
      mergesDueMs = endedMs + MERGE_EVERY_MS;
      await store.mergeSums();
    }
  };
  const failing = 'aggregates wait: the pages show earlier numbers';
  return startRepeatedDuty({ duty: AGGREGATE_DUTY, everyMs: LOOK_EVERY_MS, failing, work }, deps);
}

/** Returns true when a process with the role `scorer` runs on the store. */
export async function hasLiveScorer(duties: Pick<DutyStore, 'readMembers'>): Promise<boolean> {
  return (await countLiveScorers(duties)) > 0;
}

/** Counts the processes with the role `scorer` on the store: each of them is a candidate for the aggregates. */
export async function countLiveScorers(duties: Pick<DutyStore, 'readMembers'>): Promise<number> {
  return (await duties.readMembers([AGGREGATE_DUTY], MEMBER_TTL_MS)).length;
}
