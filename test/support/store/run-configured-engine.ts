import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ChdbModule } from '../../../src/store/embedded/session-pool.ts';

// Program: starts the engine in a folder with the configuration `config.xml` and the files of `config.d` beside it, as a server of
// ClickHouse does. Runs the statements on its standard input (JSON), and prints the answers (JSON). A wrong configuration ends it with 1.

const { Session } = createRequire(import.meta.url)('chdb') as ChdbModule;
const [folder = ''] = process.argv.slice(2);
const statements = JSON.parse(await text(process.stdin)) as string[];
const session = new Session(join(folder, 'data'), {
  connectionArgs: [`--config-file=${join(folder, 'config.xml')}`],
});
const answers: string[] = [];
for (const statement of statements) {
  const answer = await session.queryAsync(statement, { format: 'TSV' });
  answers.push(new TextDecoder().decode(answer.bytes()).trim());
}
session.close();
process.stdout.write(JSON.stringify(answers));
