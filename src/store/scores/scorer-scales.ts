import type { Scale } from '../../domain/agreement/directed-score.ts';
import type { Database } from '../database.ts';

/** Days whose scores tell the scale of a scorer. */
const SCALE_DAYS = 30;

/** Reads the scales of the newest scores that scorers have given, by the names of their rows. */
export async function readScales(
  database: Database,
  { scorers, tenants }: { readonly scorers: readonly string[]; readonly tenants: readonly string[] },
): Promise<Map<string, Scale>> {
  const rows = await database.rows<{
    scorer: string;
    scale: readonly [higherIsBetter: boolean | null, scoreMin: number | null, scoreMax: number | null];
  }>(
    `SELECT toString(Scorer) AS scorer, argMax((HigherIsBetter, ScoreMin, ScoreMax), ScoredAt) AS scale
     FROM scores
     WHERE Tenant IN {tenants:Array(String)} AND Scorer IN {scorers:Array(String)}
       AND Day >= today() - ${SCALE_DAYS} AND ScoredBy = '' AND IsDeleted = 0
     GROUP BY scorer`,
    { scorers: [...scorers], tenants: [...tenants] },
  );
  return new Map(
    rows.map(({ scorer, scale: [higherIsBetter, scoreMin, scoreMax] }) => [
      scorer,
      { higherIsBetter, scoreMin, scoreMax },
    ]),
  );
}
