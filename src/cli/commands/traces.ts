import { Option } from 'commander';
import { traceJson } from '../../api/resources/traces.ts';
import { isoTime } from '../../api/json/rows.ts';
import { limitUpTo, parseMoment } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { table } from '../show/output.ts';
import type { TraceSummary } from '../../store/contracts/lists.ts';

interface TracesOptions {
  readonly since?: number;
  readonly service?: string;
  readonly limit: number;
}

/** Limit of the store for one list. */
const MAX_TRACES = 500;

export const registerTraces: RegisterCommand = (program, bind) => {
  program
    .command('traces')
    .description('Print traces with their state, newest first.')
    .addOption(
      new Option('--since <when>', 'traces that arrived since 1h, 7d, or a date and time').argParser(
        parseMoment,
      ),
    )
    .option('--service <name>', 'only traces of this service')
    .addOption(new Option('--limit <n>', 'print at most n').argParser(limitUpTo(MAX_TRACES)).default(50))
    .addHelpText('before', examples(['traces of the last hour', 'spanscore traces --since 1h']))
    .action(bind(traces));
};

async function traces(context: CommandContext, options: TracesOptions) {
  const app = await context.openApp();
  const rows = await app.store.listTraces({
    limit: options.limit,
    ...(options.since === undefined ? {} : { sinceMs: options.since }),
    ...(options.service === undefined ? {} : { service: options.service }),
  });
  if (rows.length === 0) {
    context.out.talk('no traces; to connect an agent: spanscore init');
  }
  await context.out.list(rows.map(arrivedTraceJson), () => showTraces(rows));
  return EXIT.done;
}

/**
 * Formats traces as a table. It has a column for the tenant when a row has one, because two tenants may send the same trace
 * id.
 */
export function showTraces(rows: readonly TraceSummary[]): string {
  const withTenant = rows.some((row) => row.tenant !== '');
  const tenantPair = (text: string) => (withTenant ? [text] : []);
  return table(
    ['LAST ARRIVAL', ...tenantPair('TENANT'), 'TRACE', 'SERVICE', 'AGENT', 'SPANS', 'STATE'],
    rows.map((row) => [
      isoTime(row.lastArrivalMs) ?? '',
      ...tenantPair(cleanLine(row.tenant, 40)),
      row.traceId,
      cleanLine(row.services.join(','), 40),
      cleanLine(row.run?.agent ?? '', 40),
      String(row.spanCount),
      showState(row),
    ]),
  );
}

/** True for a trace that no rule scores: it has no span of an agent or a model. */
function lacksAgent({ agentSeen, decisions, run }: TraceSummary): boolean {
  return !agentSeen && run === null && Object.keys(decisions).length === 0;
}

function showState(row: TraceSummary): string {
  const counts = Object.entries(row.decisions).map(([status, amount]) => `${amount} ${status}`);
  return lacksAgent(row) ? 'no agent or model span' : counts.length > 0 ? counts.join(', ') : 'waiting';
}

/** Formats a trace as the API does, with the facts of its arrival. A trace without an agent waits for nothing. */
function arrivedTraceJson(row: TraceSummary) {
  const { services, spanCount, firstArrivalMs, lastArrivalMs, rootSeen, agentSeen, errorSeen } = row;
  return {
    ...traceJson(row),
    ...(lacksAgent(row) ? { state: 'not_scored' } : {}),
    services,
    spanCount,
    firstArrival: isoTime(firstArrivalMs),
    lastArrival: isoTime(lastArrivalMs),
    rootSeen,
    agentSeen,
    errorSeen,
  };
}
