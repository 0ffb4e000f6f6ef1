import type { RuleVersion, RuleVersionStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toDateTime } from '../values.ts';

interface RuleVersionRow {
  rule: string;
  version: string;
  activeFrom: string;
  probability: number;
  definition: string;
}

/** Creates the store of rule versions and their first moments. Writing a version again keeps its first moment. */
export function createRuleVersionStore(database: Database): RuleVersionStore {
  return {
    list: () => listVersions(database),
    record: (version) => database.insertRows('rule_versions', [toRow(version)]),
  };
}

async function listVersions(database: Database): Promise<RuleVersion[]> {
  const rows = await database.rows<RuleVersionRow>(
    `SELECT Rule AS rule, Version AS version, toUnixTimestamp64Milli(min(ActiveFrom)) AS activeFrom,
       any(Probability) AS probability, any(Definition) AS definition
     FROM rule_versions GROUP BY Rule, Version ORDER BY activeFrom, rule, version`,
  );
  return rows.map((row) => ({
    rule: row.rule,
    version: row.version,
    activeFromMs: Number(row.activeFrom),
    probability: row.probability,
    definition: JSON.parse(row.definition) as unknown,
  }));
}

function toRow(version: RuleVersion): object {
  return {
    Rule: version.rule,
    Version: version.version,
    ActiveFrom: toDateTime(version.activeFromMs),
    Probability: version.probability,
    Definition: JSON.stringify(version.definition ?? null),
  };
}
