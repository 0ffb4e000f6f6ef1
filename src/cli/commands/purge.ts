import type { Config } from '../../configuration.ts';
import { formatCount } from '../../domain/plural.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { untilAborted } from '../../domain/waits.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { PurgeKind, PurgeSubject } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/store.ts';
import { parseSpan, parseTraceId } from '../arguments.ts';
import { auditCommand } from '../open-api.ts';
import { runAttached } from '../jobs/run-job.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { RequestError } from '../../domain/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { table } from '../show/output.ts';

interface PurgeOptions {
  readonly trace?: string;
  readonly session?: string;
  readonly user?: string;
  readonly tenant?: string;
  /** Age of the youngest data of a trace, milliseconds. */
  readonly olderThan?: number;
  readonly yes?: boolean;
}

export const registerPurge: RegisterCommand = (program, bind) => {
  withExamples(program.command('purge'), [
    ['everything of a user', 'spanscore purge --user user-9'],
    ['a session of one tenant', 'spanscore purge --session s-1 --tenant acme'],
    ['old data of a tenant, in a script', 'spanscore purge --tenant acme --older-than 30d --yes --json'],
  ])
    .option('--trace <id>', 'the trace with this id', parseTraceId)
    .option('--session <id>', 'all traces of the session')
    .option('--user <id>', 'all traces with this user id')
    .option('--tenant <name>', 'alone: the whole tenant; else: only data of this tenant')
    .option(
      '--older-than <age>',
      'only traces whose last span arrived before this time, for example 30d',
      parseSpan,
    )
    .option('--yes', 'do not ask')
    .action(bind(purge, { stopsItself: true }));
};

/** Purges by the store itself: the person agrees to counts, which must be of what is deleted then. */
async function purge(context: CommandContext, options: PurgeOptions): Promise<ExitCode> {
  const subject = readSubject(options);
  if (context.out.json && options.yes !== true) {
    throw new RequestError('a purge with --json does not ask: add --yes');
  }
  const { config } = await context.loadConfig();
  const { requireSharedKey } = await import('../../purge/configured-purge.ts');
  requireSharedKey(config.store);
  const { store } = await context.openApp();
  const id = await begin(context, { config, store, subject, options });
  if (id === undefined) {
    return context.signal.aborted ? EXIT.interrupted : EXIT.failed;
  }
  return finish(context, { config, store, id });
}

function readSubject({ trace, session, user, tenant }: PurgeOptions): PurgeSubject {
  const named = Object.entries({ trace, session, user }).filter(([, id]) => id !== undefined);
  if (named.length > 1) {
    throw new RequestError('name one of --trace, --session and --user');
  }
  const [kind, id] = named[0] ?? ['tenant', tenant];
  if (id === undefined || id === '') {
    throw new RequestError(
      'name what to purge: --trace, --session, --user or --tenant, with an id that is not empty',
    );
  }
  return { kind: kind as PurgeKind, id, tenant: kind === 'tenant' ? undefined : tenant };
}

interface PurgeRequest {
  readonly config: Config;
  readonly store: Store;
  readonly subject: PurgeSubject;
  readonly options: PurgeOptions;
}

/** Begins a purge, or finds the one that was begun before. Returns the id of its job; undefined when the person does not agree. */
async function begin(context: CommandContext, request: PurgeRequest): Promise<string | undefined> {
  const { out, signal, stdin } = context;
  const { config, store, subject, options } = request;
  const { loadPurgeKey } = await import('../../purge/configured-purge.ts');
  const { describeMentions, findOpenPurge, preparePurge } = await import('../../purge/purge.ts');
  const key = loadPurgeKey(config.store);
  const begun = await findOpenPurge(store.jobs, key, subject, options.olderThan !== undefined);
  if (begun !== undefined) {
    out.talk(`this purge was begun before and not finished: continuing the job ${begun}`);
    return begun;
  }
  const nowMs = () => store.spans.nowMs();
  const beforeMs = options.olderThan === undefined ? undefined : (await nowMs()) - options.olderThan;
  const prepared = await preparePurge({ ...store, nowMs }, key, subject, beforeMs);
  if (prepared.mentions > 0) {
    out.talk(describeMentions(prepared.mentions));
  }
  const isAgreed =
    options.yes === true ||
    (await untilAborted(ask({ out, stdin }, describe(subject, prepared)), signal).catch(() => false));
  if (!isAgreed || signal.aborted) {
    await prepared.cancel();
    out.talk('nothing was deleted');
    return undefined;
  }
  const { kind, id, tenant } = subject;
  const write = { action: `${kind}.purge`, subjects: [{ kind, id }] } as const;
  await auditCommand(context, 'purge', { tenant, ...write });
  return prepared.start();
}

function describe(
  { kind, id, tenant }: PurgeSubject,
  { traces, sessions, rows }: { readonly traces: number; readonly sessions: number; readonly rows: number },
): string {
  const where = tenant === undefined || tenant === '' ? '' : ` of the tenant ${tenant}`;
  return `${kind} ${id}${where}: ${formatCount(traces, 'trace')}, ${formatCount(sessions, 'session')}, ${formatCount(rows, 'row')}. They are deleted for ever. Write yes to delete them:`;
}

async function ask(
  { out, stdin }: Pick<CommandContext, 'out' | 'stdin'>,
  question: string,
): Promise<boolean> {
  out.talk(question);
  let reply = '';
  for await (const chunk of stdin) {
    reply += chunk.toString();
    if (reply.includes('\n')) {
      break;
    }
  }
  return reply.trim() === 'yes';
}

/** Runs the job here, unless another process has it already, and waits for its end. Throws the error of a job that failed. */
async function finish(
  context: CommandContext,
  { config, store, id }: Pick<PurgeRequest, 'config' | 'store'> & { readonly id: string },
): Promise<ExitCode> {
  const { out } = context;
  const { configurePurgeKind } = await import('../../purge/configured-purge.ts');
  const kinds = [configurePurgeKind(config, store)];
  const job = await runAttached(context, { store, id, kinds, show });
  if (job.status !== 'done') {
    out.talk(
      `the purge has not ended (job ${id}, ${job.status}); a running serve finishes it, or the same command, run again`,
    );
    return EXIT.interrupted;
  }
  const rows = readRows(job);
  await out.document({ job: id, ...job.report }, () => table(['TABLE', 'ROWS'], rows));
  const { describeRemains } = await import('../../api/writes/jobs.ts');
  const remains = describeRemains(config);
  if (remains !== null) {
    out.talk(remains);
  }
  return remains === null ? EXIT.done : EXIT.someFailed;
}

function readRows({ report }: Job): [string, string][] {
  const { rows } = report;
  return Object.entries(isRecord(rows) ? rows : {}).map(([name, count]) => [name, String(count)]);
}

function show(job: Job): string {
  if (job.left !== '' || job.error !== '') {
    return job.error || job.left;
  }
  const sum = readRows(job).reduce((total, [, count]) => total + Number(count), 0);
  return job.status === 'running'
    ? `deleting: ${formatCount(sum, 'row')}; a second pass follows after 45 s, when all inserts that were under way have ended`
    : `job ${job.id} is ${job.status}`;
}
