import type { z } from 'zod';
import type { TraceItem } from '../../api/resources/traces.ts';
import { isoTime } from '../../api/json/rows.ts';
import { limitUpTo, parseMoment } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { openApi, type Page } from '../open-api.ts';
import { tableOf } from '../show/output.ts';

interface TracesOptions {
  readonly since?: number;
  readonly service?: string;
  readonly limit: number;
}

/** Limit of the API for one page. */
const MAX_TRACES = 500;

export const registerTraces: RegisterCommand = (program, bind) => {
  withExamples(program.command('traces'), [['traces of the last hour', 'spanscore traces --since 1h']])
    .option('--since <when>', 'traces that arrived since 1h, 7d, or a date and time', parseMoment)
    .option('--service <name>', 'only traces of this service')
    .option('--limit <n>', 'print at most n', limitUpTo(MAX_TRACES), 50)
    .action(bind(traces));
};

type TraceJson = z.output<typeof TraceItem>;

async function traces(context: CommandContext, { since, service, limit }: TracesOptions) {
  const api = await openApi(context, 'traces');
  const query = { order: 'arrived', since: isoTime(since ?? null), service, limit };
  const { items } = await api.read<Page<TraceJson>>('/traces', query);
  await context.out.list(items, () => showTraces(items), 'no traces; to connect an agent: spanscore init');
  return EXIT.done;
}

/**
 * Formats traces as a table. It has a column for the tenant when a row has one, because two tenants may send the same trace
 * id.
 */
export function showTraces(rows: readonly TraceJson[]): string {
  const hasTenant = rows.some(({ tenant }) => tenant !== '');
  return tableOf(rows, {
    'LAST ARRIVAL': ({ lastArrival }) => lastArrival ?? '',
    ...(hasTenant ? { TENANT: ({ tenant }) => cleanLine(tenant, 40) } : {}),
    TRACE: ({ traceId }) => traceId,
    SERVICE: ({ services = [] }) => cleanLine(services.join(','), 40),
    AGENT: ({ agent }) => cleanLine(agent ?? '', 40),
    SPANS: ({ spanCount = 0 }) => spanCount,
    STATE: showState,
  });
}

function showState({ state, decisions, agentSeen }: TraceJson): string {
  const counts = Object.entries(decisions).map(([status, amount]) => `${amount} ${status}`);
  const none = agentSeen === false && state === 'not_scored' ? 'no agent or model span' : 'waiting';
  return counts.length > 0 ? counts.join(', ') : none;
}
