import { get } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { PAGE_PATHS } from '../../../src/api/dashboard/page-paths.ts';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import { startTestApi, type TestApiOptions } from '../../support/api/start-test-api.ts';

const FILES: DashboardFiles = {
  document: '<!doctype html><title>spanscore</title>',
  assets: new Map([
    [
      'index-abcdefgh.js',
      {
        contentType: 'text/javascript',
        content: new TextEncoder().encode('1'),
        compressed: { br: new Uint8Array(brotliCompressSync('1')), gzip: new Uint8Array(gzipSync('1')) },
      },
    ],
  ]),
};

let api: ApiServer;

afterEach(() => api.stop());

async function start(options: TestApiOptions = { dashboard: FILES }): Promise<string> {
  api = await startTestApi(options);
  return `http://127.0.0.1:${api.address.port}`;
}

describe('the dashboard', () => {
  it('is one document for every page, which nobody caches and which loads from its server only', async () => {
    const url = await start();

    for (const path of PAGE_PATHS) {
      const reply = await fetch(url + path.replaceAll(/:\w+/gu, 'a%2Fb'));
      expect([path, reply.status, await reply.text()]).toEqual([path, 200, FILES.document]);
      expect(reply.headers.get('cache-control')).toBe('no-cache');
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
      expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/u);
    }
  });

  it('has assets for ever, for their names are hashes, and no other files', async () => {
    const url = await start();

    const asset = await fetch(`${url}/assets/index-abcdefgh.js`);
    expect(asset.status).toBe(200);
    expect(asset.headers.get('content-type')).toBe('text/javascript');
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    for (const path of ['/assets/other.js', '/assets/..%2Findex.html', '/assets/__proto__', '/nothing']) {
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
    }
  });

  it.each([
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', null],
    ['br;q=0', null],
  ])('sends assets to a browser that accepts %s in the encoding %s', async (asked, encoding) => {
    const url = await start();

    const asset = await fetch(`${url}/assets/index-abcdefgh.js`, { headers: { 'accept-encoding': asked } });
    expect(asset.headers.get('content-encoding')).toBe(encoding);
    expect(asset.headers.get('vary')).toContain('accept-encoding');
    expect(await asset.text()).toBe('1');
  });

  it('needs no token: it holds no data', async () => {
    const tokens = [
      { name: 'reader', token: 'the-token-of-the-reader', tenant: '', scopes: ['read' as const] },
    ];
    const url = await start({ dashboard: FILES, tokens });

    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(401);
  });

  it('is not shown under a name that was rebound to this address', async () => {
    await start();
    const options = {
      host: '127.0.0.1',
      port: api.address.port,
      path: '/',
      headers: { host: 'evil.example' },
    };

    const status = await new Promise<number | undefined>((resolve, reject) => {
      get(options, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      }).on('error', reject);
    });

    expect(status).toBe(403);
  });

  it('is not there for a process without the role api', async () => {
    const url = await start({ dashboard: FILES, findStore: () => 'none' });

    expect((await fetch(url)).status).toBe(404);
    expect((await fetch(`${url}/assets/index-abcdefgh.js`)).status).toBe(404);
  });

  it('is there while the process starts', async () => {
    const url = await start({ dashboard: FILES, findStore: () => 'starting' });

    expect((await fetch(url)).status).toBe(200);
  });

  it('says how to build it where it is not built', async () => {
    const url = await start({});

    const reply = await fetch(url);
    expect(reply.status).toBe(404);
    expect(await reply.text()).toContain('npm run build:dashboard');
  });
});
