/** Shared by all copies of this module, so that one copy recognises the results of scorers built with another. */
const NOT_SCORABLE = Symbol.for('spanscore.not-scorable');

/** Result of a function step when the run cannot be scored: later steps are skipped and there is no score. */
export interface NotScorable {
  readonly [NOT_SCORABLE]: true;
  /** One sentence for people. */
  readonly reason?: string;
}

/** Marks a run as one that this scorer cannot score. It is neither an error nor a score of 0. */
export function notScorable(reason?: string): NotScorable {
  return reason === undefined ? { [NOT_SCORABLE]: true } : { [NOT_SCORABLE]: true, reason };
}

/** True for a result of `notScorable`. */
export function isNotScorable(value: unknown): value is NotScorable {
  return typeof value === 'object' && value !== null && NOT_SCORABLE in value;
}
