/** Writes the pictures of the dashboard in `docs/screenshots`, with the replies of the tests. Needs Chromium. */
import { fileURLToPath } from 'node:url';
import { startTestApi } from '../../test/support/api/start-test-api.ts';
import { buildDashboard } from '../../test/support/dashboard/build-dashboard.ts';
import { answerWith } from '../../test/support/dashboard/canned-api.ts';
import { FULL } from '../../test/support/dashboard/canned-replies.ts';
import { startChromium } from '../../test/support/dashboard/chromium.ts';
import { aSeries, TRACE } from '../../test/support/dashboard/reply-builders.ts';

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));

const DAYS = 15;
const FIRST_DAY_MS = Date.UTC(2026, 10, 8);
const dayAt = (day: number) => new Date(FIRST_DAY_MS + day * 86_400_000).toISOString();

/** Pass rates of two agents by day, of which one falls. */
function dailySeries() {
  const { items, groups, ...rest } = aSeries();
  const [point, group] = [items[0]!, groups[0]!];
  const agents = ['weather-agent', 'trip-planner'];
  return {
    ...rest,
    since: dayAt(0),
    until: dayAt(DAYS),
    bucket: '1d',
    groups: agents.map((agent) => ({ ...group, agent })),
    items: Array.from({ length: DAYS }, (_, day) =>
      agents.map((agent, index) => ({
        ...point,
        agent,
        bucket: dayAt(day),
        passRate: index === 0 && day > 9 ? 0.72 - (day % 3) / 20 : 0.94 + (day % 4) / 100,
      })),
    ).flat(),
    markers: [
      { service: 'weather', agent: 'weather-agent', version: '', agentVersion: '1.5.0', at: dayAt(10) },
    ],
    incidents: rest.incidents.map((incident) => ({ ...incident, startsAt: dayAt(11) })),
  };
}

/** Each picture: its page, and the name of what has to be there. */
const PICTURES = [
  { name: 'home', path: '/', shown: 'Worst answers of', height: 820 },
  { name: 'traces', path: '/traces', shown: '2 traces', height: 420 },
  { name: 'findings', path: `/traces/${TRACE}`, shown: 'contradicted', height: 700 },
  { name: 'incident', path: '/alerts/i-1', shown: 'Versions side by side', height: 900 },
  { name: 'coverage', path: '/coverage', shown: 'Eligible', height: 520 },
] as const;

const api = await startTestApi({ dashboard: await buildDashboard() });
const browser = await startChromium();
for (const { name, path, shown, height } of PICTURES) {
  const page = await browser.newPage({ viewport: { width: 1440, height }, colorScheme: 'light' });
  page.setDefaultTimeout(120_000);
  await answerWith(page, { ...FULL, '/series': dailySeries() });
  await page.goto(`http://127.0.0.1:${api.address.port}${path}`);
  await page.getByText(shown).first().waitFor();
  await page.screenshot({ path: `${folder}${name}.png` });
  await page.close();
}
await browser.close();
await api.stop();
