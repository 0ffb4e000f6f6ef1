import type { Repairs } from '../../app/backup/repair-tables.ts';
import { formatCount } from '../../domain/plural.ts';

/** Lines about the repairs of restored tables; none where nothing was repaired. */
export function showRepairs({ reopened, purged }: Repairs): string[] {
  const purgedRows = Object.values(purged).reduce((sum, rows) => sum + rows, 0);
  return [
    ...(reopened === 0
      ? []
      : [`${formatCount(reopened, 'decision')} without a score: they are scored again`]),
    ...(purgedRows === 0 ? [] : [`${formatCount(purgedRows, 'row')} of purged traces deleted again`]),
  ];
}
