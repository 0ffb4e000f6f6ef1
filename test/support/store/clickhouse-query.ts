/** Address of a ClickHouse over HTTP, as in `serve.json`. */
export interface ClickHouseAddress {
  url: string;
  username: string;
  password: string;
  database: string;
}

/** Runs a query over plain HTTP, as other programs do. Returns its rows; 64-bit integers are strings. */
export async function queryRows<Row>(address: ClickHouseAddress, sql: string): Promise<Row[]> {
  const text = await ask(address, `${sql} FORMAT JSONEachRow`);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

/** Runs a statement without a result, over plain HTTP. */
export async function runCommand(address: ClickHouseAddress, sql: string): Promise<void> {
  await ask(address, sql);
}

async function ask(address: ClickHouseAddress, statement: string): Promise<string> {
  const url = new URL(address.url);
  url.searchParams.set('database', address.database);
  url.searchParams.set('output_format_json_quote_64bit_integers', '1');
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${address.username}:${address.password}`).toString('base64')}`,
    },
    body: statement,
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`ClickHouse answered ${response.status}: ${text}`);
  }
  return text;
}
