import { chromium, type Browser } from 'playwright-core';
import { tellNotProved } from '../not-proved.ts';
import { findProgram } from '../processes/installed-program.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Finds a Chromium on this machine: that of SPANSCORE_CHROMIUM, else one on the path. */
function findChromium(): string | undefined {
  const named = process.env['SPANSCORE_CHROMIUM'];
  if (named !== undefined && named !== '') {
    return named;
  }
  return findProgram(...NAMES);
}

/** Returns true where there is a Chromium. Says loudly that the tests of the dashboard are left out where there is none. */
export function hasChromium(): boolean {
  if (findChromium() !== undefined) {
    return true;
  }
  tellNotProved(
    'the dashboard',
    'there is no Chromium here; apt-get install chromium, or set SPANSCORE_CHROMIUM',
  );
  return false;
}

/** Starts Chromium without a window. */
export async function startChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error('there is no Chromium: check hasChromium() first');
  }
  // A container has no user namespaces, and little shared memory.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
