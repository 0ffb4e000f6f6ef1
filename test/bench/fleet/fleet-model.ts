import { assignOwners, rankShards } from '../../../src/ownership/division.ts';
import { poisson, seededRandom } from '../../support/builders/score-streams.ts';
import { createBacklog, type Backlog } from './backlog.ts';
import { computeSampleRate, computeTracesPerSecond, FITTED, type FleetSettings } from './fleet-settings.ts';
import { createJudgeTimes, type JudgeTimes } from './judge-times.ts';
import { createLags, type Lags } from './lags.ts';
import { computeJudgedPerSecond, computeScoreUsd, JUDGE_OVERHEAD_MS } from './needs.ts';

/** Counts of traces and money so far. */
export interface FleetTotals {
  readonly ready: number;
  /** Traces of the judged sample, and those that the draw left out. */
  readonly sampled: number;
  readonly leftOut: number;
  readonly decided: number;
  readonly scored: number;
  readonly codeWaiting: number;
  readonly judgedWaiting: number;
  /** Cost of the scores, and of calls that were made again after a kill. */
  readonly spentUsd: number;
  readonly repeatedCalls: number;
  /** Money that processes had leased when they were killed. */
  readonly strandedUsd: number;
  readonly kills: number;
  /** Scores that had a place, but no money: they wait. */
  readonly unpaid: number;
}

/** State of the fleet at the end of a second. */
export interface FleetMoment extends FleetTotals {
  readonly atS: number;
  readonly judgeMs: number;
  readonly alive: number;
}

export interface FleetResult {
  readonly sampleRate: number;
  readonly codeLags: Lags;
  readonly judgedLags: Lags;
  readonly moments: readonly FleetMoment[];
  readonly totals: FleetTotals;
}

/** Scorer process, or the killed one that the others still count as alive. */
interface Member {
  readonly name: string;
  /** Second from which it takes traces that become ready. */
  readonly takesFromS: number;
  diedAtS: number | null;
  /** Second in which the others count it as gone. */
  goneAtS: number;
  readonly code: Backlog;
  readonly judged: Backlog;
  /** Scores that its places allow, and that are not made yet. */
  credit: number;
  scoredLast: number;
  leasedUsd: number;
}

