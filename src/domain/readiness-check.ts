/** One thing that must hold before work is taken: resolves when it does, throws the reason when not. */
export interface ReadinessCheck {
  /** `store`, `engine`, `receivers`, `kafka` … */
  readonly name: string;
  check(): Promise<void>;
}
