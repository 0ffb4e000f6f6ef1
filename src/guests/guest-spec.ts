/** An own scorer as the configuration gives it. */
export interface GuestSpec {
  /** Its name in the configuration. */
  readonly name: string;
  /** Absolute path of the module. */
  readonly path: string;
  /** The entry's judge. */
  readonly judge: string | undefined;
  /** `judges.default`. */
  readonly defaultJudge: string | undefined;
  /** All that its processes find in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The longest that one run may take, without its time with judges. */
  readonly timeoutMs: number;
  /** The longest that the module may take to load. */
  readonly loadWithinMs: number;
  readonly memoryBytes: number;
}

/** The limits in words, for errors: `30 s`, `256 MiB`. */
export function limitTexts(spec: Pick<GuestSpec, 'timeoutMs' | 'memoryBytes'>): {
  readonly timeout: string;
  readonly memory: string;
} {
  return {
    timeout: spec.timeoutMs % 1_000 === 0 ? `${spec.timeoutMs / 1_000} s` : `${spec.timeoutMs} ms`,
    memory: `${Math.round(spec.memoryBytes / 1024 / 1024)} MiB`,
  };
}
