import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

function escaped(text: string): string {
  return text.replace(/[&<>]/gu, (character) => `&#${character.charCodeAt(0)};`);
}

/** Writes the engine's configuration file into the data directory; returns its path. */
export async function writeEngineConfig(dataDir: string): Promise<string> {
  const path = join(dataDir, 'engine-config.xml');
  const backups = `<backups><allowed_path>${escaped(join(dataDir, 'backups'))}</allowed_path></backups>`;
  await writeFile(path, `<clickhouse>\n${backups}\n</clickhouse>\n`, { mode: 0o600 });
  return path;
}
