import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createConfigControl } from '../../../src/config/config-control.ts';
import { configJsonSchema, loadConfig } from '../../../src/configuration.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { ConfigError, ForbiddenError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

const RULES = 'rules:\n  - name: production # ours\n    scorers: [keyword-coverage]\n';
const FASTER = { path: 'rules.production.sample.rate', value: 0.5 };

let file: string;
let others: number;
let countOthers: () => Promise<number>;
const prepare = vi.fn<() => Promise<void>>();
const commit = vi.fn<() => Promise<void>>();
const drop = vi.fn<() => Promise<void>>();

beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), 'control-')), 'spanscore.config.yaml');
  writeFileSync(file, RULES);
  others = 0;
  countOthers = async () => others;
  for (const mock of [prepare, commit, drop]) {
    mock.mockReset().mockResolvedValue(undefined);
  }
});

async function load(text?: string) {
  const { config } = await loadConfig({ path: file, text, variables: {}, scorers: PREBUILT_SCORERS });
  return { config, groups: [], modules: {} };
}

async function createControl() {
  return createConfigControl({
    source: { file, load },
    initial: await load(),
    schema: configJsonSchema(),
    prepare: async () => {
      await prepare();
      return { commit, drop };
    },
    countOthers: () => countOthers(),
    log: silentLog,
  });
}

describe('a reload', () => {
  it.each([
    [
      'applies a changed rule',
      `${RULES}    sample: { rate: 0.5 }\n`,
      { outcome: 'applied', revision: 2, changed: ['rules.production'] },
    ],
    ['leaves an equal file', `# a comment\n${RULES}`, { outcome: 'unchanged', revision: 1, changed: [] }],
    [
      'refuses a fault, and names its place',
      `${RULES}    sample: { rate: 7 }\n`,
      { outcome: 'refused', revision: 1, issues: [{ line: 4, path: 'rules[0].sample.rate' }] },
    ],
    [
      'refuses a change that needs a restart, with the rest of the file',
      `${RULES}    sample: { rate: 0.5 }\nlog: { level: debug }\n`,
      { outcome: 'refused', revision: 1, changed: [], issues: [], needsRestart: ['log.level'] },
    ],
    [
      'names the fault of a file with both',
      `log: { level: debug }\n${RULES}    sample: { rate: 7 }\n`,
      { outcome: 'refused', issues: [{ line: 5 }], needsRestart: [] },
    ],
  ])('%s', async (_, text, expected) => {
    const control = await createControl();
    writeFileSync(file, text);
    const answer = await control.reload();
    expect(answer).toMatchObject(expected);
    expect(commit).toHaveBeenCalledTimes(answer.outcome === 'applied' ? 1 : 0);
    expect(control.state()).toMatchObject({ file, revision: answer.revision, lastReload: answer });
  });

  it('refuses parts that cannot be made, and keeps its revision', async () => {
    const control = await createControl();
    writeFileSync(file, `${RULES}    sample: { rate: 0.5 }\n`);
    prepare.mockRejectedValueOnce(new ConfigError('scorers.a.module: a.mjs cannot be used'));
    expect(await control.reload()).toMatchObject({
      outcome: 'refused',
      issues: [{ message: 'scorers.a.module: a.mjs cannot be used' }],
    });
    expect(await control.reload()).toMatchObject({ outcome: 'applied', revision: 2 });
    expect(await control.reload()).toMatchObject({ outcome: 'unchanged', revision: 2 });
  });

  it('fails while the store is away, and can be tried again', async () => {
    const control = await createControl();
    writeFileSync(file, `${RULES}    sample: { rate: 0.5 }\n`);
    commit.mockRejectedValueOnce(new StoreUnavailableError('the store is away'));
    await expect(control.reload()).rejects.toThrow('the store is away');
    expect(control.state()).toMatchObject({ revision: 1, lastReload: null });
    expect(await control.reload()).toMatchObject({ outcome: 'applied', revision: 2 });
  });
});

