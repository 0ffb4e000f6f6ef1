import { AppError } from '../domain/errors.ts';
import type { MemberStore, TraceKey } from '../store/contracts/stores.ts';
import { hashNumber, computeShard, SHARDS } from '../store/contracts/trace-shards.ts';

/** Time that a silent member counts as alive, milliseconds. */
export const MEMBER_TTL_MS = 15_000;

/** Interval of a member's beats, milliseconds. */
export const BEAT_EVERY_MS = 3_000;

/** Ownership of traces among processes that share a store. */
export interface Ownership {
  /** Shows that we live and learns who else does. True when the members changed. Throws when the store does. */
  beat(): Promise<boolean>;
  owns(key: TraceKey): boolean;
  /** Whose traces are ours (`computeShard`); null: all. */
  shards(): readonly number[] | null;
  /**
   * Throws `cancelled` when a trace is not ours. When our last beat is too old to know (a large trace kept this process busy),
   * asks the members first. Throws when the store does.
   */
  check(key: TraceKey): Promise<void>;
  /** Hands everything to the others at once. */
  leave(): Promise<void>;
}

export interface OwnershipDeps {
  /** Our own name. */
  readonly member: string;
  readonly monotonicMs: () => number;
}

/**
 * Shares traces among the members by rendezvous hashing: when one comes or goes, only its own share moves. Ownership is a
 * hint that saves judge calls: two owners for a moment cost a call, never a wrong row. Without members, all is ours.
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
  /** The members changed and nobody was told yet. */
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

  /** Callers at the same time share one beat. */
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
