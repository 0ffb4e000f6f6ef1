import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { signalNamesSql } from '../../../../src/store/spans/agent-signal-sql.ts';
import {
  migrationsFolder,
  readMigrations,
  splitStatements,
} from '../../../../src/store/schema/migration-files.ts';

/**
 * The SHA-256 of every migration as it was released. A line is added with each new file and never edited: databases in
 * the field were made with these very bytes.
 */
const RELEASED: readonly (readonly [string, string])[] = [
  ['0001-spans', 'b632d0283a2f12617266efad7a188d71a4a651560f6912c5378ffb02555e5747'],
  ['0002-arrivals', 'b2034d4fa999653fd1a3824e99f7d192218b7de7fa313726db5eb5c5bf893f4c'],
  ['0003-decisions', 'c8deeccda3eda2fe5223bc0e5945211515b573de46fbc8628243b727580f93f0'],
  ['0004-scores', '94017513f985539a21c8995d3a7cbd24028594ff17ab7010bcddfa27adfc4516'],
  ['0005-rules-and-judges', 'a1a880e279a3e7e48b2891379844c04b195e1c562394c35a2137087341e23d1e'],
  ['0006-members', 'cef29acb9205e453a55304a95d0243703bb15e278a51570315f4b73d9322c9d4'],
  ['0007-dead-letters', '3e71e048d4a3afffe87586b5b7b8533acd0c2b343ef86b909c25b18d052acc9a'],
  ['0008-polled-tables', 'ad31d243e878af6ddbd69ff7968ae7b6ae14313f25d8646e54cbadac88e640d0'],
  ['0009-monitors', 'd3e8cc9607b30d9610aaeddc575948aaaec3fa82742d01d16ed1a36b57d48bef'],
  ['0010-alert-deliveries', 'd65921aaf3b1feef5ddb99fc78b81b7deaa53436709a731af7165df05678e534'],
  ['0011-agent-versions', 'd9d5b39f3b6aa3e3036cdbf40ccd9b84a51dfe78c495136593a5450ed88aa3ef'],
  ['0012-judge-spending', '52fb223d27c4a58bc744de028245dec694e5d31a56b0b5f663b96d17401308cb'],
  ['0013-write-probe', 'a6b7bd9badcc08981f9ed28accf720cbba060b51b72a9141d6032b86218a2daa'],
  ['0014-exports', 'a9d08bb436569995f5a22aaa049419f5bc882426608c8c6d3d964e5b7d20bfd6'],
  ['0015-overlaps', 'f9f81a9a0b1433e5dcbfc2dfaaad6f5eeffbb9aaec28fef7190931f0e80e8dff'],
  ['0016-budget-leases', 'f26d60d5449b96fd68529766a4525c335923806a8ffeeaf8c95ec6eb9cb9f206'],
  ['0017-runs', 'f33ce5839d10d9d0b46201393f992b4aaa9d125a4c6dc688dc6589621a98b33c'],
  ['0018-budget-scopes', 'dbc9497ee506a48b8fc20956d89f6c6e2ec0a5e4895e6da2a8ebd064d76fdcdb'],
  ['0019-sessions', '7fef63ced3bb74095e23a55fbbe7698a82bd6fd2abff9b16ac997d189316e247'],
  ['0020-coverage', '5e83bbc3f5e4f130199f5fe6de66bf3a911bf7d4aabb55919ea6d0f73890d8ca'],
  ['0021-version-samples', 'bbe61ab1a888e908e95aa402eac677914017cae9bcac89a0c050b4ae6f49585a'],
  ['0022-targets-of-series', '9f12ce2a38480401de8bb6dd15ada1a6df8b8a707500ae2a6a2ced3314c7d88b'],
  ['0023-jobs', 'd7b163da31423624d60ab5c2abec329d278fb798b5222b0e0d5624646899fb4e'],
  ['0024-tombstones', '99588dc8d3e317725589eefe0b4de31002f45df15e27da48a94a4abb5d31d9b8'],
  ['0025-access', '0ac34d9c2a0068f691d951d5c78b9f3b9a6355c264af030d3fedb33e06683b30'],
  ['0026-score-aggregates', '5a869f418cf8e0a3c5ed91ac75aa75990d3e266f1214cd1fde69fbf5b3bd8b24'],
  ['0027-scored-by', 'e3a9cc75de01a4f22bd6e3c074d95b8b2717281cc73a684ccc990ade4cddad44'],
  ['0028-decision-arrivals', '76d01cb3f2d43609dad90608e0b9deeee023231c79759695a876e776ac7ab644'],
  ['0029-lists', '3d107b9045300b3efcc9424e2d69c98f27959089aa40503d8304915c480d5ca7'],
  ['0030-mute-times', 'd271caddfd7338c8b722650be626992003b22931769ccf465a242f5921a42cad'],
  ['0031-decision-hours', '54c068bafa90ee4edfa30481abc8a6aee7fc39965ece18e95ae65c2877c2dc77'],
  ['0032-run-starts-written', 'fb44e36dc1e956fe62e38acd6a5a0054ef2816215464a71868f8a47359f8846d'],
  ['0035-decisions-by-trace', '19bcf7fed10d0ee13600099995eebb24f713dc70e1ff203c29ca91681902ac50'],
  ['0036-words-of-agents', 'c333ce226035f25e626b3de76ddebc914e5524292c82e5814fa3b7347ec93e7f'],
  ['0037-read-by-shape', 'db0f89f77ea6f9bca1819de26c2b2e326817b79de171d62013f1d53df5e302da'],
];

