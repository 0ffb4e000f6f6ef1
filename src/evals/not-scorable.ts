/** Shared over copies of this module, so that a scorer built by one copy is understood by another. */
const NOT_SCORABLE = Symbol.for('spanscore.not-scorable');

/** Value that a function step returns when this run cannot be scored; later steps are skipped and there is no score. */
export interface NotScorable {
  readonly [NOT_SCORABLE]: true;
  /** One sentence for a person. */
  readonly reason?: string;
}

/** Marks a run as one that this scorer cannot score, which is neither an error nor a score of 0. */
export function notScorable(reason?: string): NotScorable {
  return reason === undefined ? { [NOT_SCORABLE]: true } : { [NOT_SCORABLE]: true, reason };
}

/** True for what `notScorable` returns. */
export function isNotScorable(value: unknown): value is NotScorable {
  return typeof value === 'object' && value !== null && NOT_SCORABLE in value;
}
