import { z } from 'zod';
import { readStoreStatus, type ServeStatus } from '../../app/serve-status.ts';
import type { Config } from '../../app/config/index.ts';
import { readServeFile, type ServeFile } from '../../config/serve-file.ts';
import { readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showStatus, type StatusReport } from '../show/show-status.ts';

/** Time limit for the answer of a running serve, milliseconds. */
const ANSWER_LIMIT_MS = 10_000;

export const registerStatus: RegisterCommand = (program, bind) => {
  program
    .command('status')
    .description(
      'Print the running serve, progress of scoring, failing judges, open jobs, budgets and the size of the store.',
    )
    .addHelpText(
      'before',
      examples(
        ['the serve of this folder', 'spanscore status'],
        [
          'judges that fail, for a script',
          'spanscore status --json | jq \'.judges[] | select(.state == "failing")\'',
        ],
      ),
    )
    .action(bind(status));
};

async function status(context: CommandContext): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const serve = readServeFile(config.store.dataDir);
  if (serve === undefined && config.store.url === undefined) {
    throw new StoreUnavailableError(
      `no serve runs on ${config.store.dataDir}: start one with spanscore serve, or name the data directory of the running one with --data-dir`,
    );
  }
  const report = serve?.api ? await askServe(config, serve, serve.api) : await readStore(context, serve);
  await context.out.document(report, () => showStatus(report));
  return EXIT.done;
}

const readySchema = z.object({
  status: z.string(),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), error: z.string().optional() })),
});

async function askServe(config: Config, serve: ServeFile, api: string): Promise<StatusReport> {
  const { pid, otlpHttp, otlpGrpc } = serve;
  const token = config.auth.tokens.find(
    ({ tenant, scopes }) => tenant === '' && (scopes.includes('read') || scopes.includes('admin')),
  )?.token;
  const ask = async (path: string, accepted: readonly number[]): Promise<unknown> => {
    try {
      const answer = await fetch(`${api}${path}`, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      });
      const text = await answer.text();
      if (!accepted.includes(answer.status)) {
        throw new Error(`HTTP ${answer.status}: ${text.slice(0, 300)}`);
      }
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new StoreUnavailableError(
        `the serve with pid ${pid} does not answer at ${api}${path}: ${readErrorMessage(cause)}; read its log`,
        { cause },
      );
    }
  };
  const ready = readySchema.parse(await ask('/readyz', [200, 503]));
  const reply = (await ask('/api/v1/status', [200])) as ServeStatus;
  return {
    ...reply,
    serve: { pid, otlpHttp, otlpGrpc, api, ready: ready.status === 'ready' },
    notReady: Object.fromEntries(
      Object.entries(ready.checks).flatMap(([name, { ok, error }]) =>
        ok ? [] : [[name, error ?? 'not ready']],
      ),
    ),
  };
}

/** Reads the status from the store when no API is reachable. */
async function readStore(context: CommandContext, serve: ServeFile | undefined): Promise<StatusReport> {
  const app = await context.openApp();
  const kind = app.config.store.url === undefined ? 'embedded engine' : 'server';
  return {
    serve:
      serve === undefined
        ? null
        : { pid: serve.pid, otlpHttp: serve.otlpHttp, otlpGrpc: serve.otlpGrpc, api: null, ready: null },
    notReady: {},
    ...(await readStoreStatus(app.config, app.store, kind)),
  };
}
