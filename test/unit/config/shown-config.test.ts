import { expect, it } from 'vitest';
import { configJsonSchema, parseConfig, withoutSecrets } from '../../../src/configuration.ts';

const SECRET = 'hunter2-the-secret';

const config = parseConfig({
  store: {
    url: `http://127.0.0.1:8123`,
    password: SECRET,
    purgeKey: `${SECRET}-purge-key-of-32-characters`,
  },
  auth: { tokens: [{ name: 'team', token: `${SECRET}-token`, tenant: 'a', scopes: ['read'] }] },
  judges: {
    providers: { openai: { apiKey: SECRET }, local: { baseURL: `http://user:${SECRET}@127.0.0.1:1/v1` } },
  },
  scorers: { mine: { use: 'rubric', options: { rubric: 'short', apiKey: SECRET } } },
  exporters: {
    otlp: { endpoint: 'http://127.0.0.1:4328', headers: { 'x-any': SECRET } },
    webhook: { url: `https://example.com/${SECRET}`, secret: SECRET },
    langfuse: { endpoint: 'https://example.com', publicKey: SECRET, secretKey: SECRET },
  },
  sources: {
    files: { files: 's3://a/**', s3: { accessKeyId: SECRET, secretAccessKey: SECRET, sessionToken: SECRET } },
  },
  alerts: {
    slack: [{ url: `https://hooks.example.com/${SECRET}` }],
    pagerduty: [{ routingKey: SECRET }],
    webhook: [{ url: `https://example.com/${SECRET}`, secret: SECRET }],
  },
} as never);

it('shows no secret of any field, and all else', () => {
  const shown = withoutSecrets(config);
  expect(JSON.stringify(config).split(SECRET).length).toBeGreaterThan(8);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(shown).toMatchObject({
    store: { url: 'http://127.0.0.1:8123', password: '[redacted]' },
    auth: { tokens: [{ name: 'team', token: '[redacted]', tenant: 'a' }] },
    scorers: { mine: { options: { rubric: 'short', apiKey: '[redacted]' } } },
  });
});

it('has every field of the schema that holds a secret in the test above', () => {
  const names = new Set<string>();
  const walk = (node: unknown, name: string): void => {
    if (node === null || typeof node !== 'object') {
      return;
    }
    const { writeOnly } = node as { writeOnly?: unknown };
    if (writeOnly === true) {
      names.add(name);
    }
    for (const [key, child] of Object.entries(node)) {
      walk(
        child,
        ['additionalProperties', 'items', 'anyOf', 'oneOf'].includes(key) || /^\d+$/u.test(key) ? name : key,
      );
    }
  };
  walk(configJsonSchema(), '');
  const text = JSON.stringify(withoutSecrets(config));
  const missing = [...names].filter((name) => !text.includes(`"${name}"`));
  expect(names.size).toBeGreaterThan(5);
  expect(missing).toEqual([]);
});
