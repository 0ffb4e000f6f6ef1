import { findReader } from '../../config/access.ts';
import { z } from 'zod';
import { readStoreStatus, type ServeStatus, type StoreStatus } from '../../api/serve-status.ts';
import type { Config } from '../../configuration.ts';
import { readServeFile, type ServeFile } from '../../config/serve-file.ts';
import { readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showStatus, type StatusReport } from '../show/show-status.ts';

/** Time limit for the answer of a running serve, milliseconds. */
const ANSWER_LIMIT_MS = 10_000;

/** Answers of an API that wants another token. */
const REFUSALS = [401, 403];

export const registerStatus: RegisterCommand = (program, bind) => {
  withExamples(program.command('status'), [
    ['the serve of this folder', 'spanscore status'],
    [
      'judges that fail, for a script',
      'spanscore status --json | jq \'.judges[] | select(.state == "failing")\'',
    ],
  ]).action(bind(status));
};

async function status(context: CommandContext): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const serve = readServeFile(config.store.dataDir);
  if (serve === undefined && config.store.url === undefined) {
    throw new StoreUnavailableError(
      `no serve runs on ${config.store.dataDir}: start one with spanscore serve, or name the data directory of the running one with --data-dir`,
    );
  }
  const report = serve?.api
    ? await readServe(context, config, { ...serve, api: serve.api })
    : { serve: serve === undefined ? null : serveJson(serve), notReady: {}, ...(await readStore(context)) };
  await context.out.document(report, () => showStatus(report));
  return EXIT.done;
}

type ServeWithApi = ServeFile & { readonly api: string };

const readySchema = z.object({
  status: z.string(),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), error: z.string().optional() })),
});

/** Reads the status from the API. Where the API refuses, reads the store as for a serve without an API. */
async function readServe(
  context: CommandContext,
  { auth }: Config,
  serve: ServeWithApi,
): Promise<StatusReport> {
  const ready = readySchema.parse((await ask(serve, '/readyz', [200, 503])).body);
  const token = findReader(auth.tokens);
  const reply = await ask(serve, '/api/v1/status', [200, ...REFUSALS], token?.token);
  const known = {
    serve: serveJson(serve, ready.status === 'ready'),
    notReady: Object.fromEntries(
      Object.entries(ready.checks).flatMap(([name, { ok, error }]) =>
        ok ? [] : [[name, error ?? 'not ready']],
      ),
    ),
  };
  if (reply.status === 200) {
    return { ...(reply.body as ServeStatus), ...known };
  }
  const why = token === undefined ? 'auth.tokens has none' : `it refuses ${token.name} of auth.tokens`;
  context.out.talk(
    `the serve shows scoring and judges only for a token of all tenants with the scope read or admin: ${why} (HTTP ${reply.status}); what follows comes from the store`,
  );
  return { ...known, ...(await readStore(context)) };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function ask(
  { pid, api }: ServeWithApi,
  path: string,
  accepted: readonly number[],
  token?: string,
): Promise<Answer> {
  try {
    const answer = await fetch(`${api}${path}`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
    });
    const text = await answer.text();
    if (!accepted.includes(answer.status)) {
      throw new Error(`HTTP ${answer.status}: ${text.slice(0, 300)}`);
    }
    return { status: answer.status, body: JSON.parse(text) as unknown };
  } catch (cause) {
    throw new StoreUnavailableError(
      `the serve with pid ${pid} does not answer at ${api}${path}: ${readErrorMessage(cause)}; read its log`,
      { cause },
    );
  }
}

function serveJson(
  { pid, otlpHttp, otlpGrpc, api }: ServeFile,
  ready: boolean | null = null,
): StatusReport['serve'] {
  return { pid, otlpHttp, otlpGrpc, api, ready };
}

/** Reads the store of a serve without an API, and does not load one. */
async function readStore(context: CommandContext): Promise<StoreStatus> {
  const { config, store } = await context.openApp();
  return readStoreStatus(config, store, config.store.url === undefined ? 'embedded engine' : 'server');
}