/** Traces of a process that is gone, until the sweep of the others finds them. */
interface Orphans extends Pick<Member, 'code' | 'judged'> {
  readonly foundAtS: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Fleet {
  readonly settings: FleetSettings;
  readonly random: () => number;
  readonly judges: JudgeTimes;
  readonly sampleRate: number;
  readonly scoreUsd: number;
  members: Member[];
  orphans: Orphans[];
  /** Share of the traces by owner; absent until it is computed for the present members. */
  shares: ReadonlyMap<string, number> | undefined;
  /** Ranks of the processes so far, which the division needs again and again. */
  readonly ranks: Map<string, readonly number[]>;
  /** Seconds in which killed processes come back. */
  restarts: number[];
  started: number;
  bookedUsd: number;
  readonly codeLags: Lags;
  readonly judgedLags: Lags;
  readonly counts: Mutable<Omit<FleetTotals, 'codeWaiting' | 'judgedWaiting' | 'decided' | 'scored'>>;
}

/** Simulates a fleet second by second. The same settings, with the same seed, give the same result. */
export function simulateFleet(settings: FleetSettings): FleetResult {
  const fleet = createFleet(settings);
  const moments: FleetMoment[] = [];
  for (let atS = 0; atS < settings.seconds; atS += 1) {
    const judgeMs = fleet.judges.at(atS);
    stepMembers(fleet, atS);
    takeArrivals(fleet, atS);
    runCode(fleet, atS);
    runJudges(fleet, atS, judgeMs);
    moments.push({ atS, judgeMs, alive: listAlive(fleet).length, ...countTotals(fleet) });
  }
  const { sampleRate, codeLags, judgedLags } = fleet;
  return { sampleRate, codeLags, judgedLags, moments, totals: countTotals(fleet) };
}

function createFleet(settings: FleetSettings): Fleet {
  const random = seededRandom(settings.seed);
  const fleet: Fleet = {
    settings,
    random,
    judges: createJudgeTimes(settings, random),
    sampleRate: computeSampleRate(settings),
    scoreUsd: computeScoreUsd(settings.price),
    members: [],
    orphans: [],
    shares: undefined,
    ranks: new Map(),
    restarts: [],
    started: 0,
    bookedUsd: 0,
    codeLags: createLags(),
    judgedLags: createLags(),
    counts: {
      ready: 0,
      sampled: 0,
      leftOut: 0,
      spentUsd: 0,
      repeatedCalls: 0,
      strandedUsd: 0,
      kills: 0,
      unpaid: 0,
    },
  };
  for (let index = 0; index < settings.scorers; index += 1) {
    addMember(fleet, 0);
  }
  return fleet;
}

function addMember(fleet: Fleet, takesFromS: number): void {
  fleet.started += 1;
  fleet.members.push({
    name: `scorer-${fleet.started}`,
    takesFromS,
    diedAtS: null,
    goneAtS: Number.POSITIVE_INFINITY,
    code: createBacklog(),
    judged: createBacklog(),
    credit: 0,
    scoredLast: 0,
    leasedUsd: 0,
  });
}

function listAlive({ members }: Fleet): Member[] {
  return members.filter(({ diedAtS }) => diedAtS === null);
}

/** Starts, kills and buries processes, and hands over the traces that a sweep finds. */
function stepMembers(fleet: Fleet, atS: number): void {
  const { settings, random } = fleet;
  const due = fleet.restarts.filter((restartS) => restartS === atS);
  due.forEach(() => addMember(fleet, atS + FITTED.joinS));
  if (settings.killEveryS > 0 && atS > 0 && atS % settings.killEveryS === 0) {
    const alive = listAlive(fleet);
    const victim = alive[Math.floor(random() * alive.length)];
    if (victim !== undefined) {
      kill(fleet, victim, atS);
    }
  }
  const takers = listAlive(fleet).filter(({ takesFromS }) => takesFromS <= atS);
  // The last process that takes traces is missed by nobody, until another one takes them.
  const gone = takers.length === 0 ? [] : fleet.members.filter(({ goneAtS }) => goneAtS <= atS);
  fleet.members = fleet.members.filter((member) => !gone.includes(member));
  fleet.orphans.push(...gone.map(({ code, judged }) => ({ code, judged, foundAtS: atS + FITTED.sweepS })));
  const found = takers.length === 0 ? [] : fleet.orphans.filter(({ foundAtS }) => foundAtS <= atS);
  fleet.orphans = fleet.orphans.filter((orphans) => !found.includes(orphans));
  found.forEach((orphans) => handOver(fleet, orphans, takers));
  if (gone.length > 0 || fleet.members.some(({ takesFromS }) => takesFromS === atS)) {
    fleet.shares = undefined;
  }
}

function kill(fleet: Fleet, victim: Member, atS: number): void {
  const { settings, random, counts } = fleet;
  victim.diedAtS = atS;
  // Its last beat is up to one interval old, and the others look once in an interval.
  const noticedS = FITTED.leaseS - random() * FITTED.beatS + random() * FITTED.beatS;
  victim.goneAtS = atS + Math.ceil(noticedS);
  fleet.restarts.push(atS + settings.restartS);
  const busyS = (settings.judgeMs + JUDGE_OVERHEAD_MS) / 1_000;
  const calls = Math.min(
    settings.places,
    Math.ceil(victim.scoredLast * busyS),
    Math.floor(victim.leasedUsd / fleet.scoreUsd),
  );
  counts.kills += 1;
  counts.repeatedCalls += calls;
  counts.spentUsd += calls * fleet.scoreUsd;
  // The calls under way were paid from the block that nobody gives back.
  counts.strandedUsd += victim.leasedUsd - calls * fleet.scoreUsd;
}

/** Divides the traces evenly among the processes that take traces. */
function handOver({ random }: Fleet, orphans: Orphans, takers: readonly Member[]): void {
  for (const queue of ['code', 'judged'] as const) {
    const backlog = orphans[queue];
    for (const { readyAtS, traces } of backlog.takeOldest(backlog.size())) {
      const first = Math.floor(random() * takers.length);
      takers.forEach((taker, index) => {
        const turn = (index + first) % takers.length;
        const part = Math.floor(traces / takers.length) + (turn < traces % takers.length ? 1 : 0);
        taker[queue].add({ readyAtS, traces: part });
      });
    }
  }
}

/** Returns the share of the traces of each process, by spanscore's own division. */
function readShares(fleet: Fleet, atS: number): ReadonlyMap<string, number> {
  if (fleet.shares === undefined) {
    const names = fleet.members.filter(({ takesFromS }) => takesFromS <= atS).map(({ name }) => name);
    const owners = assignOwners(names.toSorted(), (name) => readRanks(fleet, name));
    const shares = new Map<string, number>();
    owners.forEach((owner) => shares.set(owner, (shares.get(owner) ?? 0) + 1 / owners.length));
    fleet.shares = shares;
  }
  return fleet.shares;
}

function readRanks({ ranks }: Fleet, name: string): readonly number[] {
  const known = ranks.get(name) ?? rankShards(name);
  ranks.set(name, known);
  return known;
}

function takeArrivals(fleet: Fleet, atS: number): void {
  const { settings, random, sampleRate, counts } = fleet;
  const perSecond = computeTracesPerSecond(settings);
  const shares = readShares(fleet, atS);
  for (const member of fleet.members) {
    const mean = perSecond * (shares.get(member.name) ?? 0);
    // A random part of a Poisson stream is one, too.
    const sampled = poisson(mean * sampleRate, random);
    const leftOut = poisson(mean * (1 - sampleRate), random);
    counts.ready += sampled + leftOut;
    counts.sampled += sampled;
    counts.leftOut += leftOut;
    member.code.add({ readyAtS: atS, traces: sampled + leftOut });
    member.judged.add({ readyAtS: atS, traces: sampled });
  }
}

function runCode(fleet: Fleet, atS: number): void {
  for (const { code } of listAlive(fleet)) {
    fleet.codeLags.add(code.takeOldest(FITTED.codeTracesPerSecond), atS);
  }
}

function runJudges(fleet: Fleet, atS: number, judgeMs: number): void {
  const { settings, counts, scoreUsd } = fleet;
  const perSecond = computeJudgedPerSecond(settings.places, judgeMs);
  for (const member of listAlive(fleet)) {
    member.credit += perSecond;
    const wanted = Math.min(Math.floor(member.credit), member.judged.size());
    const paid = pay(fleet, member, wanted);
    const newest = member.judged.takeNewest(Math.round(paid * settings.newestShare));
    const oldest = member.judged.takeOldest(paid - Math.round(paid * settings.newestShare));
    fleet.judgedLags.add([...newest, ...oldest], atS);
    // A place that nobody waits for is not saved for later.
    member.credit = member.judged.size() === 0 ? 0 : member.credit - paid;
    member.scoredLast = paid;
    counts.unpaid += wanted - paid;
    counts.spentUsd += paid * scoreUsd;
  }
}

/** Pays scores from the block of a process, which leases further blocks. Returns the number of scores that could be paid. */
function pay(fleet: Fleet, member: Member, scores: number): number {
  const { settings, scoreUsd } = fleet;
  const restUsd = settings.budgetPerDayUsd - fleet.bookedUsd;
  const neededUsd = scores * scoreUsd - member.leasedUsd;
  if (neededUsd > 0) {
    const blockUsd = Math.min(settings.budgetPerDayUsd * FITTED.blockShare, restUsd * FITTED.restShare);
    const leasedUsd = Math.min(restUsd, Math.max(neededUsd, blockUsd));
    member.leasedUsd += leasedUsd;
    fleet.bookedUsd += leasedUsd;
  }
  const paid = Math.min(scores, Math.floor(member.leasedUsd / scoreUsd + 1e-9));
  member.leasedUsd -= paid * scoreUsd;
  return paid;
}

function countTotals({ members, orphans, counts, codeLags, judgedLags }: Fleet): FleetTotals {
  const waiting = (queue: 'code' | 'judged') =>
    [...members, ...orphans].reduce((sum, each) => sum + each[queue].size(), 0);
  return {
    ...counts,
    decided: codeLags.traces(),
    scored: judgedLags.traces(),
    codeWaiting: waiting('code'),
    judgedWaiting: waiting('judged'),
  };
}
