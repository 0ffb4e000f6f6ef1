import { type Alias, isMap, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLError } from 'yaml';
import { readErrorMessage } from '../../domain/errors.ts';
import { hideReferences, showReferences } from '../environment-references.ts';
import type { KeyPath } from '../key-path.ts';
import type { Position } from '../faults/config-issue.ts';

/** A parsed text. */
export interface ParsedText {
  readonly value: unknown;
  readonly faults: readonly { readonly position: Position; readonly message: string }[];
  readonly brokenFrom: number | undefined;
  /** Returns the position of a path in the text; undefined when the text does not have it. */
  readonly findPosition: (path: KeyPath) => Position | undefined;
}

type ParsedDocument = ReturnType<typeof parseDocument>;

/** Parses YAML or JSON as far as it is readable, and finds every syntax fault. */
export function readYaml(text: string): ParsedText {
  const lines = new LineCounter();
  const document = parseDocument(hideReferences(text), { lineCounter: lines, prettyErrors: false });
  const positionAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const buildFault = (error: YAMLError) => ({
    position: positionAt(error.pos[0]),
    message:
      adviceFor(error, text.slice(error.pos[0], error.pos[0] + 80)) ?? String(showReferences(error.message)),
  });
  const value = toValue(document);
  return {
    value: showReferences(value.value) ?? {},
    faults: [
      ...document.errors.map(buildFault),
      ...document.warnings.map(buildFault),
      ...(value.fault === undefined
        ? []
        : [{ position: positionAt(value.offset ?? 0), message: value.fault }]),
    ],
    brokenFrom: firstBreak(document, value.fault, positionAt),
    findPosition: (path) => {
      const offset = findOffset(document, path);
      return offset === undefined ? undefined : positionAt(offset);
    },
  };
}

/** Returns the first line after which the syntax is unclear. A duplicate key makes nothing unclear. */
function firstBreak(
  { errors }: ParsedDocument,
  fault: string | undefined,
  positionAt: (offset: number) => { line: number },
): number | undefined {
  const breaks = errors
    .filter(({ code }) => code !== 'DUPLICATE_KEY')
    .map(({ pos }) => positionAt(pos[0]).line);
  return fault === undefined && breaks.length === 0 ? undefined : Math.min(1e9, ...breaks);
}

function adviceFor({ code, message }: YAMLError, faulty: string): string | undefined {
  if (code === 'DUPLICATE_KEY') {
    const key = /^[\w.$"'-]+/.exec(faulty)?.[0] ?? 'a key';
    return `${key} is written twice in its group; join the two, or remove one`;
  }
  if (code === 'TAB_AS_INDENT') {
    return 'this line is indented with a tab; YAML allows only spaces';
  }
  return code === 'TAG_RESOLVE_FAILED'
    ? `${message}; for an environment variable write \${env:NAME}`
    : undefined;
}

/** Returns the offset of the key at a path (a value may be lines below its key); for a list item, the start of the item. */
function findOffset(document: ParsedDocument, path: KeyPath): number | undefined {
  const last = path.at(-1);
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const pair = isMap(parent)
    ? parent.items.find((item) => isScalar(item.key) && showReferences(item.key.value) === last)
    : undefined;
  const node: unknown = pair?.key ?? document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

function toValue(document: ParsedDocument): { value?: unknown; fault?: string; offset?: number | undefined } {
  const endless = findEndless(document);
  if (endless !== undefined) {
    return {
      fault: `*${endless.source} stands inside the group &${endless.source} that it repeats; write the values out`,
      offset: endless.range?.[0],
    };
  }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown };
  } catch (cause) {
    return { fault: readErrorMessage(cause) };
  }
}

/** Finds an alias inside the node that it repeats: its value would have no end. */
function findEndless(document: ParsedDocument): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias(_, alias, path) {
      const target = alias.resolve(document);
      if (target !== undefined && path.some((node) => node === target)) {
        found = alias;
        return visit.BREAK;
      }
      return undefined;
    },
  });
  return found;
}
