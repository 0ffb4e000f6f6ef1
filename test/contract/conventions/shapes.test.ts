import { describe, expect, it } from 'vitest';
import {
  listExpectedShapes,
  listSaid,
  listShapes,
  readShape,
  readShapeFiles,
} from '../../support/recordings/shapes.ts';

const shapes = listExpectedShapes();

describe('a shape in which another project recorded an emitter', () => {
  it.each(shapes)('%s is read right', (name, expected) => {
    expect(readShape(readShapeFiles(name), expected)).toEqual(expected);
  });

  it.each(shapes)('%s leaves no span that is not understood', (name) => {
    expect(readShapeFiles(name).flatMap(({ notUnderstood }) => notUnderstood)).toEqual([]);
  });

  it.each(shapes.filter(([, { forbid }]) => forbid !== undefined))(
    '%s has no message with the forbidden text',
    (name, { forbid = [] }) => {
      const said = listSaid(readShapeFiles(name));
      expect(said).not.toEqual([]);
      expect(
        said.filter((text) => forbid.some((one) => text.includes(JSON.stringify(one).slice(1, -1)))),
      ).toEqual([]);
    },
  );

  it.each(shapes.filter(([, { notScorable }]) => notScorable?.adviceNames !== undefined))(
    '%s names the setting of its own emitter',
    (name, { notScorable }) => {
      const details = readShapeFiles(name).flatMap(({ runs }) =>
        runs.map((run) => run.notScorable?.detail ?? ''),
      );
      expect(details.join('\n')).toContain(notScorable?.adviceNames);
      expect(details.join('\n')).not.toContain(notScorable?.adviceMustNotName);
    },
  );
});

it('every shape has an expectation', () => {
  expect(shapes.map(([name]) => name).toSorted()).toEqual(listShapes());
});
