import { Option } from 'commander';
import { isoTime } from '../../api/time-json.ts';
import { limitUpTo, parseMoment } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { table } from '../show/output.ts';
import type { TraceSummary } from '../../store/contracts/store.ts';

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
    return EXIT.done;
  }
  if (context.out.json) {
    for (const row of rows) {
      await context.out.item(traceJson(row), () => '');
    }
    return EXIT.done;
  }
  await context.out.text(showTraces(rows));
  return EXIT.done;
}

/**
 * Formats traces as a table. It has a column for the tenant when a row has one, because two tenants may send the same trace
 * id.
 */
export function showTraces(rows: readonly TraceSummary[]): string {
  const withTenant = rows.some((row) => row.tenant !== '');
  const tenantCell = (text: string) => (withTenant ? [text] : []);
  return table(
    ['LAST ARRIVAL', ...tenantCell('TENANT'), 'TRACE', 'SERVICE', 'SPANS', 'STATE'],
    rows.map((row) => [
      isoTime(row.lastArrivalMs) ?? '',
      ...tenantCell(cleanLine(row.tenant, 40)),
      row.traceId,
      cleanLine(row.services.join(','), 40),
      String(row.spanCount),
      showState(row),
    ]),
  );
}

/** Returns `decided`, `waiting` (the trace may not be complete), or `no_agent` (no span of an agent or a model). */
function deriveState(row: TraceSummary): 'decided' | 'waiting' | 'no_agent' {
  if (Object.keys(row.decisions).length > 0) {
    return 'decided';
  }
  return row.agentSeen ? 'waiting' : 'no_agent';
}

function showState(row: TraceSummary): string {
  const counts = Object.entries(row.decisions).map(([status, amount]) => `${amount} ${status}`);
  const state = deriveState(row);
  return state === 'decided' ? counts.join(', ') : state === 'waiting' ? 'waiting' : 'no agent or model span';
}

function traceJson(row: TraceSummary) {
  const { firstArrivalMs, lastArrivalMs, ...rest } = row;
  return {
    ...rest,
    firstArrival: isoTime(firstArrivalMs),
    lastArrival: isoTime(lastArrivalMs),
    state: deriveState(row),
  };
}
