import { readErrorMessage } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Log } from '../telemetry/log.ts';
import { redactText } from '../telemetry/redact-fields.ts';
import { Hono } from 'hono';
import type { Metrics } from '../telemetry/metrics.ts';
import { type ApiEnv, requireScope } from './router.ts';
import { HTTPException } from 'hono/http-exception';
import type { Caller } from './access/request-access.ts';

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
    running ??= runChecks(listChecks()).finally(() => (running = undefined));
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

async function runChecks(checks: readonly ReadinessCheck[]): Promise<ReadinessReport> {
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

export interface ProbeOptions {
  /** Current checks of the readiness. */
  readonly checks: () => readonly ReadinessCheck[];
  readonly metrics: Pick<Metrics, 'add' | 'text'>;
  readonly log: Log;
}

/**
 * Creates `/healthz`, `/readyz` and `/metrics`, which every process has from its start on. Metrics are totals over all tenants. So
 * with tokens, they need a token with the scope `read` and without a tenant.
 */
export function createProbes({ checks, metrics, log }: ProbeOptions): Hono<ApiEnv> {
  const readiness = createReadiness(checks, log);
  return new Hono<ApiEnv>()
    .get('/healthz', (c) => c.json({ status: 'ok' }, 200, NO_STORE))
    .get('/readyz', async (c) => {
      const report = await readiness();
      return c.json(report, report.status === 'ready' ? 200 : 503, NO_STORE);
    })
    .get('/metrics', requireScope('read'), async (c) => {
      refuseTenant(c.var.caller, 'metrics');
      return c.body(await metrics.text(), 200, {
        'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      });
    });
}

const NO_STORE = { 'cache-control': 'no-store' };

/** Throws a 403 for a token of one tenant that asks for totals over all tenants. */
function refuseTenant({ tenant = '' }: Caller, totals: string): void {
  if (tenant !== '') {
    const message = `${totals} are totals over all tenants, and this token belongs to tenant ${tenant}; use a token without a tenant`;
    throw new HTTPException(403, { message });
  }
}
