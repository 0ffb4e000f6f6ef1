import { seededRandom } from '../../support/builders/score-streams.ts';

/** Kinds of changes. */
export const PLANTED = [
  'single',
  'pair',
  'new version',
  'unfinished deploy',
  'tool',
  'mix',
  'everywhere',
  'none',
] as const;
export type Planted = (typeof PLANTED)[number];

const DIMENSIONS = [
  'agentVersion',
  'serviceVersion',
  'model',
  'promptVersion',
  'environment',
  'tenant',
  'language',
  'length',
  'retriever',
  'issue',
] as const;

const TOOLS = ['search', 'book', 'pay', 'mail'];

/** First dimension that copies another one, most of the time. */
const FIRST_DECOY = 6;

/** Runs of each period. */
const RUNS = 1_500;

/** Parts of the runs that have the new version already before the change, and since. */
const DEPLOYED = { before: 0.03, after: 0.85 };

export interface IncidentRow {
  readonly score: number;
  readonly period: 'before' | 'after';
  readonly facets: Readonly<Record<string, string | readonly string[]>>;
  /** Whether the run has the planted segment. */
  readonly isHit: boolean;
}

/** Spread of a score around its level. */
export const NOISE = 0.175;

/** Random choices of one incident: sizes, levels and the cause. */
function planWorld(random: () => number) {
  const pick = (count: number) => Math.floor(random() * count);
  const dimensions = DIMENSIONS.map((name, index) => {
    const size = 2 + pick(5);
    const raw = Array.from({ length: size }, () => 0.2 + random());
    const sum = raw.reduce((total, each) => total + each, 0);
    return {
      name,
      size,
      levels: Array.from({ length: size }, () => (random() - 0.5) * 0.1),
      shares: raw.map((each) => each / sum),
      copies: index >= FIRST_DECOY ? pick(3) : null,
    };
  });
  // Some pairs of values have a level of their own, before the change and since.
  const odd = new Map(Array.from({ length: 12 }, () => [pick(36), (random() - 0.5) * 0.2]));
  const valueOf = (index: number) => pick(dimensions[index]?.size ?? 1);
  return {
    dimensions,
    odd,
    version: valueOf(0),
    model: valueOf(2),
    drop: 0.1 + random() * 0.15,
    tool: pick(4),
    grown: valueOf(1),
  };
}

/** Draws the scores of an incident, and the segment that was planted. */
export function drawIncident(
  planted: Planted,
  { seed, runs = RUNS }: { readonly seed: number; readonly runs?: number | undefined },
): {
  readonly rows: Iterable<IncidentRow>;
  readonly truth: Readonly<Record<string, string>> | null;
  /** Distance by which scores of the segment fall. */
  readonly fall: number;
} {
  const random = seededRandom(seed);
  const world = planWorld(random);
  const truths: Partial<Record<Planted, Readonly<Record<string, string>>>> = {
    single: { agentVersion: `v${world.version}` },
    pair: { agentVersion: `v${world.version}`, model: `v${world.model}` },
    'new version': { agentVersion: 'new' },
    'unfinished deploy': { agentVersion: 'new' },
    tool: { tool: TOOLS[world.tool] ?? '' },
  };
  return {
    rows: drawRows(planted, world, { random, runs }),
    truth: truths[planted] ?? null,
    fall: fallOf(planted, world),
  };
}

function fallOf(planted: Planted, { drop }: ReturnType<typeof planWorld>): number {
  return drop * (planted === 'pair' ? 1.5 : 1);
}

function* drawRows(
  planted: Planted,
  world: ReturnType<typeof planWorld>,
  { random, runs }: { readonly random: () => number; readonly runs: number },
): Generator<IncidentRow> {
  for (const period of ['before', 'after'] as const) {
    for (let run = 0; run < runs; run += 1) {
      yield drawRow(planted, world, { random, period });
    }
  }
}

/** Draws the values of a run, by dimension. */
function drawCodes(
  { dimensions, grown }: ReturnType<typeof planWorld>,
  { random, isMoved, isMix }: { readonly random: () => number; isMoved: boolean; isMix: boolean },
): number[] {
  const codes: number[] = [];
  for (const { shares, size, copies } of dimensions) {
    const isCopy = copies !== null && random() < 0.7;
    codes.push(isCopy ? (codes[copies] ?? 0) % size : drawFrom(shares, random));
  }
  if (isMoved && random() < 0.2) {
    codes[4] = 0;
  }
  if (isMix && random() < 0.35) {
    codes[1] = grown;
  }
  return codes;
}

function drawRow(
  planted: Planted,
  world: ReturnType<typeof planWorld>,
  { random, period }: { readonly random: () => number; readonly period: IncidentRow['period'] },
): IncidentRow {
  const { dimensions, odd, version, grown } = world;
  const isAfter = period === 'after';
  const codes = drawCodes(world, { random, isMoved: isAfter, isMix: isAfter && planted === 'mix' });
  const values = codes.map((code) => `v${code}`);
  const isNew =
    codes[0] === version &&
    ((planted === 'new version' && isAfter) ||
      (planted === 'unfinished deploy' && random() < DEPLOYED[period]));
  const tools = TOOLS.filter((_, index) => random() < (codes[0] === index ? 0.7 : 0.3));
  const level = dimensions.reduce((sum, { levels }, index) => sum + (levels[codes[index] ?? 0] ?? 0), 0);
  const own = odd.get((codes[0] ?? 0) * 6 + (codes[2] ?? 0)) ?? 0;
  const isHit = isCaught(planted, { world, codes, tools, isNew });
  const fall = (isAfter || isNew) && isHit ? fallOf(planted, world) : 0;
  const low = planted === 'mix' && codes[1] === grown ? 0.25 : 0;
  const noise = (random() + random() + random() - 1.5) * 2 * NOISE;
  const named = Object.fromEntries(dimensions.map(({ name }, index) => [name, values[index] ?? '']));
  return {
    score: Math.min(1, Math.max(0, 0.75 + level + own - fall - low + noise)),
    period,
    isHit,
    facets: { ...named, ...(isNew ? { agentVersion: 'new' } : {}), tool: tools },
  };
}

/** True for a run that the planted cause makes worse. */
function isCaught(
  planted: Planted,
  {
    world: { version, model, tool },
    codes,
    tools,
    isNew,
  }: {
    readonly world: ReturnType<typeof planWorld>;
    readonly codes: readonly number[];
    readonly tools: readonly string[];
    readonly isNew: boolean;
  },
): boolean {
  return {
    single: codes[0] === version,
    pair: codes[0] === version && codes[2] === model,
    'new version': isNew,
    'unfinished deploy': isNew,
    tool: tools.includes(TOOLS[tool] ?? ''),
    mix: false,
    everywhere: true,
    none: false,
  }[planted];
}

function drawFrom(shares: readonly number[], random: () => number): number {
  let left = random();
  for (const [index, share] of shares.entries()) {
    left -= share;
    if (left < 0) {
      return index;
    }
  }
  return shares.length - 1;
}
