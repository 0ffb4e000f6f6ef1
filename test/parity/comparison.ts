/** Our result of a recorded case beside the reference's, in the same form. */
export interface Comparison {
  readonly ours: unknown;
  readonly recorded: unknown;
}
