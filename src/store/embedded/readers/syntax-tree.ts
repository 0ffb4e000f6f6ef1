/** A node of the engine's syntax tree, as `EXPLAIN AST` prints it. */
export interface SyntaxNode {
  /** `Function`, `TableIdentifier`, `Subquery`, … */
  readonly kind: string;
  /** Behind the kind, without alias and number of children: the name of a function or table, a literal. */
  readonly text: string;
  readonly children: readonly SyntaxNode[];
}

/** `Function plus (alias sum) (children 1)`; kinds may hold colons (`ColumnsReplaceTransformer::Replacement`). */
const NODE = /^( *)([\w:]+)(?: (.*))?$/u;
const TRAILER = / ?(?:\((?:children \d+|alias .*)\))$/u;

/** Reads what `EXPLAIN AST` prints: a line for each node, a space in front for each level. Throws for anything else. */
export function parseSyntaxTree(printed: string): SyntaxNode {
  const root = { kind: 'Root', text: '', children: [] as SyntaxNode[] };
  const open: { children: SyntaxNode[] }[] = [root];
  for (const line of printed.split('\n').filter((text) => text !== '')) {
    const [, indent = '', kind, rest = ''] = NODE.exec(line) ?? [];
    const parent = open[indent.length];
    if (kind === undefined || parent === undefined) {
      throw new Error(`the engine's syntax tree has a line that is no node: ${line}`);
    }
    let text = rest;
    while (TRAILER.test(text)) {
      text = text.replace(TRAILER, '');
    }
    const node = { kind, text, children: [] as SyntaxNode[] };
    parent.children.push(node);
    open.length = indent.length + 1;
    open.push(node);
  }
  return root;
}
