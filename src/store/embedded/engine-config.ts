import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nameRole, type ReaderAccount } from './readers/reader-account.ts';

function escaped(text: string): string {
  return text.replace(/[&<>]/gu, (character) => `&#${character.charCodeAt(0)};`);
}

function formatGrants({ database, tables }: ReaderAccount): string {
  return tables
    .map((table) => `<query>GRANT SELECT ON ${escaped(database)}.${escaped(table)}</query>`)
    .join('');
}

/**
 * Users of the engine. Every session belongs to the user `default`, which has all roles at first. A session of a reader
 * keeps only the role of that reader, and the engine refuses everything that the role has no grant for.
 */
function usersXml(readers: readonly ReaderAccount[]): string {
  const roles = readers.map(
    (reader, index) => `<${nameRole(index)}><grants>${formatGrants(reader)}</grants></${nameRole(index)}>`,
  );
  const granted = readers.map((_, index) => `<query>GRANT ${nameRole(index)}</query>`);
  return `<clickhouse>
<profiles><default></default></profiles>
<quotas><default></default></quotas>
<roles>
<spanscore_owner><grants><query>GRANT ALL ON *.* WITH GRANT OPTION</query></grants></spanscore_owner>
${roles.join('\n')}
</roles>
<users><default>
<password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
<grants><query>GRANT spanscore_owner</query>${granted.join('')}</grants>
</default></users>
</clickhouse>
`;
}

/** Writes the engine's configuration files into the data directory; returns the path of the first. */
export async function writeEngineConfig(dataDir: string, readers: readonly ReaderAccount[]): Promise<string> {
  const path = join(dataDir, 'engine-config.xml');
  const usersPath = join(dataDir, 'engine-users.xml');
  const users = readers.length === 0 ? '' : `<users_config>${escaped(usersPath)}</users_config>\n`;
  const backups = `<backups><allowed_path>${escaped(join(dataDir, 'backups'))}</allowed_path></backups>`;
  await writeFile(usersPath, usersXml(readers), { mode: 0o600 });
  await writeFile(path, `<clickhouse>\n${users}${backups}\n</clickhouse>\n`, { mode: 0o600 });
  return path;
}
