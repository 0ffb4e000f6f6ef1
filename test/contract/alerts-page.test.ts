import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildMonitorGroups } from '../../src/monitors/live/configured-monitors.ts';
import { monitorTestFileSchema } from '../../src/config/schema/monitor-tests.ts';
import { monitorFileSchema } from '../../src/config/schema/monitors.ts';
import { runMonitorTest } from '../../src/cli/commands/alerts.ts';

const page = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8');

/** The example that stands under a name. */
function example(name: string): unknown {
  const [, text] = new RegExp(`\`\`\`yaml\\n# ${name}\\n(.*?)\`\`\``, 's').exec(page) ?? [];
  return parse(text ?? '');
}

/** Every key that a schema knows, at any depth. */
function listKeys(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) {
    return [];
  }
  const own = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  return [...own, ...Object.values(schema).flatMap(listKeys)];
}

describe('docs/alerts.md', () => {
  it('has rules and expectations as examples that can be used, and the expectations hold', () => {
    const { groups } = monitorFileSchema.parse(example('monitors/quality.yaml'));
    const { tests } = monitorTestFileSchema.parse(example('monitors/quality.test.yaml'));
    const outcomes = tests.flatMap((test) => runMonitorTest(test, buildMonitorGroups(groups)));
    expect(outcomes.length).toBeGreaterThan(3);
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('documents every key', () => {
    const keys = new Set(listKeys(z.toJSONSchema(monitorFileSchema, { io: 'input' })));
    keys.delete('$schema');
    expect(keys.size).toBeGreaterThan(20);
    expect([...keys].filter((key) => !new RegExp(`\`${key}[\`:]`).test(page))).toEqual([]);
  });

  it('documents every detector', () => {
    const names = monitorFileSchema.shape.groups.element.shape.rules.element.options.map(
      (option) => option.shape.detector.value,
    );
    expect(names.filter((name) => !page.includes(`| \`${name}\``))).toEqual([]);
  });
});