describe('an apply', () => {
  const changed = RULES.replace(']\n', ']\n    sample:\n      rate: 0.5\n');

  it('writes the file, keeps the former version, and reloads', async () => {
    const control = await createControl();
    const answer = await control.apply([FASTER], { isDryRun: false });
    expect(answer).toMatchObject({
      applied: true,
      reason: null,
      file,
      reload: { outcome: 'applied', revision: 2 },
    });
    expect(answer.diff).toContain(
      '@@ -1,4 +1,6 @@\n rules:\n   - name: production # ours\n     scorers: [keyword-coverage]\n+    sample:\n+      rate: 0.5\n',
    );
    expect(readFileSync(file, 'utf8')).toBe(changed);
    expect(readFileSync(answer.backup ?? '', 'utf8')).toBe(RULES);
  });

  it.each([
    ['at a dry run', () => ({ isDryRun: true }), 'none'],
    [
      'while other processes would keep the former one',
      () => ((others = 2), { isDryRun: false }),
      '2 more scorer processes',
    ],
  ])('shows the diff and writes nothing %s', async (_, arrange, reason) => {
    const control = await createControl();
    const answer = await control.apply([FASTER], arrange());
    expect(answer).toMatchObject({ applied: false, backup: null, reload: null });
    expect(answer.diff).toContain('+      rate: 0.5');
    expect(answer.reason ?? 'none').toContain(reason);
    expect(readFileSync(file, 'utf8')).toBe(RULES);
    expect(drop).toHaveBeenCalledOnce();
  });

  it('writes nothing for a fault, and names it', async () => {
    const control = await createControl();
    const answer = await control.apply([{ ...FASTER, value: 7 }], { isDryRun: false });
    expect(answer).toMatchObject({
      applied: false,
      reload: { outcome: 'refused', issues: [{ path: 'rules[0].sample.rate' }] },
    });
    expect(readFileSync(file, 'utf8')).toBe(RULES);
  });

  it('refuses a path that no caller may change', async () => {
    const control = await createControl();
    const asked = [FASTER, { path: 'store.url', value: 'http://elsewhere' }];
    await expect(control.apply(asked, { isDryRun: true })).rejects.toThrow(ForbiddenError);
    await expect(control.apply(asked, { isDryRun: true })).rejects.toThrow('store.url');
  });

  it('puts the file back when the store does not take the change', async () => {
    const control = await createControl();
    commit.mockRejectedValueOnce(new StoreUnavailableError('the store is away'));
    await expect(control.apply([FASTER], { isDryRun: false })).rejects.toThrow('the store is away');
    expect(readFileSync(file, 'utf8')).toBe(RULES);
  });

  it('drops what it made ready when the store cannot count the other processes', async () => {
    const control = await createControl();
    countOthers = () => Promise.reject(new StoreUnavailableError('the store is away'));
    await expect(control.apply([FASTER], { isDryRun: false })).rejects.toThrow('the store is away');
    expect(drop).toHaveBeenCalledOnce();
    expect(readFileSync(file, 'utf8')).toBe(RULES);
  });

  it('drops what it made ready when the former version cannot be kept', async () => {
    const control = await createControl();
    vi.useFakeTimers({ toFake: ['Date'] });
    const backup = `${file}.${new Date().toISOString().replaceAll(/[:.]/gu, '-')}.bak`;
    writeFileSync(backup, 'taken');
    await expect(control.apply([FASTER], { isDryRun: false })).rejects.toThrow('EEXIST');
    vi.useRealTimers();
    expect(drop).toHaveBeenCalledOnce();
    expect(commit).not.toHaveBeenCalled();
    expect(readFileSync(file, 'utf8')).toBe(RULES);
  });

  it('shows what differs in a module, and leaves it', async () => {
    file = file.replace('.yaml', '.mjs');
    const text = "export default { rules: [{ name: 'production', scorers: ['keyword-coverage'] }] };\n";
    writeFileSync(file, text);
    const control = await createControl();
    const answer = await control.apply([FASTER], { isDryRun: false });
    expect(answer).toMatchObject({ applied: false, backup: null });
    expect(answer.diff).toContain('+        "rate": 0.5');
    expect(readdirSync(join(file, '..'))).toHaveLength(2);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('reads a changed module again', async () => {
    file = file.replace('.yaml', '.mjs');
    writeFileSync(file, 'export default { rules: [] };\n');
    const control = await createControl();
    writeFileSync(file, "export default { rules: [{ name: 'a', scorers: ['keyword-coverage'] }] };\n");
    expect(await control.reload()).toMatchObject({ outcome: 'applied', changed: ['rules.a'] });
  });
});
