// Preloaded into a child process (`node --import`): prints every module that gets loaded, one URL a line, on stderr.
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';

registerHooks({
  load(url, context, nextLoad) {
    writeSync(2, `loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
