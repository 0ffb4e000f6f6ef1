import { describe, expect, it } from 'vitest';
import { StoreRejectedError, StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { applyMergeSettings } from '../../../../src/store/schema/table-settings.ts';

const NO_TABLES: ReadonlyMap<string, string> = new Map();

/** A server that refuses some statements, and the statements that it took. */
function buildServer(refusal: (sql: string) => Error | undefined = () => undefined) {
  const taken: string[] = [];
  let asked = 0;
  const server = {
    async command(sql: string) {
      asked += 1;
      const error = refusal(sql);
      if (error !== undefined) {
        throw error;
      }
      taken.push(sql);
    },
  };
  return { server, taken, asked: () => asked };
}

const refuse = (part: string) => (sql: string) =>
  sql.includes(part) ? new StoreRejectedError('unknown setting', {}, undefined) : undefined;

const listDecisions = (taken: readonly string[]) => taken.filter((sql) => sql.includes(' decisions '));

describe('merge settings', () => {
  it('of a table with many small inserts make merges rewrite few rows', async () => {
    const { server, taken } = buildServer();

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([
      "ALTER TABLE decisions MODIFY SETTING merge_selector_algorithm = 'Trivial'",
    ]);
  });

  it('stay when the table has them, whatever other settings it has', async () => {
    const { server, taken } = buildServer();
    const definition =
      "CREATE TABLE decisions (`a` String) ENGINE = ReplacingMergeTree ORDER BY a SETTINGS index_granularity = 1024, merge_selector_algorithm = 'Trivial', ttl_only_drop_parts = 1";

    await applyMergeSettings(server, new Map([['decisions', definition]]));

    expect(listDecisions(taken)).toEqual([]);
    expect(taken.length).toBeGreaterThan(0);
  });

  it('of a server without the best selector are the next best, and it is asked once', async () => {
    const { server, taken, asked } = buildServer(refuse('Trivial'));

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([
      'ALTER TABLE decisions MODIFY SETTING merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0',
    ]);
    expect(asked()).toBe(taken.length + 1);
  });

  it('of a server that knows no selector still merge whole partitions', async () => {
    const { server, taken } = buildServer(refuse('merge_selector'));

    await applyMergeSettings(server, NO_TABLES);

    expect(listDecisions(taken)).toEqual([]);
    expect(taken).toContain(
      'ALTER TABLE otel_traces MODIFY SETTING min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1',
    );
  });

  it('of a server that refuses everything stop no start', async () => {
    const { server, taken } = buildServer(refuse(''));

    await applyMergeSettings(server, NO_TABLES);

    expect(taken).toEqual([]);
  });

  it('are left for the next start when the server is away: it is asked once', async () => {
    const { server, asked } = buildServer(() => new StoreUnavailableError('away'));

    await applyMergeSettings(server, NO_TABLES);

    expect(asked()).toBe(1);
  });
});
