/** What we did with a recorded case and what the reference did, written down alike. */
export interface Comparison {
  readonly ours: unknown;
  readonly recorded: unknown;
}
