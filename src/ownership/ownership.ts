import { computeShard, hashNumber, type Member, SHARDS, type TraceKey } from '../store/contracts/stores.ts';
import type { MemberStore } from '../store/tables/members.ts';
import { AppError } from '../domain/errors.ts';

/** Right of this process to work on one trace. It is taken before the trace's rows are read. */
export interface Claim {
  readonly key: TraceKey;
  /** Returns true when this process does this scorer of this rule on the trace. */
  owns(rule: string, scorer: string): boolean;
  /**
   * Called before judge calls and before writes. Throws an `AppError` with code `cancelled` when another process may have
   * worked on the trace since the claim was taken. Throws when the store does.
   */
  check(): Promise<void>;
}

/** Source of claims. */
export interface Claims {
  /** Returns null when the trace belongs to other processes. */
  claim(key: TraceKey): Claim | null;
}

/** Claims of a process that no other process disturbs: a command, a backfill. */
export const SOLE_CLAIMS = {
  claim: (key: TraceKey): Claim => ({ key, owns: () => true, check: async () => undefined }),
};

/** A member and its scorers. */
export interface Worker {
  readonly name: string;
  /** Pairs (`joinPair`) of the member; `ANY_PAIR` stands for all. */
  readonly pairs: readonly string[];
}

/** Pair of a member that can do all work. */
export const ANY_PAIR = '*';

/** Names the work of one scorer of one rule. */
export function joinPair(rule: string, scorer: string): string {
  return JSON.stringify([rule, scorer]);
}

/** Pairs with the same owners, and the shards (`computeShard`) of them that one member owns. */
export interface Share {
  readonly pairs: readonly string[];
  /** Null: all shards. */
  readonly shards: readonly number[] | null;
}

function canDo(worker: Worker, pair: string): boolean {
  return worker.pairs.includes(pair) || worker.pairs.includes(ANY_PAIR);
}

/**
 * Divides pairs among the workers that can do them by rendezvous hashing: when a worker comes or goes, only its share moves. A
 * worker that does not know a pair never owns it.
 */
export function divide(me: string, pairs: readonly string[], workers: readonly Worker[]) {
  const ownersByNames = new Map<string, readonly string[]>();
  const ownersByPair = new Map<string, readonly string[]>();
  for (const pair of pairs) {
    const able = workers.filter((worker) => canDo(worker, pair)).map(({ name }) => name);
    const names = JSON.stringify(able);
    const owners = ownersByNames.get(names) ?? assignOwners(able);
    ownersByNames.set(names, owners);
    ownersByPair.set(pair, owners);
  }
  return {
    /** Returns true when the member owns the pair in the shard. */
    owns: (shard: number, pair: string): boolean => ownersByPair.get(pair)?.[shard] === me,
    /** Returns the shares of the member. Pairs that it cannot do, or owns in no shard, are left out. */
    shares: (): readonly Share[] =>
      [...Map.groupBy(pairs, (pair) => ownersByPair.get(pair) ?? [])].flatMap(([owners, shared]): Share[] => {
        const shards = owners.flatMap((owner, shard) => (owner === me ? [shard] : []));
        return shards.length === 0
          ? []
          : [{ pairs: shared, shards: shards.length === SHARDS ? null : shards }];
      }),
  };
}

type Division = ReturnType<typeof divide>;

/** Division of a process that owns all work. */
function divideAlone(pairs: readonly string[]): Division {
  return {
    owns: () => true,
    shares: () => (pairs.length === 0 ? [] : [{ pairs, shards: null }]),
  };
}

/** Returns the rank of a worker in each shard: the worker with the highest rank owns the shard. */
function rankShards(name: string): readonly number[] {
  return Array.from({ length: SHARDS }, (_, shard) => hashNumber(`${shard} ${name}`));
}

/** Returns the owner of each shard: the worker with the highest rank. */
function assignOwners(names: readonly string[]): readonly string[] {
  if (names.length === 0) {
    return [];
  }
  const workers = names.map((name) => ({ name, ranks: rankShards(name) }));
  return Array.from({ length: SHARDS }, (_, shard) => {
    const rankOf = ({ ranks }: (typeof workers)[number]) => ranks[shard] ?? 0;
    return workers.reduce((best, each) => (rankOf(each) > rankOf(best) ? each : best)).name;
  });
}

