import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { leaveOutBinary } from '../../../src/judge/binary-content.ts';

/** Bytes that look random, the same in each run. */
function noise(length: number, seed = 1): Buffer {
  let state = seed;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state >> 16;
    }),
  );
}

const data = noise(18_000).toString('base64');
const png = Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), noise(3000)]);
const python = [...noise(600)]
  .map((byte) =>
    byte > 31 && byte < 127 && byte !== 92 && byte !== 39
      ? String.fromCharCode(byte)
      : String.raw`\x${byte.toString(16).padStart(2, '0')}`,
  )
  .join('');

/** Files in a text or a value, and what must stand in their place. */
const FILES: readonly [what: string, value: unknown, mark: string][] = [
  ['an image of MCP', { content: [{ type: 'image', data, mimeType: 'image/png' }] }, '[image/png, 18 kB]'],
  ['a sound of MCP', { type: 'audio', data, mimeType: 'audio/wav' }, '[audio/wav, 18 kB]'],
  [
    'a resource of MCP',
    { resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: data } },
    '[application/pdf, 18 kB]',
  ],
  ['a data URL in an object', { shot: `data:image/png;base64,${data}` }, '[image/png, 18 kB]'],
  [
    'a data URL in Markdown',
    `see ![x](data:image/jpeg;base64,${data}) here`,
    '![x]([image/jpeg, 18 kB]) here',
  ],
  ['a data URL in HTML', `<img src='data:image/png;base64,${data}'/>`, "<img src='[image/png, 18 kB]'/>"],
  ['a data URL with a parameter', `data:text/csv;charset=utf-8;base64,${data}`, '[text/csv, 18 kB]'],
  [
    'a data URL of escaped text',
    `data:image/svg+xml;utf8,${'%3Csvg%20'.repeat(60)}`,
    '[image/svg+xml, 564 B]',
  ],
  ['a file part of the AI SDK', { type: 'file', mediaType: 'image/webp', data }, '[image/webp, 18 kB]'],
  ['an input_audio of OpenAI', { input_audio: { data, format: 'wav' } }, '[audio/wav, 18 kB]'],
  [
    'an image_url of OpenAI',
    { image_url: { url: `data:image/png;base64,${data}` } },
    '{"image_url":{"url":"[image/png, 18 kB]"}}',
  ],
  ['inline data of Gemini', { inline_data: { mime_type: 'image/png', data } }, '[image/png, 18 kB]'],
  [
    'a source of Anthropic',
    { source: { type: 'base64', media_type: 'image/gif', data } },
    '[image/gif, 18 kB]',
  ],
  ['bytes of Bedrock', { image: { format: 'png', source: { bytes: data } } }, '[image/png, 18 kB]'],
  ['a Buffer', png, '{"type":"Buffer","data":"[image/png, 3 kB]"}'],
  ['a short Buffer of zeros', Buffer.alloc(100), '{"type":"Buffer","data":"[binary data, 100 B]"}'],
  ['a Uint8Array', { shot: new Uint8Array(png) }, '{"shot":"[image/png, 3 kB]"}'],
  ['a list of bytes', { bytes: [...png] }, '{"bytes":"[image/png, 3 kB]"}'],
  ['a list of signed bytes', { bytes: [...new Int8Array(png)] }, '{"bytes":"[image/png, 3 kB]"}'],
  ['a list of bytes of no known file', { bytes: [...noise(3000)] }, '{"bytes":"[binary data, 3 kB]"}'],
  ['an indented list of bytes', JSON.stringify({ bytes: [...png] }, null, 2), '"[image/png, 3 kB]"'],
  ['bytes in Python', `b'${python}'`, "b'[binary data, 600 B]'"],
  ['base64 without a type', `file: ${png.toString('base64')}`, 'file: [image/png, 3 kB]'],
  ['base64 of zeros', Buffer.alloc(3000).toString('base64'), '[binary data, 3 kB]'],
  [
    'base64 of one case with a type',
    { mimeType: 'audio/wav', data: 'AQEB'.repeat(500) },
    '[audio/wav, 2 kB]',
  ],
  ['base64 for URLs', noise(3000).toString('base64url'), '[binary data, 3 kB]'],
  ['base64 in lines', data.replaceAll(/.{76}/g, '$&\n'), '[binary data, 18 kB]'],
  ['base64 in lines of Windows', data.replaceAll(/.{64}/g, '$&\r\n'), '[binary data, 18 kB]'],
  ['base64 in JSON of PHP', data.replaceAll('/', String.raw`\/`), '[binary data, 18 kB]'],
  ['base64 in JSON of .NET', data.replaceAll('+', String.raw`\u002B`), '[binary data, 18 kB]'],
  ['base64 in a form', encodeURIComponent(data), '[binary data, 18 kB]'],
  ['hex', `0x${png.toString('hex')}`, '[binary data, 3 kB]'],
  ['hex in capitals', png.toString('hex').toUpperCase(), '[binary data, 3 kB]'],
  ['the shortest run', noise(150).toString('base64'), '[binary data, 150 B]'],
];

