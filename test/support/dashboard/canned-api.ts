import type { Page } from 'playwright-core';
import type { ReadPath, Replies } from '../../../src/dashboard/api-types.ts';

/** Replies of a scripted API, by path. A path without one has no route. */
export type CannedReplies = { readonly [Path in ReadPath]?: Replies[Path] };

/** A refusal of a scripted API. */
export interface CannedProblem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

/** Answers the requests of a page with these replies instead of those of the server. Returns the requests. */
export async function answerWith(page: Page, replies: CannedReplies): Promise<URL[]> {
  const requests: URL[] = [];
  const patterns = Object.entries(replies).map(([path, reply]) => ({
    pattern: new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
    reply: reply as unknown,
  }));
  await page.route('**/api/v1/**', async (route) => {
    const url = new URL(route.request().url());
    requests.push(url);
    const found = patterns.find(({ pattern }) => pattern.test(url.pathname));
    await (found === undefined
      ? route.fulfill({ status: 404, json: { title: 'Not found', detail: 'no such route' } })
      : route.fulfill({ status: 200, json: found.reply }));
  });
  return requests;
}

/** Refuses every request of a page. */
export async function refuseWith(page: Page, problem: CannedProblem): Promise<void> {
  await page.route('**/api/v1/**', (route) => route.fulfill({ status: problem.status, json: problem }));
}
