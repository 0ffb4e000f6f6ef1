import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startKeptDemo } from '../../../src/cli/demo/kept-demo.ts';
import { startScriptedModel } from '../../../src/cli/demo/scripted-agent.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { startTestApi } from '../api/start-test-api.ts';
import { buildDashboard } from './build-dashboard.ts';

/** A `serve` over the made traces of `demo --keep`, with the dashboard of the source. */
export interface SeededServe {
  /** Address of Home. */
  readonly url: string;
  /** Gives a page the files of the dashboard: a checkout has no built one. */
  readonly prepare: (page: Page) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startSeededServe(): Promise<SeededServe> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-seeded-'));
  const [files, model] = await Promise.all([
    buildDashboard().then((dashboard) => startTestApi({ dashboard })),
    startScriptedModel(),
  ]);
  const serve = await startKeptDemo({
    dataDir: join(folder, 'data'),
    modelUrl: model.url,
    log: silentLog,
    signal: new AbortController().signal,
    talk: () => undefined,
  });
  const own = `http://127.0.0.1:${files.address.port}`;
  return {
    url: new URL('/', serve.addresses.api ?? '').href,
    prepare: async (page) => {
      await page.route(/^[^?]*:\d+\/(?!api\/)/u, async (route) => {
        const { pathname, search } = new URL(route.request().url());
        const reply = await fetch(own + pathname + search);
        const contentType = reply.headers.get('content-type') ?? '';
        await route.fulfill({ contentType, body: Buffer.from(await reply.arrayBuffer()) });
      });
    },
    stop: async () => {
      await serve.stop();
      await Promise.all([model.close(), files.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
