import { stripTypeScriptTypes } from 'node:module';
import { type Expression, getLineInfo, parse, type Program, type Property } from 'acorn';
import type { Position } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';

/**
 * Finds the position of a value in the source of a configuration module. A value that is computed, spread or imported has
 * the position of the nearest object around it.
 */
export function modulePositions(source: string, path: string): (path: KeyPath) => Position | undefined {
  const program = parseProgram(path.endsWith('ts') ? withoutTypes(source) : source);
  const root = program === undefined ? undefined : exportedValue(program);
  return (keys) => {
    const offset = program === undefined ? undefined : findOffset(program, root, keys);
    return offset === undefined ? undefined : positionAt(source, offset);
  };
}

/** Replaces the types by blanks: every other character keeps its position. */
function withoutTypes(source: string): string {
  const emitWarning = process.emitWarning.bind(process);
  // Node warns that this function may change; the reader of a configuration fault does not need the warning.
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } catch {
    return '';
  } finally {
    process.emitWarning = emitWarning;
  }
}

function parseProgram(source: string): Program | undefined {
  try {
    return parse(source, { ecmaVersion: 'latest', sourceType: 'module' });
  } catch {
    return undefined;
  }
}

function positionAt(source: string, offset: number): Position {
  const { line, column } = getLineInfo(source, offset);
  return { line, column: column + 1 };
}

function exportedValue(program: Program): Expression | undefined {
  for (const statement of program.body) {
    if (statement.type === 'ExportDefaultDeclaration') {
      const { declaration } = statement;
      return 'body' in declaration ? undefined : findLiteral(program, declaration);
    }
  }
  return undefined;
}

/** Returns the object or list of an expression: follows `defineConfig(…)`, `await` and the name of a constant. */
function findLiteral(program: Program, expression: Expression): Expression | undefined {
  if (expression.type === 'CallExpression') {
    const [argument] = expression.arguments;
    return argument === undefined || argument.type === 'SpreadElement'
      ? undefined
      : findLiteral(program, argument);
  }
  if (expression.type === 'AwaitExpression') {
    return findLiteral(program, expression.argument);
  }
  return expression.type === 'Identifier' ? findConstant(program, expression.name) : expression;
}

function findConstant(program: Program, name: string): Expression | undefined {
  for (const statement of program.body) {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declaration?.type !== 'VariableDeclaration') {
      continue;
    }
    const found = declaration.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name);
    if (found?.init !== undefined && found.init !== null) {
      return found.init.type === 'Identifier' ? undefined : findLiteral(program, found.init);
    }
  }
  return undefined;
}

function findOffset(program: Program, root: Expression | undefined, path: KeyPath): number | undefined {
  let node = root;
  let offset: number | undefined;
  for (const step of path) {
    const member = node === undefined ? undefined : findMember(node, step);
    if (member === undefined) {
      return undefined;
    }
    offset = member.offset;
    node = findLiteral(program, member.value);
  }
  return offset;
}

function findMember(
  node: Expression,
  step: string | number,
): { offset: number; value: Expression } | undefined {
  if (node.type === 'ArrayExpression' && typeof step === 'number') {
    const before = node.elements.slice(0, step + 1);
    const element = before.at(step);
    const isSure = before.every((one) => one?.type !== 'SpreadElement');
    return isSure && element !== null && element !== undefined && element.type !== 'SpreadElement'
      ? { offset: element.start, value: element }
      : undefined;
  }
  if (node.type !== 'ObjectExpression') {
    return undefined;
  }
  const property = node.properties.findLast(
    (one): one is Property => one.type === 'Property' && findName(one) === String(step),
  );
  return property === undefined ? undefined : { offset: property.start, value: property.value };
}

function findName({ key, computed }: Property): string | undefined {
  if (key.type === 'Literal') {
    return String(key.value);
  }
  return key.type === 'Identifier' && !computed ? key.name : undefined;
}
