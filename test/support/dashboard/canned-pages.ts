import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import { startTestApi } from '../api/start-test-api.ts';
import { buildDashboard } from './build-dashboard.ts';
import { answerWith, type CannedReplies } from './canned-api.ts';
import { FULL } from './canned-replies.ts';
import { hasChromium, startChromium } from './chromium.ts';
import { visit, type VisitOptions } from './dashboard-visit.ts';

/** Starts Chromium and a server of the dashboard for the tests of a file. */
export function useCannedPages() {
  let dashboard: DashboardFiles;
  let browser: Browser;
  let api: ApiServer;
  beforeAll(async () => {
    if (hasChromium()) {
      [dashboard, browser] = await Promise.all([buildDashboard(), startChromium()]);
      api = await startTestApi({ dashboard });
    }
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });
  const urlOf = (path: string, { address }: ApiServer = api) => `http://127.0.0.1:${address.port}${path}`;
  return {
    files: () => dashboard,
    urlOf,
    /** Opens a page of this server or of another one. */
    openRaw: (path: string, options?: VisitOptions, server?: ApiServer) =>
      visit(browser, urlOf(path, server), options),
    /** Opens a page whose requests these replies answer. */
    open: (path: string, replies: CannedReplies = FULL, { prepare, ...options }: VisitOptions = {}) =>
      visit(browser, urlOf(path), {
        ...options,
        prepare: async (page) => {
          await answerWith(page, replies);
          await prepare?.(page);
        },
      }),
  };
}
