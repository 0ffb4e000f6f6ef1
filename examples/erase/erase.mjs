// Runs erase.sql on the store of a running `spanscore serve`:
//   node erase.mjs user-9 session-1        prints the traces that hold one of these ids
//   node erase.mjs user-9 session-1 --yes  deletes them
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals: ids } = parseArgs({
  allowPositionals: true,
  options: {
    'data-dir': { type: 'string', default: '.spanscore' },
    tenant: { type: 'string', default: '' },
    yes: { type: 'boolean', default: false },
  },
});
if (ids.length === 0 || ids.includes('')) {
  throw new Error('name what to erase: user ids, session ids or trace ids');
}
const { clickhouse } = JSON.parse(readFileSync(join(values['data-dir'], 'serve.json'), 'utf8'));

async function runSql(sql) {
  const quoted = ids.map((id) => `'${id.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`);
  const url = new URL(clickhouse.url);
  url.searchParams.set('database', clickhouse.database);
  url.searchParams.set('mutations_sync', '1'); // a deletion is done when its reply comes
  url.searchParams.set('param_ids', `[${quoted.join(',')}]`);
  url.searchParams.set('param_tenant', values.tenant);
  const login = Buffer.from(`${clickhouse.username}:${clickhouse.password}`).toString('base64');
  const reply = await fetch(url, { method: 'POST', headers: { authorization: `Basic ${login}` }, body: sql });
  const text = await reply.text();
  if (!reply.ok) {
    throw new Error(`${text}\nin: ${sql}`);
  }
  return text;
}

const statements = readFileSync(new URL('erase.sql', import.meta.url), 'utf8')
  .split(/;\n/)
  .slice(0, -1);
async function runAll(kind) {
  for (const statement of statements.filter((one) => kind.test(one))) {
    await runSql(statement);
  }
}

await runAll(/^(CREATE|INSERT)/m);
console.log(`traces with ${ids.join(', ')}:`);
console.log(await runSql('SELECT DISTINCT TraceId FROM erased_traces ORDER BY TraceId'));
if (values.yes) {
  await runAll(/^ALTER/m);
}
await runAll(/^DROP/m);
console.log(values.yes ? 'deleted' : 'nothing is deleted yet: add --yes');
