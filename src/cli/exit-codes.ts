import { AppError, RequestError, type ErrorCode } from '../domain/errors.ts';

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  someFailed: 3,
  notFound: 4,
  unavailable: 69,
  config: 78,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Text of `--help`. */
export const EXIT_CODES_HELP = `Exit codes:
  0 done · 1 failed · 2 wrong usage · 3 finished, some items failed · 4 not found
  69 a needed service is not reachable · 78 wrong configuration · 130 interrupted`;

const EXIT_OF_ERROR: Partial<Record<ErrorCode, ExitCode>> = {
  config_invalid: EXIT.config,
  not_found: EXIT.notFound,
  store_unavailable: EXIT.unavailable,
  store_missing: EXIT.unavailable,
  store_in_use: EXIT.failed,
  overloaded: EXIT.unavailable,
  judge_unavailable: EXIT.unavailable,
  judge_rate_limited: EXIT.unavailable,
  judge_unauthorised: EXIT.config,
  judge_misconfigured: EXIT.config,
  judge_window: EXIT.config,
  cancelled: EXIT.interrupted,
};

export function chooseExitCode(thrown: unknown): ExitCode {
  if (thrown instanceof RequestError) {
    return EXIT.usage;
  }
  return (thrown instanceof AppError ? EXIT_OF_ERROR[thrown.code] : undefined) ?? EXIT.failed;
}
