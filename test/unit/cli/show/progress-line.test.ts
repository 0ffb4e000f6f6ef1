import { expect, it } from 'vitest';
import { createOutput } from '../../../../src/cli/show/output.ts';

/** Creates an output that keeps what it writes to stderr and stdout, in order. */
function anOutput(terminal: { isTTY?: boolean; columns?: number }) {
  const written: string[] = [];
  const write = (text: string) => {
    written.push(text);
    return true;
  };
  const [once, off] = [() => undefined, () => undefined];
  const out = createOutput({
    json: false,
    stdout: { write, once, off },
    stderr: { write, once, off, ...terminal },
  });
  return { out, written };
}

it('progress replaces its line on a terminal, cut to its width, and ends before other output', async () => {
  const { out, written } = anOutput({ isTTY: true, columns: 12 });
  out.progress('one of three');
  out.progress('two\u{1b}[31m of three');
  out.talk('a word');
  out.progress('three');
  await out.text('done');
  expect(written).toEqual([
    '\r\u{1b}[2Kone of thre',
    '\r\u{1b}[2Ktwo of thre',
    '\n',
    'a word\n',
    '\r\u{1b}[2Kthree',
    '\n',
    'done\n',
  ]);
});

it('progress is a line now and then where there is no terminal', () => {
  const { out, written } = anOutput({});
  out.progress('one of three');
  out.progress('two of three');
  expect(written).toEqual(['one of three\n']);
});
