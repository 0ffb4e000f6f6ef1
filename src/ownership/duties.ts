import type { DutyBeat, DutyMember } from '../store/contracts/stores.ts';
import type { DutyStore } from '../store/tables/members.ts';
import { BEAT_EVERY_MS, MEMBER_TTL_MS } from './ownership.ts';

/** Part of the store that members of duties use. */
export type DutyBeats = Pick<DutyStore, 'nameMember' | 'beat' | 'readMembers'>;

export interface DutyOptions {
  /** Age of a membership before it can have a duty, milliseconds: earlier members are visible by then. Default 3,000. */
  readonly settleMs?: number;
  /**
   * True: a duty is taken at once when the first look after the first join shows no other member. Only where all members join like this:
   * of several that join at the same moment, at most one sees no other. Default false.
   */
  readonly takesAlone?: boolean;
  /** Interval in which a waiting process looks whether a duty is free, milliseconds. Default 1,000. */
  readonly lookEveryMs?: number;
  /** Interval of beats, and the age from which a member counts as dead, milliseconds. Defaults 3,000 and 15,000. */
  readonly beatEveryMs?: number;
  readonly ttlMs?: number;
  /** Called with each beat, for other beats of this process: the store takes beats of one moment as one. Default: does nothing. */
  readonly onBeat?: () => void;
}

const DEFAULTS = {
  settleMs: BEAT_EVERY_MS,
  takesAlone: false,
  lookEveryMs: 1_000,
  beatEveryMs: BEAT_EVERY_MS,
  ttlMs: MEMBER_TTL_MS,
  onBeat: () => undefined,
} satisfies Required<DutyOptions>;

export type Duties = Pick<SharedDuties, keyof SharedDuties>;

/** Starts to beat for the duties that this process joins. One beat serves all of them. */
export function startDuties(store: DutyBeats, options: DutyOptions = {}): Duties {
  return new SharedDuties(store, { ...DEFAULTS, ...options });
}

/**
 * Duties of this process: named work that one process at a time does. The process that joined first has a duty until it leaves
 * or its beats are old. A process that joins later never takes a duty from a living one.
 */