/** Texts that are long and no files. */
const TEXTS: Readonly<Record<string, string>> = {
  'a long word': 'methionylthreonyl'.repeat(30),
  'a cry': `A${'a'.repeat(400)}h`,
  'a short token': noise(149).toString('base64url'),
  'a token in parts': [60, 120, 32].map((length) => noise(length).toString('base64url')).join('.'),
  'a hash': `sha512-${noise(64).toString('base64')}`,
  'a list of hashes': Array.from({ length: 10 }, (_, seed) => noise(32, seed).toString('hex')).join('\n'),
  'a list of ids': Array.from({ length: 60 }, (_, seed) => noise(21, seed).toString('base64url')).join('\n'),
  'ids in a row': '550e8400-e29b-41d4-a716-446655440000_'.repeat(9),
  'an address': `https://example.org/${'the-long-name-of-a-page-'.repeat(20)}?q=1#top`,
  'an address with a token': `https://news.example.org/articles/${noise(300).toString('base64url')}?oc=5`,
  'a path': '/Users/Anna/MyProject/src/Components/Deep'.repeat(8),
  'a slug': 'the-long-name-of-a-page-'.repeat(20),
  'a name in code': 'getWeatherForCityAndCountry'.repeat(10),
  'a constant in code': 'MAX_VALUE_OF_THE_THING_'.repeat(15),
  code: 'const a=(x)=>x.map(y=>y+1);'.repeat(30),
  'a rule': `|${'-'.repeat(300)}|\n${'='.repeat(300)}\n${'_'.repeat(300)}\n${'/'.repeat(300)}`,
  'a gene': 'ACGTTGCA'.repeat(60),
  digits: '314159'.repeat(60),
  temperatures: JSON.stringify(Array.from({ length: 365 }, (_, day) => (day * 7) % 41)),
  'heart rates': JSON.stringify(Array.from({ length: 600 }, (_, second) => 60 + ((second * 7) % 121))),
  'an embedding': JSON.stringify(Array.from({ length: 1536 }, (_, index) => Math.sin(index))),
  'a table': JSON.stringify(Array.from({ length: 100 }, (_, row) => [row, row + 1, row + 2])),
  'words in lines': 'alpha\nbeta\ngamma\n'.repeat(100),
  'words in escaped lines': String.raw`alpha\nbeta\ngamma\n`.repeat(100),
  Chinese: '今天天气很好'.repeat(100),
  'a small icon': 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
};

/** JSON of a value, and JSON with that JSON in it as a text, as tools give it. */
function nested(value: unknown): string[] {
  const once = typeof value === 'string' ? value : JSON.stringify(value);
  const twice = JSON.stringify({ result: once });
  return [once, twice, JSON.stringify({ result: twice })];
}

describe('a text for a judge', () => {
  it.each(FILES)('has a mark in place of %s, at each depth of JSON', (_what, value, mark) => {
    const texts = nested(value).map(leaveOutBinary);
    expect(texts[0]).toContain(mark);
    for (const text of texts) {
      expect(text).not.toMatch(/[A-Za-z0-9+/_-]{200}/);
      expect(text.length).toBeLessThan(400);
    }
    const inner = JSON.parse((JSON.parse(texts[2] ?? '') as { result: string }).result) as { result: string };
    expect(inner.result).toBe(texts[0]);
  });

  it.each(Object.entries(TEXTS))('keeps %s as it is', (_what, text) => {
    for (const written of nested(text)) {
      expect(leaveOutBinary(written)).toBe(written);
    }
  });

  it('keeps every recorded trace as it is', () => {
    const folder = new URL('../../fixtures/spans/', import.meta.url);
    const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    const changed = files.filter((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8');
      return leaveOutBinary(text) !== text;
    });
    expect(files.length).toBeGreaterThan(90);
    expect(changed).toEqual([]);
  });

  it('of 4 million characters is read within seconds', () => {
    const words = 'The quick brown fox jumps over https://a.example/c?d=e {"lazy":"dog"} '.repeat(60_000);
    const started = performance.now();
    leaveOutBinary(words + 'iVBORw0KGgoA'.repeat(100_000));
    leaveOutBinary(`[${'1,'.repeat(2_000_000)}`);
    leaveOutBinary(String.raw`\\\\`.repeat(1_000_000));
    expect(performance.now() - started).toBeLessThan(8000);
  });
});
