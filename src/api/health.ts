import { readErrorMessage } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Log } from '../telemetry/log.ts';
import { redactText } from '../telemetry/redact-fields.ts';

export interface ReadinessReport {
  readonly status: 'ready' | 'not_ready';
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly error?: string }>>;
}

const CHECK_LIMIT_MS = 2000;

/**
 * Runs all checks at once, each within two seconds. Callers at the same time share one run, so that probes cannot overload
 * the checked parts. Logs each change once.
 */
export function createReadiness(
  listChecks: () => readonly ReadinessCheck[],
  log: Log,
): () => Promise<ReadinessReport> {
  let running: Promise<ReadinessReport> | undefined;
  let last: ReadinessReport['status'] | undefined;
  return async () => {
    running ??= report(listChecks()).finally(() => (running = undefined));
    const result = await running;
    if (result.status !== last) {
      last = result.status;
      // A process that starts is not ready yet, and nothing has failed.
      const waiting = Object.entries(result.checks).flatMap(([name, { error }]) =>
        error === undefined ? [] : [`${name}: ${error}`],
      );
      const waitsFor = waiting.length === 0 ? {} : { waitsFor: waiting.join('; ') };
      log.info('readiness changed', { status: result.status, ...waitsFor });
    }
    return result;
  };
}

async function report(checks: readonly ReadinessCheck[]): Promise<ReadinessReport> {
  const outcomes = await Promise.all(
    checks.map(async (entry) => {
      try {
        await withinLimit(entry);
        return [entry.name, { ok: true }] as const;
      } catch (error) {
        return [entry.name, { ok: false, error: redactText(readErrorMessage(error)) }] as const;
      }
    }),
  );
  const ready = outcomes.every(([, outcome]) => outcome.ok);
  return { status: ready ? 'ready' : 'not_ready', checks: Object.fromEntries(outcomes) };
}

async function withinLimit(entry: ReadinessCheck): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`no answer within ${CHECK_LIMIT_MS} ms`)),
    CHECK_LIMIT_MS,
  );
  try {
    await Promise.race([entry.check(), limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
