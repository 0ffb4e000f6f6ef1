/**
 * One condition that must hold before `serve` takes work. `check` resolves when it holds and rejects with the reason when not.
 */
export interface ReadinessCheck {
  /** `store`, `engine`, `receivers`, `kafka` … */
  readonly name: string;
  check(): Promise<void>;
}
