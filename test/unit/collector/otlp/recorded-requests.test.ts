import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeRequest, type Signal } from '../../../../collector/otlp/decode-request.ts';
import { type Json, requestBytes } from '../../../support/builders/otlp-proto-writer.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/spans');
const FILES = readdirSync(FIXTURES).filter((name) => name.endsWith('.jsonl'));

describe('recorded requests of real instrumentations', () => {
  it.each(FILES)('give the same rows as protobuf and as JSON: %s', (name) => {
    const signal: Signal = name.endsWith('.logs.jsonl') ? 'logs' : 'traces';
    const lines = readFileSync(join(FIXTURES, name), 'utf8').split('\n').filter(Boolean);
    for (const line of lines) {
      const json = decodeRequest(signal, 'json', Buffer.from(line), '');
      const proto = decodeRequest(signal, 'protobuf', requestBytes(JSON.parse(line) as Json), '');
      expect(json.rejected).toBe(0);
      expect(json.rows + json.dropped).toBeGreaterThan(0);
      expect({ ...proto, pieces: [] }).toEqual({ ...json, pieces: [] });
      expect(
        Buffer.concat(proto.pieces.map(({ bytes }) => bytes)).equals(
          Buffer.concat(json.pieces.map(({ bytes }) => bytes)),
        ),
      ).toBe(true);
    }
  });
});
