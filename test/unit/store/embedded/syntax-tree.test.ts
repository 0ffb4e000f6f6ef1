import { describe, expect, it } from 'vitest';
import { parseSyntaxTree } from '../../../../src/store/embedded/readers/syntax-tree.ts';

describe('a syntax tree of the engine', () => {
  it('has names without alias and number of children, and children by their level', () => {
    const printed = [
      'SelectQuery (children 2)',
      ' Function file (alias a (children 1)) (children 1)',
      '  ExpressionList (children 1)',
      "   Literal 'it\\'s (children 1)'",
      ' TableIdentifier system.one (alias b)',
      '',
    ].join('\n');

    expect(parseSyntaxTree(printed)).toEqual({
      kind: 'Root',
      text: '',
      children: [
        {
          kind: 'SelectQuery',
          text: '',
          children: [
            {
              kind: 'Function',
              text: 'file',
              children: [
                {
                  kind: 'ExpressionList',
                  text: '',
                  children: [{ kind: 'Literal', text: "'it\\'s (children 1)'", children: [] }],
                },
              ],
            },
            { kind: 'TableIdentifier', text: 'system.one', children: [] },
          ],
        },
      ],
    });
  });

  it('is refused with lines that are no nodes, or whose parent is missing', () => {
    expect(() => parseSyntaxTree('SelectQuery (children 1)\n`odd')).toThrow(/no node/);
    expect(() => parseSyntaxTree('SelectQuery (children 1)\n   Literal 1')).toThrow(/no node/);
  });
});
