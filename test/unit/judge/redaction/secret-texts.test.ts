import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../../../src/judge/redaction/redaction.ts';
import { redactText } from '../../../../src/telemetry/redact-fields.ts';

/** Texts with secrets, and each as judges read it. A change of `judge` changes scores: it needs a new fingerprint. */
const TEXTS = JSON.parse(
  readFileSync(new URL('../../../fixtures/redaction/secrets.json', import.meta.url), 'utf8'),
) as { text: string; judge: string }[];

describe.each(TEXTS)('the text $text', ({ text, judge }) => {
  it('is redacted for judges as it always was', () => {
    expect(createRedactor().text(text)).toBe(judge);
  });

  it('keeps no secret in a log that it loses before a judge', () => {
    const logged = redactText(text);

    expect(createRedactor({ patterns: ['api-key', 'jwt', 'private-key'] }).text(logged)).toBe(logged);
  });
});
