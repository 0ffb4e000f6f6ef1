import { describe, expect, it } from 'vitest';
import { cleanLine, cleanText, safeJson } from '../../../../src/cli/show/clean-text.ts';
import { createOutput, table, type TextSink } from '../../../../src/cli/show/output.ts';

function recordingSink(accepts = () => true) {
  const written: string[] = [];
  const waiting: (() => void)[] = [];
  const sink: TextSink = {
    write: (text) => {
      written.push(String(text));
      return accepts();
    },
    once: (_event, listener) => waiting.push(listener),
    off: () => undefined,
  };
  return { sink, written, waiting };
}

describe('createOutput', () => {
  it('prints items for people on stdout and talk on stderr', async () => {
    const stdout = recordingSink();
    const stderr = recordingSink();
    const out = createOutput({ json: false, stdout: stdout.sink, stderr: stderr.sink });

    await out.item({ a: 1 }, () => 'a is 1');
    out.talk('note');

    expect(stdout.written).toEqual(['a is 1\n']);
    expect(stderr.written).toEqual(['note\n']);
  });

  it('prints one JSON line for each item with --json, and omits text for people', async () => {
    const stdout = recordingSink();
    const out = createOutput({ json: true, stdout: stdout.sink, stderr: recordingSink().sink });

    await out.item({ a: 1n }, () => 'x');
    await out.text('heading');
    await out.item({ b: 'two\nlines' }, () => 'x');

    expect(stdout.written).toEqual(['{"a":"1"}\n', '{"b":"two\\nlines"}\n']);
  });

  it.each([
    [true, String.raw`{"a":"x\u009b31m"}`, String.raw`\u001b]0;title\u0007,b\u000d`],
    [false, '{"a":"x\u009B31m"}', '\u001B]0;title\u0007,b\r'],
  ])('escapes control characters of an export on a terminal only: %s', async (isTTY, json, csv) => {
    const stdout = recordingSink();
    const out = createOutput({
      json: false,
      stdout: { ...stdout.sink, isTTY },
      stderr: recordingSink().sink,
    });

    await out.raw('{"a":"x\u009B31m"}\n');
    await out.raw('\u001B]0;title\u0007,b\r\n');

    expect(stdout.written).toEqual([`${json}\n`, `${csv}\n`]);
  });

  it('waits while the reader is slower', async () => {
    const stdout = recordingSink(() => false);
    const out = createOutput({ json: true, stdout: stdout.sink, stderr: recordingSink().sink });
    let done = false;

    const writing = out.item(1, () => '').then(() => (done = true));
    await Promise.resolve();

    expect(done).toBe(false);
    for (const proceed of stdout.waiting) {
      proceed();
    }
    await writing;
    expect(done).toBe(true);
  });
});

describe('text of traces on a terminal', () => {
  it('cannot move the cursor, colour, set a title or turn the direction', () => {
    const hostile = '\u001B[31mred\u001B[0m \u001B]0;title\u0007 a\rb \u009B2J \u202Edlrow\u202C\u0000 end';

    expect(cleanText(hostile)).not.toMatch(/[\p{Cc}\u202A-\u202E]/u);
    expect(cleanText(hostile)).toContain('red');
    expect(cleanText('two\nlines\tand a tab')).toBe('two\nlines\tand a tab');
  });

  it('is cut to one short line where a line is wanted', () => {
    expect(cleanLine('a\n  b\u001B[2J', 10)).toBe('a b');
    expect(cleanLine('x'.repeat(20), 10)).toBe(`${'x'.repeat(9)}…`);
  });

  it('is escaped in JSON, which stays the same value', () => {
    const value = { text: '\u009B2J \u202E \u007F \u001B[2J' };
    const text = safeJson(value);

    expect(text).not.toMatch(/[\p{Cc}\u202E]/u);
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe('table', () => {
  it('aligns its columns', () => {
    expect(
      table(
        ['A', 'LONG'],
        [
          ['xyz', 'b'],
          ['', 'c'],
        ],
      ),
    ).toBe('A    LONG\nxyz  b\n     c');
  });
});
