import { findReader } from '../../config/access.ts';
import { once } from 'node:events';
import { readEnvironment } from '../../config/environment.ts';
import { readServeFile } from '../../config/serve-file.ts';
import type { SendRequest } from '../../mcp/ask.ts';
import { RequestError, StoreUnavailableError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { dashboardUrl } from '../show/dashboard-address.ts';

interface McpOptions {
  readonly url?: string;
  readonly token?: string;
}

export const registerMcp: RegisterCommand = (program, bind) => {
  withExamples(program.command('mcp'), [
    ['for Claude Code', 'claude mcp add spanscore -- npx spanscore mcp'],
    ['a serve on another machine', 'SPANSCORE_TOKEN=… spanscore mcp --url https://spanscore.example.com'],
  ])
    .option('--url <url>', 'address of the API (default: the serve of this folder)')
    .option('--token <token>', 'bearer token (default: SPANSCORE_TOKEN, else one of auth.tokens)')
    .action(bind(mcp, { stopsItself: true }));
};

async function mcp(context: CommandContext, options: McpOptions): Promise<ExitCode> {
  const { url, token } = await findApi(context, options);
  const [{ serveStdio }, { createMcpServer }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('../../mcp/mcp-server.ts'),
  ]);
  const base = `${url.replace(/\/+$/u, '')}/api/v1`;
  const send: SendRequest = async (path, init) => {
    const headers = new Headers(init.headers);
    if (token !== undefined) {
      headers.set('authorization', `Bearer ${token}`);
    }
    return fetch(`${base}${path}`, { ...init, headers });
  };
  const ended = Promise.race([
    once(process.stdin, 'end'),
    once(process.stdin, 'close'),
    once(context.signal, 'abort'),
  ]);
  const server = serveStdio(() => createMcpServer(send), {
    onerror: (error) => context.log.debug('a message of the agent could not be read', { error }),
  });
  await ended;
  await server.close();
  return EXIT.done;
}

/** Finds the API: at the given address, else at the address of the serve on the data directory. */
async function findApi(
  context: CommandContext,
  { url, token = readEnvironment('SPANSCORE_TOKEN') }: McpOptions,
) {
  if (url !== undefined) {
    if (!URL.canParse(url) || !/^https?:/u.test(url)) {
      throw new RequestError(`--url ${url}: write an address like http://127.0.0.1:4320`);
    }
    return { url, token };
  }
  const { config } = await context.loadConfig();
  const serve = readServeFile(config.store.dataDir);
  if (serve === undefined || serve.api === null) {
    throw new StoreUnavailableError(
      `no serve with the role api runs on ${config.store.dataDir}: start one with spanscore serve, or name its address with --url`,
    );
  }
  return { url: dashboardUrl(serve.api, undefined), token: token ?? findReader(config.auth.tokens)?.token };
}
