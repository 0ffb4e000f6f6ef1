import { writeFileSync } from 'node:fs';
import { metricsPage } from '../support/metrics-page.ts';

// Writes the page about metrics from their list: `node test/docs/write-metrics-page.ts`.
writeFileSync(new URL('../../docs/metrics.md', import.meta.url), metricsPage());
