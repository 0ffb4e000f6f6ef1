/** Writes the pictures of the dashboard in `docs/screenshots`, over the made traces of `demo --keep`. Needs Chromium. */
import { fileURLToPath } from 'node:url';
import { startChromium } from '../../test/support/dashboard/chromium.ts';
import { startSeededServe } from '../../test/support/dashboard/seeded-serve.ts';

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));

interface Found {
  readonly items: readonly { readonly id: string; readonly incidentId: string; readonly traceId: string }[];
}

const seeded = await startSeededServe();
const browser = await startChromium();

/** Asks the API for the first item of a list. */
async function first(list: string): Promise<Found['items'][number]> {
  const reply = await fetch(`${seeded.url}api/v1/${list}`);
  const [item] = ((await reply.json()) as Found).items;
  if (item === undefined) {
    throw new Error(`${list} has no items`);
  }
  return item;
}

const { incidentId } = await first('alerts?limit=1');
const { id: issueId } = await first('issues?since=14d');
const { traceId } = await first('traces?order=worst&limit=1');

/** Each picture: its page, and the name of what has to be there. */
const PICTURES: readonly {
  readonly name: string;
  readonly path: string;
  readonly shown: string;
  readonly height: number;
  readonly width?: number;
  readonly theme?: 'dark';
}[] = [
  { name: 'home', path: '?since=7d', shown: 'Worst answers of', height: 900 },
  { name: 'home-dark', path: '?since=7d', shown: 'Worst answers of', height: 900, theme: 'dark' },
  { name: 'home-narrow', path: '?since=7d', shown: 'Worst answers of', height: 900, width: 390 },
  { name: 'traces', path: 'traces?since=7d', shown: '50 traces', height: 620 },
  { name: 'findings', path: `traces/${traceId}`, shown: 'contradicted', height: 700 },
  { name: 'findings-dark', path: `traces/${traceId}`, shown: 'contradicted', height: 700, theme: 'dark' },
  { name: 'findings-narrow', path: `traces/${traceId}`, shown: 'contradicted', height: 900, width: 390 },
  { name: 'incident', path: `alerts/${incidentId}`, shown: 'Versions side by side', height: 900 },
  { name: 'issue', path: `issues/${issueId}?since=14d`, shown: 'Where it occurs', height: 700 },
  { name: 'agent', path: 'agents/support-agent?since=7d', shown: 'Qualities by version', height: 760 },
  { name: 'coverage', path: 'coverage?since=7d', shown: 'Coverage by agent', height: 760 },
  { name: 'review', path: 'review?since=7d', shown: 'Evidence', height: 560 },
];

for (const { name, path, shown, height, width = 1440, theme = 'light' } of PICTURES) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
  page.setDefaultTimeout(120_000);
  await seeded.prepare(page);
  await page.goto(seeded.url + path);
  await page.getByText(shown).first().waitFor();
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: `${folder}${name}.png` });
  await page.close();
}
await browser.close();
await seeded.stop();
