import { PREBUILT_SCORERS, RECEIVERS } from '../../components.ts';
import { tlsIssues } from '../../config/tls-files.ts';
import { type Config, type ConfigIssue, readConfiguredMonitors } from '../../configuration.ts';
import { ConfigError } from '../../domain/errors.ts';
import { existsSync } from 'node:fs';

/**
 * Finds the faults of the things that a configuration names, which show only when they are read or loaded: files of monitors and
 * of TLS, and where they are to be loaded, modules of scorers.
 */
export async function partIssues(
  config: Config,
  { loadsModules }: { readonly loadsModules: boolean },
): Promise<ConfigIssue[]> {
  const { issues } = await readConfiguredMonitors(config, PREBUILT_SCORERS);
  return [...issues, ...tlsIssues(config, RECEIVERS), ...(loadsModules ? await moduleIssues(config) : [])];
}

/** Loads each module by itself, so that one that fails hides no other. A missing file is the configuration's own fault. */
async function moduleIssues(config: Config): Promise<ConfigIssue[]> {
  const names = Object.entries(config.scorers).flatMap(([name, { module }]) =>
    module !== undefined && existsSync(module) ? [name] : [],
  );
  const found = await Promise.all(names.map((name) => findLoadIssue(name, config)));
  return found.flat();
}

async function findLoadIssue(name: string, config: Config): Promise<ConfigIssue[]> {
  const { loadScorerKit } = await import('../../scoring/setup/scorer-kit.ts');
  const kit = await loadScorerKit({ ...config, rules: [] });
  try {
    await kit.prepareOwnRule('check', [name]);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) {
      const [, key, message = error.message] =
        /^scorers\.[^:]*?(\.module)?: (.*)$/s.exec(error.message) ?? [];
      return [{ path: ['scorers', name, ...(key === undefined ? [] : ['module'])], message }];
    }
    throw error;
  } finally {
    await kit.ownScorers.stop();
  }
}
