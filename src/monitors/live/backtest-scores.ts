import { HOUR_MS, startOfDay } from '../../domain/durations.ts';
import { seriesSplitBy, type SeriesFacets, type SplitFacet, splitTexts } from '../../domain/series-facets.ts';
import type { MonitorView } from '../../store/monitors/monitor-view.ts';
import { type BacktestResult, type BacktestSeries, createBacktest, type ScoreRecord } from '../backtest.ts';
import { SCORE_STEPS } from '../bucket.ts';
import type { MonitorGroup } from '../rule.ts';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DayMean {
  /** Start of the UTC day, Unix milliseconds. */
  readonly dayMs: number;
  readonly mean: number;
  readonly count: number;
}

export interface Backtest {
  readonly results: readonly BacktestResult[];
  /** Means per day, by name of the series. */
  readonly days: ReadonlyMap<string, readonly DayMean[]>;
}

/** One score of a backtest, with its series. */
export interface ScoreOfSeries {
  readonly series: BacktestSeries;
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score in thousandths. */
  readonly step: number;
}

/** Runs rules over scores, which may come in any order. The name identifies a series; without scores there are no results. */
export async function backtestScores(
  groups: readonly MonitorGroup[],
  scores: AsyncIterable<ScoreOfSeries>,
): Promise<Backtest> {
  const spool = createScoreSpool();
  try {
    const positions = new Map<string, number>();
    const all: { readonly series: BacktestSeries; readonly days: Map<number, DaySum> }[] = [];
    for await (const { series, atMs, step } of scores) {
      const position = positions.get(series.name) ?? all.push({ series, days: new Map() }) - 1;
      positions.set(series.name, position);
      all[position]?.days.set(...dayAfter(all[position].days, atMs, step));
      await spool.add({ series: position, atMs, step });
    }
    const backtest = createBacktest(
      groups,
      all.map(({ series, days }) => ({ ...series, busiestDayScores: findLargestCount(days) })),
    );
    for await (const record of spool.inOrder()) {
      backtest.add(record);
    }
    const days = new Map(all.map((each) => [each.series.name, listDays(each.days)]));
    return { results: backtest.finish(), days };
  } finally {
    await spool.dispose();
  }
}

/** Number of scores of a day, and their sum in thousandths. */
type DaySum = readonly [count: number, steps: number];

function dayAfter(days: ReadonlyMap<number, DaySum>, atMs: number, step: number): [number, DaySum] {
  const dayMs = startOfDay(atMs);
  const [count, steps] = days.get(dayMs) ?? [0, 0];
  return [dayMs, [count + 1, steps + step]];
}

function findLargestCount(days: ReadonlyMap<number, DaySum>): number {
  return [...days.values()].reduce((most, [count]) => Math.max(most, count), 0);
}

function listDays(days: ReadonlyMap<number, DaySum>): DayMean[] {
  return [...days]
    .sort(([a], [b]) => a - b)
    .map(([dayMs, [count, steps]]) => ({ dayMs, mean: steps / SCORE_STEPS / count, count }));
}

/** Number of fingerprint digits shown: enough to distinguish the judges of one scorer. */
const SHOWN_FINGERPRINT = 12;

/**
 * Reads the stored scores of runs that began since a time, with readable series names. A score appears once for each split
 * of series that a rule asks for.
 */
export async function* storedScores(
  view: MonitorView,
  range: { readonly fromMs: number; readonly toMs: number },
  splits: readonly (readonly SplitFacet[])[],
): AsyncGenerator<ScoreOfSeries> {
  for await (const batch of view.pastScores(range)) {
    for (const { series, atMs, step } of batch) {
      for (const by of splits) {
        const facets = seriesSplitBy(series, by);
        yield { series: { name: nameSeries(facets), facets }, atMs, step };
      }
    }
  }
}

/** Returns a name like `hallucination/weather-agent/production/model gpt-5#0a1b2c3d4e5f`; a tenant comes first. */
function nameSeries(series: SeriesFacets): string {
  const { tenant, scorer, fingerprint, agent, environment } = series;
  const parts = [tenant, scorer, agent, environment].filter((part) => part !== '');
  return `${[...parts, ...splitTexts(series)].join('/')}#${fingerprint.slice(0, SHOWN_FINGERPRINT)}`;
}

/** Bytes of a record: offset within the hour (4), series (4), score (2). */
const RECORD_BYTES = 10;
/** Bytes kept in memory; above this the scores go to disk. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const FIRST_BLOCK_RECORDS = 64;

/**
 * Sorts scores by time with little memory. It groups them by hour, writes the groups to temporary files when they are many,
 * and reads them back hour by hour. Reading keeps the scores of one hour in memory at most.
 */
export function createScoreSpool() {
  const held = new Map<number, { buffer: Buffer; bytes: number }>();
  const hours = new Set<number>();
  let heldBytes = 0;
  let folder: string | undefined;

  const hourFile = (hour: number): string => join(folder ?? '', String(hour));

  async function spill(): Promise<void> {
    folder ??= await mkdtemp(join(tmpdir(), 'spanscore-scores-'));
    for (const [hour, { buffer, bytes }] of held) {
      await appendFile(hourFile(hour), buffer.subarray(0, bytes), { mode: 0o600 });
    }
    held.clear();
    heldBytes = 0;
  }

  return {
    /** Adds a score. The caller must wait for the returned promise, if there is one. */
    add({ atMs, series, step }: ScoreRecord): Promise<void> | undefined {
      const hour = Math.floor(atMs / HOUR_MS);
      hours.add(hour);
      const block = held.get(hour) ?? { buffer: Buffer.alloc(FIRST_BLOCK_RECORDS * RECORD_BYTES), bytes: 0 };
      held.set(hour, block);
      if (block.bytes + RECORD_BYTES > block.buffer.length) {
        block.buffer = Buffer.concat([block.buffer, Buffer.alloc(block.buffer.length)]);
      }
      block.buffer.writeUInt32LE(Math.floor(atMs - hour * HOUR_MS), block.bytes);
      block.buffer.writeUInt32LE(series, block.bytes + 4);
      block.buffer.writeUInt16LE(step, block.bytes + 8);
      block.bytes += RECORD_BYTES;
      heldBytes += RECORD_BYTES;
      return heldBytes >= MAX_HELD_BYTES ? spill() : undefined;
    },

    /** Yields all scores in order of time. */
    async *inOrder(): AsyncGenerator<ScoreRecord> {
      if (folder !== undefined) {
        await spill();
      }
      for (const hour of [...hours].sort((a, b) => a - b)) {
        const block = held.get(hour);
        const bytes = block?.buffer.subarray(0, block.bytes) ?? (await readFile(hourFile(hour)));
        yield* hourInOrder(hour, bytes);
      }
    },

    async dispose(): Promise<void> {
      held.clear();
      if (folder !== undefined) {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

function* hourInOrder(hour: number, bytes: Buffer): Generator<ScoreRecord> {
  const count = bytes.length / RECORD_BYTES;
  // One number holds the offset and the position: sorting numbers is far faster than sorting with a function, and equal
  // times keep their order.
  const keys = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    keys[index] = bytes.readUInt32LE(index * RECORD_BYTES) * count + index;
  }
  keys.sort();
  for (const key of keys) {
    const at = (key % count) * RECORD_BYTES;
    yield {
      atMs: hour * HOUR_MS + bytes.readUInt32LE(at),
      series: bytes.readUInt32LE(at + 4),
      step: bytes.readUInt16LE(at + 8),
    };
  }
}
