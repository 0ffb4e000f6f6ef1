import { writeFileSync } from 'node:fs';
import { configurationPage } from './configuration-page.ts';

/** Address of the page. */
export const CONFIGURATION_PAGE = new URL('../../docs/configuration.md', import.meta.url);

if (import.meta.main) {
  writeFileSync(CONFIGURATION_PAGE, configurationPage());
}
