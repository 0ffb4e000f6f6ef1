/** An own scorer as the configuration describes it. */
export interface GuestSpec {
  /** Name of the scorer in the configuration. */
  readonly name: string;
  /** Absolute path of the module. */
  readonly path: string;
  /** Judge of the scorer in the configuration. */
  readonly judge: string | undefined;
  /** `judges.default`. */
  readonly defaultJudge: string | undefined;
  /** The whole environment of its processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Longest time of one run, without its judge calls. */
  readonly timeoutMs: number;
  /** Longest time to load the module. */
  readonly loadWithinMs: number;
  readonly memoryBytes: number;
}

/** Writes the limits for errors: `30 s`, `256 MiB`. */
export function limitTexts(spec: Pick<GuestSpec, 'timeoutMs' | 'memoryBytes'>): {
  readonly timeout: string;
  readonly memory: string;
} {
  return {
    timeout: spec.timeoutMs % 1_000 === 0 ? `${spec.timeoutMs / 1_000} s` : `${spec.timeoutMs} ms`,
    memory: `${Math.round(spec.memoryBytes / 1024 / 1024)} MiB`,
  };
}
