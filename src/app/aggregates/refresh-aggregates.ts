import { DAY_MS } from '../../domain/durations.ts';
import { StoreRejectedError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { AggregateStore, TouchedHour } from '../../store/contracts/aggregates/aggregates.ts';

/**
 * Time that a pass reads again, milliseconds. It is longer than the longest insert (30 s): a row may become visible that long after its
 * stamp. So the last pass that computes a bucket begins after all of its rows are visible.
 */
const OVERLAP_MS = 45_000;

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
  const nowMs = await store.nowMs();
  const doneMs = await store.doneUntil();
  const hours =
    doneMs === null ? await store.allHours() : await store.touchedSince(Math.min(doneMs, nowMs) - OVERLAP_MS);
  await computeAll(store, hours, onRefused, signal);
  await store.markDone(nowMs);
  return hours.length;
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
  for (const part of splitHours(hours)) {
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
