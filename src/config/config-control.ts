import { readFile, writeFile, access, constants } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { ConfigError, ForbiddenError, readErrorMessage, RequestError } from '../domain/errors.ts';
import { formatCount } from '../domain/plural.ts';
import { type ReportedIssue, reportedIssues } from './faults/config-issue.ts';
import { type AskedChange, changeConfigText, changeConfigValue, formatDiff } from './files/change-file.ts';
import { readConfigFile } from './files/config-file.ts';
import type { JsonSchemaNode } from './json-schema.ts';
import { compareConfigs, type LoadedParts } from './revision.ts';

export interface ReloadAnswer {
  readonly outcome: 'applied' | 'unchanged' | 'refused';
  readonly revision: number;
  /** Time of the answer, ISO 8601. */
  readonly at: string;
  readonly changed: readonly string[];
  readonly issues: readonly ReportedIssue[];
  readonly needsRestart: readonly string[];
}

export interface ApplyAnswer {
  readonly diff: string;
  /** True when the file is written and in force. */
  readonly applied: boolean;
  /** Reason why the file was not written; null when it was, and at a dry run. */
  readonly reason: string | null;
  readonly file: string;
  /** Path of the former version; null when the file was not written. */
  readonly backup: string | null;
  /** The reload; null when there was none. */
  readonly reload: ReloadAnswer | null;
}

/** Configuration that a process has in force. */
export interface ConfigState {
  readonly file: string | null;
  /** Count of the revisions since the start, from 1. */
  readonly revision: number;
  readonly loadedAt: string;
  readonly lastReload: ReloadAnswer | null;
}

/** Configuration of a process, which can change. */
export type ConfigControl = ReturnType<typeof createConfigControl>;

/** Place of the configuration of a process. */
export interface ConfigSource<Parts extends LoadedParts> {
  /** Absolute path of the file; undefined without one. */
  readonly file: string | undefined;
  /**
   * Loads the configuration and what it names. Throws a `ConfigError` that lists every fault.
   * @param text content to read in place of the file's
   */
  load(text?: string): Promise<Parts>;
}

export interface ConfigControlDeps<Parts extends LoadedParts> {
  readonly source: ConfigSource<Parts>;
  /** Parts in force at the start. */
  readonly initial: Parts;
  readonly schema: JsonSchemaNode;
  /**
   * Makes everything ready that can fail. Returns the function that puts it in force, and one that drops it. Throws a `ConfigError` for
   * parts that cannot be used, and when the store does.
   */
  readonly prepare: (parts: Parts) => Promise<PreparedRevision>;
  /** Counts the other processes on the store, which would not reload. */
  readonly countOthers: () => Promise<number>;
  readonly log: {
    info(message: string, fields: Readonly<Record<string, unknown>>): void;
    warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  };
}

/** A revision that is ready to be in force. */
export interface PreparedRevision {
  /** Throws, and changes nothing, when the store cannot be written. Then `drop` follows. */
  commit(): Promise<void>;
  drop(): Promise<void>;
}

type Attempt =
  | { readonly refused: ReloadAnswer }
  | {
      readonly commit: () => Promise<ReloadAnswer>;
      /** Drops what was made ready. A second call waits for the first. */
      readonly drop: () => Promise<void>;
    };

export function createConfigControl<Parts extends LoadedParts>(deps: ConfigControlDeps<Parts>) {
  const control = new FileControl(deps);
  let last: Promise<unknown> = Promise.resolve();
  const alone = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const run = last.then(work);
    last = run.catch(() => undefined);
    return run;
  };
  return {
    /** Reads the file again, and puts it in force: all of it, or nothing. One call waits for the other. */
    reload: () => alone(() => control.reload()),
    /** Changes the file, and reloads. Throws a `ForbiddenError` for a path that no caller may change. */
    apply: (changes: readonly AskedChange[], { isDryRun }: { readonly isDryRun: boolean }) =>
      alone(() => control.apply(changes, isDryRun)),
    state: () => control.state,
  };
}

/** Control of a configuration file, for one caller at a time. */
class FileControl<Parts extends LoadedParts> {
  readonly #deps: ConfigControlDeps<Parts>;
  #current: Parts;
  state: ConfigState;

  constructor(deps: ConfigControlDeps<Parts>) {
    this.#deps = deps;
    this.#current = deps.initial;
    const file = deps.source.file ?? null;
    this.state = { file, revision: 1, loadedAt: new Date().toISOString(), lastReload: null };
  }

  async reload(): Promise<ReloadAnswer> {
    const tried = await this.#attempt();
    return this.#note('refused' in tried ? tried.refused : await tried.commit());
  }

