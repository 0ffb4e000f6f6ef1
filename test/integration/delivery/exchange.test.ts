import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../../../src/delivery/http/proxies.ts';

const TEXT = JSON.stringify({ said: 'it is warm '.repeat(500) });
const PACKED: Readonly<Record<string, Buffer>> = {
  gzip: gzipSync(TEXT),
  'x-gzip': gzipSync(TEXT),
  deflate: deflateSync(TEXT),
  br: brotliCompressSync(TEXT),
  zstd: zstdCompressSync(TEXT),
};

/** Answers in the encoding that the path names; `/moved` with a redirect, `/broken` with half of a packed body, `/slow` never. */
const server = createServer((request, response) => {
  const name = (request.url ?? '').slice(1);
  const packed = PACKED[name === 'broken' ? 'gzip' : name];
  if (name === 'moved') {
    response.writeHead(307, { location: '/gzip' }).end();
  } else if (name === 'echo') {
    request.setEncoding('utf8');
    request.on('data', (text: string) =>
      response.write(`${request.method} ${String(request.headers['x-team'])} ${text}`),
    );
    request.on('end', () => response.end());
  } else if (packed !== undefined) {
    response.setHeader('content-encoding', name === 'broken' ? 'gzip' : name);
    response.end(name === 'broken' ? packed.subarray(0, packed.length / 2) : packed);
  }
});
let address = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function send(path: string, init: RequestInit = {}) {
  const { status, statusText, body } = await exchange(`${address}${path}`, {
    method: 'POST',
    body: 'so it is',
    ...init,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
  }
  return { status, statusText, text: Buffer.concat(chunks).toString() };
}

describe('an exchange with a server', () => {
  it.each(Object.keys(PACKED))('unpacks a reply that is packed as %s', async (encoding) => {
    expect(await send(`/${encoding}`)).toMatchObject({ status: 200, text: TEXT });
  });

  it('sends the method, the headers and the text', async () => {
    expect(await send('/echo', { headers: { 'x-team': 'a' } })).toMatchObject({ text: 'POST a so it is' });
  });

  it('follows no redirect, with a text and with other bodies', async () => {
    expect(await send('/moved')).toMatchObject({ status: 307, statusText: 'Temporary Redirect' });
    expect(await send('/moved', { body: new URLSearchParams({ a: 'b' }) })).toMatchObject({ status: 307 });
  });

  it('fails as fetch does: with a cause, with the reason of an abort, and where a packed reply breaks off', async () => {
    const closed = exchange('http://127.0.0.1:1/', { method: 'POST', body: '' });
    await expect(closed).rejects.toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
    const aborting = new AbortController();
    const slow = send('/slow', { signal: aborting.signal });
    aborting.abort(new Error('no longer wanted'));
    await expect(slow).rejects.toThrow('no longer wanted');
    await expect(send('/broken')).rejects.toThrow(/unexpected end/u);
  });
});
