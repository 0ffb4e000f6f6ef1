import { AppError } from '../domain/errors.ts';
import type { MemberStore, TraceKey } from '../store/contracts/stores.ts';
import { hashNumber, computeShard, SHARDS } from '../store/contracts/trace-shards.ts';

/** Time after its last beat that a member counts as alive, milliseconds. */
export const MEMBER_TTL_MS = 15_000;

/** Interval of the beats of a member, milliseconds. */
export const BEAT_EVERY_MS = 3_000;

/** Division of the traces among the scorer processes of one store. */
export interface Ownership {
  /** Records that this process is alive and reads the other members. Returns true when the members changed. Throws when the store does. */
  beat(): Promise<boolean>;
  owns(key: TraceKey): boolean;
  /** Shards (`computeShard`) of this process; null: all. */
  shards(): readonly number[] | null;
  /**
   * Throws `cancelled` when the trace belongs to another process. Reads the members first when the last beat is old, for example
   * because a large trace kept this process busy. Throws when the store does.
   */
  check(key: TraceKey): Promise<void>;
  /** Gives the traces of this process to the other members at once. */
  leave(): Promise<void>;
}

export interface OwnershipDeps {
  /** Name of this process among the members. */
  readonly member: string;
  readonly monotonicMs: () => number;
}

/**
 * Creates an ownership that divides the traces by rendezvous hashing: when a member joins or leaves, only its share moves.
 * Ownership is a hint that saves judge calls: two owners at the same time cost a call, and never write a wrong row. Without a
 * store of members, this process owns all traces.
 */
export function createOwnership(members: MemberStore | undefined, deps: OwnershipDeps): Ownership {
  return members === undefined ? SOLE_OWNER : new SharedOwnership(members, deps);
}

const SOLE_OWNER: Ownership = {
  beat: async () => false,
  owns: () => true,
  shards: () => null,
  check: async () => undefined,
  leave: async () => undefined,
};

class SharedOwnership implements Ownership {
  readonly #members: MemberStore;
  readonly #deps: OwnershipDeps;
  #known: readonly string[];
  #owners: readonly string[];
  #lastBeatMs: number;
  #beating: Promise<void> | null = null;
  /** True when the members changed since the last `beat()`. */
  #changed = false;

  constructor(members: MemberStore, deps: OwnershipDeps) {
    this.#members = members;
    this.#deps = deps;
    this.#known = [deps.member];
    this.#owners = assignOwners(this.#known);
    this.#lastBeatMs = deps.monotonicMs();
  }

  async beat(): Promise<boolean> {
    await this.#refresh();
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /** Beats once for all callers at the same time. */
  #refresh(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    const { member, monotonicMs } = this.#deps;
    const startedMs = monotonicMs();
    const alive = await this.#members.beat(member, { ttlMs: MEMBER_TTL_MS });
    this.#lastBeatMs = startedMs;
    const next = [...new Set([...alive, member])].sort();
    if (next.join('\n') !== this.#known.join('\n')) {
      this.#known = next;
      this.#owners = assignOwners(next);
      this.#changed = true;
    }
  }

  owns(key: TraceKey): boolean {
    return this.#owners[computeShard(key)] === this.#deps.member;
  }

  shards(): readonly number[] | null {
    if (this.#known.length === 1) {
      return null;
    }
    return this.#owners.flatMap((owner, shard) => (owner === this.#deps.member ? [shard] : []));
  }

  async check(key: TraceKey): Promise<void> {
    const silentMs = this.#deps.monotonicMs() - this.#lastBeatMs;
    if (silentMs > (MEMBER_TTL_MS * 2) / 3) {
      await this.#refresh();
    }
    if (!this.owns(key)) {
      throw new AppError('the trace belongs to another scorer process now', {
        code: 'cancelled',
        stage: 'judge',
        retryable: true,
        details: { traceId: key.traceId, silentMs },
      });
    }
  }

  async leave(): Promise<void> {
    await this.#members.beat(this.#deps.member, { ttlMs: MEMBER_TTL_MS, leaving: true });
  }
}

function assignOwners(members: readonly string[]): readonly string[] {
  return Array.from({ length: SHARDS }, (_, shard) => {
    const ranked = members.map((member) => ({ member, rank: hashNumber(`${shard} ${member}`) }));
    return ranked.reduce((best, each) => (each.rank > best.rank ? each : best)).member;
  });
}
