import { existsSync } from 'node:fs';
import { PREBUILT_SCORERS } from '../components.ts';
import { type Config, type ConfigIssue, readConfiguredMonitors } from '../config/index.ts';
import { tlsIssues } from '../config/tls-files.ts';
import { ConfigError } from '../domain/errors.ts';
import { openScorerKit } from './scorer-kit.ts';

/**
 * Finds faults that show only when a part is read or created: monitor files, TLS files, options of prebuilt scorers, and,
 * when they are to be loaded, modules of scorers.
 */
export async function partIssues(
  config: Config,
  { loadsModules }: { readonly loadsModules: boolean },
): Promise<ConfigIssue[]> {
  const { issues } = await readConfiguredMonitors(config);
  return [...issues, ...tlsIssues(config), ...(await scorerIssues(config, loadsModules))];
}

/** Creates each scorer alone, so that one failure hides no other. */
async function scorerIssues(config: Config, loadsModules: boolean): Promise<ConfigIssue[]> {
  const named = config.rules.flatMap((rule) => rule.scorers);
  const names = [...new Set([...Object.keys(config.scorers), ...named])];
  const found = await Promise.all(
    names
      .filter((name) => isMakeable(name, config, loadsModules))
      .map((name) => findCreationIssue(name, config)),
  );
  return found.flat();
}

/** False for scorers whose fault is in the configuration alone. */
function isMakeable(name: string, { scorers, judges }: Config, loadsModules: boolean): boolean {
  const entry = Object.hasOwn(scorers, name) ? scorers[name] : undefined;
  if (entry?.module !== undefined) {
    return loadsModules && existsSync(entry.module);
  }
  const prebuilt = PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name));
  return prebuilt !== undefined && (!prebuilt.needsJudge || (entry?.judge ?? judges.default) !== undefined);
}

async function findCreationIssue(name: string, config: Config): Promise<ConfigIssue[]> {
  const kit = await openScorerKit({ ...config, rules: [] });
  try {
    await kit.prepareOwnRule('check', [name]);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) {
      return [buildIssue(name, error.message, config)];
    }
    throw error;
  } finally {
    await kit.guests.stop();
  }
}

/** Returns the issue at the key of the cause: the module, the options, or the name in a rule. */
function buildIssue(name: string, text: string, { rules, scorers }: Config): ConfigIssue {
  const [, key, message = text] = new RegExp(`^scorers\\.[^:]*?(\\.module)?: (.*)$`, 's').exec(text) ?? [];
  if (Object.hasOwn(scorers, name)) {
    const member = key === undefined ? (scorers[name]?.options === undefined ? [] : ['options']) : ['module'];
    return { path: ['scorers', name, ...member], message };
  }
  const rule = rules.findIndex((one) => one.scorers.includes(name));
  return { path: ['rules', rule, 'scorers', rules[rule]?.scorers.indexOf(name) ?? 0], message };
}
