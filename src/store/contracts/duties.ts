/** Membership of a process in a duty: work that one process at a time does. */
export interface DutyBeat {
  readonly duty: string;
  /** Name of the process among the members. A member that has left never comes back under the same name. */
  readonly member: string;
  /** Time of the first beat as the store stamped it, Unix milliseconds; undefined for the first beat. */
  readonly joinedAtMs: number | undefined;
  readonly isLeaving: boolean;
}

/** Member that has not left and whose last beat is young. Times are Unix milliseconds by the store's clock. */
export interface DutyMember {
  readonly duty: string;
  readonly member: string;
  readonly joinedAtMs: number;
  readonly beatAtMs: number;
  /** Time of the read. */
  readonly nowMs: number;
}

/** Store of the processes that share duties. */
export interface DutyStore {
  /** Returns a new name for a member of this process. */
  nameMember(): string;
  /** Stores beats, stamped by the store. */
  beat(beats: readonly DutyBeat[]): Promise<void>;
  /**
   * Reads the members of these duties whose last beat is at most `ttlMs` old, the earliest joined first. A beat with a stamp
   * in the store's future (after a step of its clock) does not count. Nor does a member whose process this machine knows to have ended.
   */
  readMembers(duties: readonly string[], ttlMs: number): Promise<DutyMember[]>;
  /**
   * Marks all members as gone, so that nobody waits for their beats to grow old. For a process that has started the engine of the store:
   * all members of before used an engine that has ended, and cannot reach this one.
   */
  dismissAll(): Promise<void>;
}