/** Time after its last beat that a member counts as alive, milliseconds. */
export const MEMBER_TTL_MS = 15_000;

/** Interval of the beats of a member, milliseconds. */
export const BEAT_EVERY_MS = 3_000;

/** Time after a beat from which the next one may go along with others, milliseconds. */
const ALONG_AFTER_MS = 2_000;

/** Time within which work that began before a shard went to a new member may still end, milliseconds. */
const HANDOVER_MS = 20_000;

/** Time after a join within which the former owners learn of the new member, milliseconds. */
const NOTICE_MS = 2 * BEAT_EVERY_MS;

/** Time for which a new member leaves older traces to their former owners, milliseconds. */
const HOLD_MS = HANDOVER_MS + NOTICE_MS + 4_000;

/** Time for which work that only an ended member knows is kept for it: a supervisor may restart it, milliseconds. */
export const RETURN_MS = 60_000;

/** Division of the traces, and of the scorers on each trace, among the scorer processes of one store. */
export interface Ownership extends Claims {
  /** Records that this process is alive and reads the other members, when the last time is `BEAT_EVERY_MS` ago. Throws when the store does. */
  beat(): Promise<void>;
  /** Beats with another beat of this process, unless the last time is less than `ALONG_AFTER_MS` ago. A failure shows in the next `beat`. */
  beatAlong(): void;
  /** Number that grows with every change of the members or of their work. */
  generation(): number;
  /** Pairs of this process, and their shards. */
  shares(): readonly Share[];
  /** Shards in which this process has a pair; null: all, also for a process without a pair. */
  shards(): readonly number[] | null;
  /** Returns true when a member does this scorer of this rule, or did it a short time ago and may come back. */
  isKnown(rule: string, scorer: string): boolean;
  /**
   * Returns the time for which a trace is left to its former owner, who may work on it, milliseconds. More than 0 only after
   * this process joined members that live.
   * @param isNew true for a trace that became ready now: it is left only while the former owners do not know of the join
   */
  holdMs(isNew: boolean): number;
  /** Changes the scorers of this process. The others know of it with their next beat: until then, new scorers leave them their traces. */
  setPairs(pairs: readonly string[]): void;
  /** Gives the traces of this process to the other members at once. It beats no more. */
  leave(): Promise<void>;
}

/** Name of this process among the members, and the scorers of its rules (`joinPair`). */
interface OwnershipOptions {
  readonly member: string;
  readonly pairs: readonly string[];
  readonly monotonicMs: () => number;
}

/**
 * Creates an ownership. Without a store of members, this process owns everything. Two owners at the same time cost a judge call
 * and never a wrong row: the store keeps the first of two scores of the same evidence.
 */
export function createOwnership(members: MemberStore | undefined, options: OwnershipOptions): Ownership {
  return members === undefined ? ownAlone(options.pairs) : new SharedOwnership(members, options);
}

function ownAlone(given: readonly string[]): Ownership {
  let pairs = given;
  return {
    ...SOLE_CLAIMS,
    setPairs: (next) => {
      pairs = next;
    },
    beat: async () => undefined,
    beatAlong: () => undefined,
    generation: () => 0,
    shares: () => divideAlone(pairs).shares(),
    shards: () => null,
    isKnown: (rule, scorer) => pairs.includes(joinPair(rule, scorer)),
    holdMs: () => 0,
    leave: async () => undefined,
  };
}

/** Join of this process to members that were alive. */
interface Join {
  readonly atMs: number;
  /** Members that were alive at the join and still are. */
  others: readonly string[];
}

class SharedOwnership implements Ownership {
  readonly #store: MemberStore;
  readonly #options: OwnershipOptions;
  #pairs: readonly string[];
  #name: string;
  #renames = 0;
  #seen: readonly Member[] = [];
  #seenAtMs = 0;
  #division: Division;
  #cast: string;
  #generation = 0;
  /** Start of the last successful beat by the monotonic clock; null before the first. */
  #beatMs: number | null = null;
  /** Stamp of the last beat by the store's clock. */
  #stampMs = 0;
  #beating: Promise<void> | null = null;
  #hasLeft = false;
  #join: Join | null = null;
  /** One more with every loss of a shard, two more when others may have worked on it meanwhile. */
  readonly #epochs = new Uint32Array(SHARDS);
  readonly #lostAtMs = new Float64Array(SHARDS).fill(Number.NEGATIVE_INFINITY);

