import { formatCount } from '../../domain/plural.ts';
import type { ClusterStatus } from '../../store/contracts/cluster-status.ts';
import type { CheckResult } from './check-result.ts';

/** Most names of tables that a line shows. */
const MAX_NAMES = 3;

/** Checks that every server of a cluster answers and has the tables. */
export function checkServers({ shards, servers, answering, gaps, fault }: ClusterStatus): CheckResult {
  const check = 'servers of the cluster';
  const away = servers - answering;
  const counts = `${formatCount(servers, 'server')} in ${formatCount(shards, 'shard')}${away === 0 ? '' : `, ${away} of them did not answer`}`;
  if (gaps.length > 0) {
    const lacking = gaps.map(
      ({ server, tables }) => `${server} lacks ${formatCount(tables.length, 'table')} (${shorten(tables)})`,
    );
    const fix = fault ?? 'run spanscore migrate: it creates them';
    return { check, status: 'failed', detail: `${counts}; ${lacking.join('; ')}`, fix };
  }
  return away === 0
    ? { check, status: 'ok', detail: `${counts}, each has all tables` }
    : {
        check,
        status: 'warning',
        detail: counts,
        fix: 'start them, or replace them (docs/operations.md, "Replace a server")',
      };
}

function shorten(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown}, …` : shown;
}