describe('migration files', () => {
  test('are byte for byte those that were released', () => {
    const files = readMigrations().map(({ version, name, checksum }) => [
      `${String(version).padStart(4, '0')}-${name}`,
      checksum,
    ]);
    expect(files).toEqual(RELEASED);
  });

  test('hold only statements that can be repeated', () => {
    for (const { statements } of readMigrations()) {
      for (const statement of statements) {
        // A repeated row of the starts replaces itself.
        expect(statement).toMatch(
          /^(CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS|ALTER TABLE|DROP \w+ IF EXISTS|INSERT INTO (score|run)_starts)\s/,
        );
      }
    }
  });

  test('have a tenant in every table of traces and scores, and expire by no time of a sender', () => {
    const tables = readMigrations().flatMap(({ statements }) =>
      statements.filter((text) => text.startsWith('CREATE TABLE')),
    );
    const withTrace = tables.filter((text) => text.includes('`TraceId`'));
    expect(withTrace.length).toBeGreaterThan(5);
    for (const text of withTrace) {
      expect(text).toContain('`Tenant`');
    }
    for (const text of tables) {
      const ttl = /TTL (.*?) \+/.exec(text)?.[1] ?? 'none';
      expect([
        'none',
        'toDateTime(ArrivedAt)',
        'ArrivedWeek',
        'toDateTime(WrittenAt)',
        'toDateTime(ExportedAt)',
        'toDateTime(BeatAt)',
      ]).toContain(ttl);
    }
  });

  test('store the names that signals are looked for in', () => {
    const views = readFileSync(join(migrationsFolder(), '0036-words-of-agents.sql'), 'utf8');
    const columns = {
      scopeName: 'ScopeName',
      attributeKeys: 'mapKeys(SpanAttributes)',
      eventNames: '`Events.Name`',
    };
    expect(views).toContain(signalNamesSql(columns));
    expect(views).toContain(
      signalNamesSql({ ...columns, attributeKeys: 'mapKeys(LogAttributes)', eventNames: '[EventName]' }),
    );
  });

  test('are cut into statements at semicolons that end a line, comments left out', () => {
    const text = "-- a; comment;\nSELECT ';'\n-- inside;\nFROM x;\n\nSELECT 2;";
    expect(splitStatements(text)).toEqual(["SELECT ';'\nFROM x", 'SELECT 2']);
  });

  test('that are missing give an error with the next step', () => {
    expect(() => migrationsFolder('/')).toThrow(/install again/);
  });
});