  constructor(store: MemberStore, options: OwnershipOptions) {
    this.#store = store;
    this.#options = options;
    this.#pairs = options.pairs;
    this.#name = options.member;
    this.#division = divideAlone(options.pairs);
    this.#cast = '';
  }

  async beat(): Promise<void> {
    await this.#beatAfter(BEAT_EVERY_MS);
  }

  beatAlong(): void {
    // The first beat is a join, which scoring waits for.
    if (this.#beatMs !== null) {
      this.#beatAfter(ALONG_AFTER_MS).catch(() => undefined);
    }
  }

  async #beatAfter(restMs: number): Promise<void> {
    const isDue = this.#beatMs === null || this.#options.monotonicMs() - this.#beatMs >= restMs;
    if (isDue && !this.#hasLeft) {
      await this.#refresh();
    }
  }

  /** Beats once for all callers at the same time. */
  #refresh(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    const startedMs = this.#options.monotonicMs();
    const pairs = this.#pairs;
    let seen = await this.#store.beat(this.#name, { pairs });
    let stampMs = readStamp(seen.members, this.#name);
    const isAhead = stampMs > seen.nowMs + MEMBER_TTL_MS;
    if (isAhead) {
      // The store's clock went back. The stored beat of this name hides every later one, so the process takes another name.
      this.#renames += 1;
      this.#name = `${this.#options.member}~${this.#renames}`;
      seen = await this.#store.beat(this.#name, { pairs });
      stampMs = readStamp(seen.members, this.#name);
    }
    const endedMs = this.#options.monotonicMs();
    const silentMs = this.#beatMs === null ? 0 : Math.max(endedMs - this.#beatMs, stampMs - this.#stampMs);
    const lapsed =
      isAhead || (silentMs > MEMBER_TTL_MS && hasOthersSince(seen.members, this.#stampMs, this.#name));
    const isJoin = this.#beatMs === null || lapsed;
    this.#seen = seen.members;
    this.#seenAtMs = seen.nowMs;
    // Pairs that changed meanwhile are told by a beat of their own.
    this.#beatMs = this.#pairs === pairs ? startedMs : startedMs - BEAT_EVERY_MS;
    this.#stampMs = stampMs;
    const alive = this.#listAlive();
    if (lapsed) {
      this.#epochs.forEach((epoch, shard) => (this.#epochs[shard] = epoch + 2));
      this.#generation += 1;
    }
    const others = alive.filter(({ name }) => name !== this.#name).map(({ name }) => name);
    if (isJoin) {
      this.#join = others.length === 0 ? null : { atMs: endedMs, others };
    } else if (this.#join !== null) {
      this.#join.others = this.#join.others.filter((name) => others.includes(name));
    }
    this.#divide(alive, endedMs);
  }

  #listAlive(): Member[] {
    const sinceMs = this.#seenAtMs - MEMBER_TTL_MS;
    const own = { name: this.#name, pairs: this.#pairs, beatAtMs: this.#seenAtMs, isLeaving: false };
    const others = this.#seen.filter(
      (member) =>
        member.name !== this.#name &&
        !member.isLeaving &&
        member.beatAtMs >= sinceMs &&
        !this.#isAhead(member),
    );
    return [...others, own].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns true for a member whose beat lies ahead of the store's clock: the clock went back after it. */
  #isAhead({ beatAtMs }: Member): boolean {
    return beatAtMs > this.#seenAtMs + MEMBER_TTL_MS;
  }

  #divide(alive: readonly Member[], nowMs: number): void {
    const cast = JSON.stringify(alive.map(({ name, pairs }) => [name, pairs]));
    if (cast === this.#cast) {
      return;
    }
    const before = this.#cast === '' ? null : this.#division;
    this.#cast = cast;
    this.#division = divide(this.#name, this.#pairs, alive);
    this.#generation += 1;
    if (before !== null) {
      this.#markMoves(before, nowMs);
    }
  }

  #markMoves(before: Division, nowMs: number): void {
    const pairs = this.#pairs;
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const moved = pairs.filter((pair) => before.owns(shard, pair) !== this.#division.owns(shard, pair));
      if (moved.some((pair) => before.owns(shard, pair))) {
        this.#epochs[shard] = (this.#epochs[shard] ?? 0) + 1;
        this.#lostAtMs[shard] = nowMs;
      }
      // Another member may have worked on a shard that this process owned once.
      if (moved.some((pair) => !before.owns(shard, pair)) && Number.isFinite(this.#lostAtMs[shard])) {
        this.#epochs[shard] = (this.#epochs[shard] ?? 0) + 2;
      }
    }
  }

  setPairs(pairs: readonly string[]): void {
    const isMore = pairs.some((pair) => !this.#pairs.includes(pair));
    this.#pairs = pairs;
    if (this.#beatMs === null) {
      return;
    }
    const alive = this.#listAlive();
    const nowMs = this.#options.monotonicMs();
    const others = alive.filter(({ name }) => name !== this.#name).map(({ name }) => name);
    if (isMore && others.length > 0) {
      this.#join = { atMs: nowMs, others };
    }
    this.#divide(alive, nowMs);
    // The next beat tells the others at once.
    this.#beatMs = Math.min(this.#beatMs, nowMs - BEAT_EVERY_MS);
  }

  generation(): number {
    return this.#generation;
  }

  shares(): readonly Share[] {
    return this.#division.shares();
  }

  shards(): readonly number[] | null {
    const shares = this.#division.shares();
    return this.#pairs.length === 0 || shares.some((share) => share.shards === null)
      ? null
      : [...new Set(shares.flatMap((share) => share.shards ?? []))];
  }

  isKnown(rule: string, scorer: string): boolean {
    const pair = joinPair(rule, scorer);
    const sinceMs = this.#seenAtMs - RETURN_MS;
    return (
      this.#pairs.includes(pair) ||
      this.#seen.some((member) => member.beatAtMs >= sinceMs && !this.#isAhead(member) && canDo(member, pair))
    );
  }

  holdMs(isNew: boolean): number {
    if (this.#join === null || this.#join.others.length === 0) {
      return 0;
    }
    const sinceJoinMs = this.#options.monotonicMs() - this.#join.atMs;
    return isNew && sinceJoinMs >= NOTICE_MS ? 0 : Math.max(0, HOLD_MS - sinceJoinMs);
  }

  claim(key: TraceKey): Claim | null {
    const shard = computeShard(key);
    const division = this.#division;
    if (!this.#pairs.some((pair) => division.owns(shard, pair))) {
      return null;
    }
    const epoch = this.#epochs[shard] ?? 0;
    return {
      key,
      owns: (rule, scorer) => division.owns(shard, joinPair(rule, scorer)),
      check: () => this.#check(key, shard, epoch),
    };
  }

  async #check(key: TraceKey, shard: number, epoch: number): Promise<void> {
    const silentMs = this.#options.monotonicMs() - (this.#beatMs ?? 0);
    if (silentMs > (MEMBER_TTL_MS * 2) / 3 && !this.#hasLeft) {
      await this.#refresh();
    }
    const current = this.#epochs[shard] ?? 0;
    const sinceLossMs = this.#options.monotonicMs() - (this.#lostAtMs[shard] ?? 0);
    const isOurs = epoch === current || (epoch === current - 1 && sinceLossMs < HANDOVER_MS);
    if (isOurs && !this.#hasLeft) {
      return;
    }
    throw new AppError('the trace belongs to another scorer process now', {
      code: 'cancelled',
      stage: 'judge',
      retryable: true,
      details: { traceId: key.traceId, silentMs },
    });
  }

  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#beating?.catch(() => undefined);
    await this.#store.beat(this.#name, { pairs: this.#pairs, leaving: true });
  }
}

function readStamp(members: readonly Member[], name: string): number {
  return members.find((member) => member.name === name)?.beatAtMs ?? 0;
}

/** Returns true when another member may have owned the traces of this process since its beat at `stampMs`. */
function hasOthersSince(members: readonly Member[], stampMs: number, name: string): boolean {
  return members.some((member) => member.name !== name && member.beatAtMs >= stampMs - MEMBER_TTL_MS);
}
