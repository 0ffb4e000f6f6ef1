import { createHash } from 'node:crypto';
import { TupleParam } from '@clickhouse/client';
import {
  joinVersionKey,
  type RuleVersion,
  type VersionKey,
  type VersionSample,
} from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { readSlices } from '../spans/trace-keys.ts';
import { toDateTime } from '../values.ts';

/** Creates the store of rule versions and their first moments. Writing a version again keeps its first moment. */
export function createRuleVersionStore(database: Database) {
  return bind(database, { list: listVersions, record: recordVersion });
}

export type RuleVersionStore = ReturnType<typeof createRuleVersionStore>;

async function listVersions(database: Database): Promise<RuleVersion[]> {
  const rows = await database.rows<RuleVersion & { readonly definition: string }>(
    `SELECT Rule AS rule, Version AS version, toUnixTimestamp64Milli(min(ActiveFrom)) AS activeFromMs,
       any(Probability) AS probability, any(Definition) AS definition
     FROM rule_versions GROUP BY Rule, Version ORDER BY activeFromMs, rule, version`,
  );
  return rows.map((row) => ({ ...row, definition: JSON.parse(row.definition) as unknown }));
}

/** Records a version. A known version keeps its first `activeFromMs`. */
function recordVersion(
  database: Database,
  { rule, version, activeFromMs, probability, definition }: RuleVersion,
): Promise<void> {
  const row = {
    Rule: rule,
    Version: version,
    ActiveFrom: toDateTime(activeFromMs),
    Probability: probability,
  };
  return database.insertRows('rule_versions', [{ ...row, Definition: JSON.stringify(definition ?? null) }]);
}

export function createVersionSampleStore(database: Database) {
  return bind(database, { read: readSamples, append: appendTargets, findInUse });
}

export type VersionSampleStore = ReturnType<typeof createVersionSampleStore>;

const KEY_COLUMNS = `Tenant AS tenant, Rule AS rule, ServiceName AS service, Agent AS agent,
  ServiceVersion AS serviceVersion, AgentVersion AS agentVersion`;

const KEYS = '{keys:Array(Tuple(String, String, String, String, String, String))}';

type SampleRow = VersionKey & { readonly slots: number; readonly targets: string[] };

/** Reads the choices, keyed by `joinVersionKey`; a version without a choice is absent. Two rows of one slot are possible after a pause of a process; the first one counts. */
async function readSamples(
  database: Database,
  keys: readonly VersionKey[],
): Promise<Map<string, VersionSample>> {
  const rows = await readSlices(keys, (slice) =>
    database.rows<SampleRow>(
      `SELECT tenant, rule, service, agent, serviceVersion, agentVersion,
         argMin(most, slot) AS slots, groupArrayIf(target, slot > 0) AS targets
       FROM (
         SELECT ${KEY_COLUMNS}, Slot AS slot, argMin(Slots, (ChosenAt, TargetHash)) AS most,
           argMin(TargetHash, (ChosenAt, TargetHash)) AS target
         FROM version_samples
         WHERE (Tenant, Rule, ServiceName, Agent, ServiceVersion, AgentVersion) IN ${KEYS}
         GROUP BY tenant, rule, service, agent, serviceVersion, agentVersion, slot
         ORDER BY slot)
       GROUP BY tenant, rule, service, agent, serviceVersion, agentVersion`,
      { keys: slice.map((key) => new TupleParam(listParts(key))) },
    ),
  );
  return new Map(
    rows.map(({ slots, targets, ...key }) => [
      joinVersionKey(key),
      { slots, targets: targets.slice(0, slots) },
    ]),
  );
}

/**
 * Adds targets to the choice of a version, after the `known` ones. Adds nothing when another process has added some since these
 * were read: read the choice again to see which targets it has. The `slots` count only for the first targets of the version; with 0, the
 * version is no new one. Inserts under a token that only one insert can have: it names the version and the number of rows before. The store ignores the
 * inserts of all others.
 */
async function appendTargets(
  database: Database,
  key: VersionKey,
  known: number,
  { slots, targets }: VersionSample,
): Promise<void> {
  const columns = {
    Tenant: key.tenant,
    Rule: key.rule,
    ServiceName: key.service,
    Agent: key.agent,
    ServiceVersion: key.serviceVersion,
    AgentVersion: key.agentVersion,
    Slots: slots,
  };
  const rows =
    slots === 0
      ? [{ ...columns, Slot: 0, TargetHash: '' }]
      : targets.map((TargetHash, index) => ({ ...columns, Slot: known + index + 1, TargetHash }));
  const token = createHash('sha256')
    .update(`${joinVersionKey(key)} ${known}`)
    .digest('hex');
  await database.insertRows('version_samples', rows, token);
}

/** Returns the versions, by `joinVersionKey`, of which a run came before a time (Unix milliseconds, by the store's clock). */
async function findInUse(
  database: Database,
  asks: readonly { readonly key: VersionKey; readonly beforeMs: number }[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const { key, beforeMs } of asks) {
    const rows = await database.rows<{ known: number }>(
      `SELECT 1 AS known FROM runs
       WHERE Tenant = {tenant:String} AND ServiceName = {service:String} AND ServiceVersion = {serviceVersion:String}
         AND (AgentVersion = {agentVersion:String} OR {agentVersion:String} = '')
         AND EvidenceUntil < fromUnixTimestamp64Milli({before:Int64})
       LIMIT 1`,
      { ...key, before: Math.trunc(beforeMs) },
    );
    if (rows.length > 0) {
      found.add(joinVersionKey(key));
    }
  }
  return found;
}

function listParts(key: VersionKey): string[] {
  return [key.tenant, key.rule, key.service, key.agent, key.serviceVersion, key.agentVersion];
}
