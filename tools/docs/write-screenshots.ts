/** Writes the pictures of the dashboard in `docs/screenshots`, with the replies of the tests. Needs Chromium. */
import { fileURLToPath } from 'node:url';
import { startTestApi } from '../../test/support/api/start-test-api.ts';
import { buildDashboard } from '../../test/support/dashboard/build-dashboard.ts';
import { answerWith } from '../../test/support/dashboard/canned-api.ts';
import { FULL } from '../../test/support/dashboard/canned-replies.ts';
import { startChromium } from '../../test/support/dashboard/chromium.ts';
import { aTrace, TRACE } from '../../test/support/dashboard/reply-builders.ts';

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));

/** Each picture: its page, and the name of what has to be there. */
const PICTURES = [
  { name: 'overview', path: '/', shown: 'Scorers', height: 460 },
  {
    name: 'findings',
    path: `/traces/${TRACE}?tab=findings&claim=${aTrace().scores[0]?.scoreId}-1`,
    shown: 'Evidence',
    height: 700,
  },
  { name: 'coverage', path: '/coverage', shown: 'Coverage by scorer', height: 420 },
] as const;

const api = await startTestApi({ dashboard: await buildDashboard() });
const browser = await startChromium();
for (const { name, path, shown, height } of PICTURES) {
  const page = await browser.newPage({ viewport: { width: 1480, height }, colorScheme: 'light' });
  await answerWith(page, FULL);
  await page.goto(`http://127.0.0.1:${api.address.port}${path}`);
  await page.getByText(shown).first().waitFor();
  await page.screenshot({ path: `${folder}${name}.png` });
  await page.close();
}
await browser.close();
await api.stop();