class SharedDuties {
  readonly #store: DutyBeats;
  readonly #settings: Required<DutyOptions>;
  /** Ends with the first membership that this process gives up. */
  #takesAlone: boolean;
  readonly #names = new Set<string>();
  readonly #epochs = new Map<string, number>();
  #epochCount = 0;
  /** Name of this process among the members; another one after each silence. */
  #member: string;
  /** Own memberships as the store stamped them. */
  #own = new Map<string, DutyMember>();
  /** Last rows of former names: without them, the others would wait until the last beats are old. */
  #farewells: DutyBeat[] = [];
  #beatStartedMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(store: DutyBeats, settings: Required<DutyOptions>) {
    this.#store = store;
    this.#member = store.nameMember();
    this.#settings = settings;
    this.#takesAlone = settings.takesAlone;
    this.#timer = setInterval(() => this.#look(), settings.lookEveryMs).unref();
  }

  /** Joins the members of duties. */
  join(duties: readonly string[]): void {
    duties.forEach((duty) => this.#names.add(duty));
    this.#look();
  }

  /** A failure shows itself in `readEpoch`, which refreshes again when the last beat is old. */
  #look(): void {
    void this.#refresh().catch(() => undefined);
  }

  /** Ends the beats. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Returns the number of the epoch in which this process has the duty; undefined while it does not have it. Work of an earlier
   * epoch must not be continued: another process may have done it. Reads the members first when the last beat is old, for
   * example after a pause of this process. Throws when the store does.
   */
  async readEpoch(duty: string): Promise<number | undefined> {
    if (this.#silentMs() > (this.#settings.ttlMs * 2) / 3) {
      await this.#refresh();
    }
    return this.#epochs.get(duty);
  }

  /** Gives a duty up: the next member takes it at once. Throws when the store does. */
  async leave(duty: string): Promise<void> {
    this.#names.delete(duty);
    this.#epochs.delete(duty);
    await this.#refreshing?.catch(() => undefined);
    await this.#store.beat([
      { duty, member: this.#member, joinedAtMs: this.#own.get(duty)?.joinedAtMs, isLeaving: true },
    ]);
  }

  #silentMs(): number {
    return performance.now() - this.#beatStartedMs;
  }

  /** Refreshes once for all callers at the same time. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshOnce().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #refreshOnce(): Promise<void> {
    const names = [...this.#names];
    const silentMs = this.#silentMs();
    const isNew = names.some((duty) => !this.#own.has(duty));
    const isBeatDue = isNew || silentMs >= this.#settings.beatEveryMs;
    const hasAll = names.every((duty) => this.#epochs.has(duty));
    if (names.length === 0 || (!isBeatDue && hasAll)) {
      return;
    }
    const startedMs = performance.now();
    if (isBeatDue) {
      if (silentMs > this.#settings.ttlMs) {
        this.#joinAnew();
      }
      await this.#beat(names);
    }
    const members = await this.#store.readMembers(names, this.#settings.ttlMs);
    if (this.#isForgotten(names, members)) {
      this.#joinAnew();
      return;
    }
    if (isBeatDue) {
      this.#beatStartedMs = startedMs;
    }
    if (isNew && this.#takesAlone && members.some(({ member }) => member !== this.#member)) {
      // The other one may have the duty, although its stamp is younger: its row was stored first. The next look joins after it.
      this.#noteOwn(names, members);
      this.#joinAnew();
      await this.#beat([]);
      return;
    }
    this.#assign(names, members);
  }

  async #beat(names: readonly string[]): Promise<void> {
    this.#settings.onBeat();
    const beats = names.map((duty) => ({
      duty,
      member: this.#member,
      joinedAtMs: this.#own.get(duty)?.joinedAtMs,
      isLeaving: false,
    }));
    await this.#store.beat([...this.#farewells, ...beats]);
    this.#farewells = [];
  }

  /**
   * Returns true when the others have seen this process as dead: a beat is missing, or came late by the store's clock. That
   * clock also counts a time in which the whole machine slept.
   */
  #isForgotten(names: readonly string[], members: readonly DutyMember[]): boolean {
    return names.some((duty) => {
      const current = members.find((each) => each.duty === duty && each.member === this.#member);
      const before = this.#own.get(duty);
      return (
        current === undefined ||
        (before !== undefined && current.beatAtMs - before.beatAtMs > this.#settings.ttlMs)
      );
    });
  }

  /** Gives up all duties; the next beat joins under another name, after every living member. */
  #joinAnew(): void {
    for (const { duty, member, joinedAtMs } of this.#own.values()) {
      this.#farewells.push({ duty, member, joinedAtMs, isLeaving: true });
    }
    this.#takesAlone &&= this.#own.size === 0;
    this.#epochs.clear();
    this.#own.clear();
    this.#member = this.#store.nameMember();
    this.#beatStartedMs = Number.NEGATIVE_INFINITY;
  }

  /** Notes the own memberships as the store stamped them. */
  #noteOwn(names: readonly string[], members: readonly DutyMember[]): void {
    for (const own of members.filter(({ duty, member }) => member === this.#member && names.includes(duty))) {
      this.#own.set(own.duty, own);
    }
  }

  #assign(refreshed: readonly string[], members: readonly DutyMember[]): void {
    const names = refreshed.filter((name) => this.#names.has(name));
    this.#noteOwn(names, members);
    for (const duty of names) {
      const ofDuty = members.filter((each) => each.duty === duty);
      const own = this.#own.get(duty);
      if (own === undefined) {
        continue;
      }
      const isSettled = own.nowMs - own.joinedAtMs >= this.#settings.settleMs;
      const mayHave = isSettled || this.#takesAlone || this.#epochs.has(duty);
      if (ofDuty[0]?.member !== this.#member || !mayHave) {
        this.#epochs.delete(duty);
      } else if (!this.#epochs.has(duty)) {
        this.#epochCount += 1;
        this.#epochs.set(duty, this.#epochCount);
      }
    }
  }
}