  async apply(changes: readonly AskedChange[], isDryRun: boolean): Promise<ApplyAnswer> {
    const { source, schema } = this.#deps;
    const { file } = source;
    if (file === undefined) {
      throw new RequestError(
        'this process has no configuration file: write spanscore.config.yaml, and restart it',
      );
    }
    const shown = { applied: false, reason: null, file, backup: null, reload: null };
    if (isModule(file)) {
      const { value } = await readConfigFile(file);
      const after = changeConfigValue(value, changes, schema);
      refuseForbidden(after.forbidden);
      const diff = formatDiff(basename(file), formatValue(value), formatValue(after.value));
      return { ...shown, diff, reason: 'a module is changed by hand: the diff shows its value' };
    }
    const text = await readFile(file, 'utf8');
    const after = changeConfigText(text, changes, { schema, isJson: extname(file) === '.json' });
    refuseForbidden(after.forbidden);
    const diff = formatDiff(basename(file), text, after.text);
    const tried = await this.#attempt(after.text);
    if ('refused' in tried) {
      return { ...shown, diff, reload: tried.refused };
    }
    try {
      const reason = await this.#findObstacle(file);
      if (isDryRun || reason !== null) {
        await tried.drop();
        return { ...shown, diff, reason: isDryRun ? null : reason };
      }
      const backup = `${file}.${new Date().toISOString().replaceAll(/[:.]/gu, '-')}.bak`;
      await writeFile(backup, text, { mode: 0o600, flag: 'wx' });
      try {
        // The file keeps its own mode.
        await writeFile(file, after.text, { mode: 0o600 });
        return { ...shown, diff, applied: true, backup, reload: this.#note(await tried.commit()) };
      } catch (error) {
        await writeFile(file, text, { mode: 0o600 });
        throw error;
      }
    } catch (error) {
      await tried.drop();
      throw error;
    }
  }

  #answer(parts: Partial<ReloadAnswer> & Pick<ReloadAnswer, 'outcome'>): ReloadAnswer {
    const { revision } = this.state;
    return { revision, at: new Date().toISOString(), changed: [], issues: [], needsRestart: [], ...parts };
  }

  /** Keeps the answer for the status, and logs it. */
  #note(answer: ReloadAnswer): ReloadAnswer {
    const { log } = this.#deps;
    this.state = { ...this.state, lastReload: answer };
    const { outcome, revision, changed, issues, needsRestart } = answer;
    if (outcome === 'refused') {
      const faults = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
      const why = issues.length > 0 ? { faults } : { needsRestart };
      log.warn('the configuration is not reloaded: nothing has changed', { ...why, revision });
    } else {
      log.info('the configuration is reloaded', { outcome, revision, changed });
    }
    return answer;
  }

  /** Loads the configuration, and makes it ready when it differs and can be in force. */
  async #attempt(text?: string): Promise<Attempt> {
    const { source, prepare } = this.#deps;
    try {
      const parts = await source.load(text);
      const { changed, needsRestart } = compareConfigs(this.#current, parts);
      if (needsRestart.length > 0) {
        return { refused: this.#answer({ outcome: 'refused', needsRestart }) };
      }
      if (changed.length === 0) {
        return { refused: this.#answer({ outcome: 'unchanged' }) };
      }
      const ready = await prepare(parts);
      let dropped: Promise<void> | undefined;
      const drop = () => (dropped ??= ready.drop());
      const commit = async () => {
        try {
          await ready.commit();
        } catch (error) {
          await drop();
          throw error;
        }
        this.#current = parts;
        const revision = this.state.revision + 1;
        this.state = { ...this.state, revision, loadedAt: new Date().toISOString() };
        return this.#answer({ outcome: 'applied', changed });
      };
      return { commit, drop };
    } catch (error) {
      if (error instanceof ConfigError) {
        return { refused: this.#answer({ outcome: 'refused', issues: listFaults(error) }) };
      }
      throw error;
    }
  }

  /** Finds the reason why this process must not write the file. */
  async #findObstacle(file: string): Promise<string | null> {
    const others = await this.#deps.countOthers();
    if (others > 0) {
      return `${formatCount(others, 'more scorer process', 'more scorer processes')} on this store would keep the former configuration: change the file of each, and reload each`;
    }
    const fault = await access(file, constants.W_OK).catch((error: unknown) => error);
    return fault === undefined ? null : `${file} cannot be written: ${readErrorMessage(fault)}`;
  }
}

function refuseForbidden(paths: readonly string[]): void {
  if (paths.length > 0) {
    throw new ForbiddenError(
      `${paths.join(', ')}: is changed in the file only; rules, monitors, budgets, prices, and scorers without a module can be changed here`,
    );
  }
}

/** Lists the faults of an error. An error without a list, like an unreadable file, is one fault. */
export function listFaults(error: ConfigError): readonly ReportedIssue[] {
  const issues = reportedIssues(error);
  const { message } = error;
  return issues.length > 0
    ? issues
    : [{ file: null, line: null, column: null, source: 'default', path: '', message }];
}

function isModule(file: string): boolean {
  return /\.m?[jt]s$/u.test(file);
}

function formatValue(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
