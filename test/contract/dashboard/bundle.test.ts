import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { buildDashboard } from '../../support/dashboard/build-dashboard.ts';

/** Most JavaScript of the dashboard in all, bytes with gzip. */
const MAX_SCRIPT = 110 * 1_000;

describe('the built dashboard', async () => {
  const { document, assets } = await buildDashboard();
  const texts = [...assets].map(([name, { content }]) => [name, Buffer.from(content).toString()] as const);

  it('has at most 110 kB of JavaScript with gzip', () => {
    const scripts = texts.filter(([name]) => name.endsWith('.js'));
    const bytes = scripts.reduce((sum, [, text]) => sum + gzipSync(text).length, 0);

    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(MAX_SCRIPT);
  });

  it('names each file by its content', () => {
    expect([...assets.keys()].filter((name) => !/-[\w-]{8}\.(js|css|svg)$/u.test(name))).toEqual([]);
  });

  it('loads its own files only, and has no script in the document', () => {
    const loaded = [...document.matchAll(/(?:src|href)="([^"]+)"/gu)].map(([, path]) => path ?? '');

    expect(loaded.length).toBeGreaterThan(2);
    expect(loaded.filter((path) => !assets.has(path.replace('./assets/', '')))).toEqual([]);
    expect(document).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/u);
  });

  it('has no addresses of other hosts but names of XML and a licence', () => {
    const hosts = texts.flatMap(([, text]) =>
      [...text.matchAll(/https?:\/\/([\w.-]+)/gu)].map(([, host]) => host),
    );

    expect([...new Set(hosts)].filter((host) => host !== 'www.w3.org')).toEqual([]);
  });
});
