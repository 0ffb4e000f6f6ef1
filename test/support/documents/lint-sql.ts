import type { Dashboard } from '../../../tools/deploy/grafana/dashboard.ts';

// Rules for queries to ClickHouse, from the documentation of Grafana's plugin and from the tests of its own dashboards.

/** Query of a dashboard. */
export interface SqlQuery {
  /** Title of its panel, label of its variable, or name of its annotation. */
  readonly where: string;
  readonly kind: 'panel' | 'annotation' | 'variable';
  readonly sql: string;
  /** Undefined for what is no panel. */
  readonly format?: 'timeseries' | 'table';
}

/** Rule, with the reason in its name. */
interface Rule {
  readonly name: string;
  readonly isBroken: (query: SqlQuery, variables: ReadonlySet<string>) => boolean;
}

/** Number of arguments of each macro of the plugin; `bare` macros have no parentheses. */
const MACROS: Readonly<Record<string, number | 'bare'>> = {
  conditionalAll: 2,
  dateFilter: 1,
  dateTimeFilter: 2,
  fromTime: 'bare',
  fromTime_ms: 'bare',
  interval_s: 'bare',
  timeFilter: 1,
  timeFilter_ms: 1,
  timeInterval: 1,
  timeInterval_ms: 1,
  toTime: 'bare',
  toTime_ms: 'bare',
};

/** A macro of the shown time. */
const SHOWN_TIME = /\$__(?:timeFilter|timeFilter_ms|dateFilter|dateTimeFilter|fromTime|fromTime_ms)\b/;

export const SQL_RULES = {
  quoted: {
    name: 'a variable without :singlequote is neither quoted nor escaped',
    isBroken: ({ sql }) => listVariables(withoutChoices(sql)).some(({ format }) => format !== 'singlequote'),
  },
  unquotedAround: {
    name: 'a variable between quotes is not escaped',
    isBroken: ({ sql }) => /'\$\{?\w+(?::\w+)?\}?'/.test(sql),
  },
  all: {
    name: 'a variable outside of $__conditionalAll finds nothing when all values are chosen',
    isBroken: ({ sql }) => listVariables(withoutConditions(sql)).length > 0,
  },
  plainChoice: {
    name: 'the second argument of $__conditionalAll is the plain variable of its condition',
    isBroken: ({ sql }) =>
      listMacros(sql).some(({ name, args }) => {
        const [condition = '', choice = ''] = args;
        const used = listVariables(condition).map((variable) => `$${variable.name}`);
        return name === 'conditionalAll' && !used.every((variable) => variable === choice.trim());
      }),
  },
  known: {
    name: 'a variable is one of the dashboard',
    isBroken: ({ sql }, variables) => listVariables(sql).some(({ name }) => !variables.has(name)),
  },
  macros: {
    name: 'a macro is one of the plugin, with as many arguments as it takes',
    isBroken: ({ sql }) =>
      listMacros(sql).some(({ name, args }) => {
        const wanted = MACROS[name];
        return wanted === undefined || (wanted !== 'bare' && wanted !== args.length);
      }),
  },
  time: {
    name: 'a panel and an annotation read the shown time only',
    isBroken: ({ kind, sql }) => kind !== 'variable' && !SHOWN_TIME.test(sql),
  },
  hasToken: {
    name: 'hasToken takes no text of a person: a space in it is an error',
    isBroken: ({ sql }) => /\bhasToken\w*\(/i.test(sql),
  },
  series: {
    name: 'a time series begins with the column time, and is ordered by it',
    isBroken: ({ format, sql }) =>
      format === 'timeseries' && !(/^SELECT (?:time|.+? AS time),/.test(sql) && /\bORDER BY time$/.test(sql)),
  },
  oneStatement: {
    name: 'a query is one statement, without FORMAT: the plugin chooses the format',
    isBroken: ({ sql }) => /;/.test(sql) || /\bFORMAT\s+\w+\s*$/i.test(sql),
  },
} as const satisfies Readonly<Record<string, Rule>>;

/** Returns all SQL of a dashboard. */
export function listSql({ rows, annotations, variables }: Dashboard): SqlQuery[] {
  return [
    ...rows.flatMap(({ panels }) =>
      panels.flatMap(({ title, targets }) =>
        targets.flatMap((target) =>
          target.kind === 'sql'
            ? [{ where: title, kind: 'panel', sql: target.sql, format: target.format } as const]
            : [],
        ),
      ),
    ),
    ...annotations.map(({ name, sql }) => ({ where: name, kind: 'annotation', sql }) as const),
    ...variables.flatMap((variable) =>
      variable.kind === 'sql'
        ? [{ where: variable.label, kind: 'variable', sql: variable.sql } as const]
        : [],
    ),
  ];
}

/** Returns the rules that a query of a dashboard breaks. */
export function findBrokenRules(query: SqlQuery, { variables }: Pick<Dashboard, 'variables'>): string[] {
  const names = new Set(variables.map(({ name }) => name));
  return Object.values<Rule>(SQL_RULES)
    .filter(({ isBroken }) => isBroken(query, names))
    .map(({ name }) => name);
}

interface UsedVariable {
  readonly name: string;
  readonly format?: string | undefined;
}

/** Returns the variables of a text: `$name`, `${name}`, `${name:format}`. Macros are none. */
function listVariables(sql: string): UsedVariable[] {
  return [...sql.matchAll(/\$(?:\{(\w+)(?::(\w+))?\}|(?!_)(\w+))/g)].map(([, braced, format, plain]) => ({
    name: braced ?? plain ?? '',
    format,
  }));
}

interface UsedMacro {
  readonly name: string;
  readonly args: readonly string[];
  /** Its text with the arguments. */
  readonly text: string;
}

/** Returns the macros of a text. Commas between parentheses of an argument separate nothing. */
function listMacros(sql: string): UsedMacro[] {
  return [...sql.matchAll(/\$__(\w+)/g)].map((match) => {
    const [head, name = ''] = match;
    const start = match.index + head.length;
    if (sql[start] !== '(' || MACROS[name] === 'bare') {
      return { name, args: [], text: head };
    }
    const args = [''];
    let depth = 0;
    let end = start;
    do {
      const character = sql[end] ?? ')';
      depth += character === '(' ? 1 : character === ')' ? -1 : 0;
      if (character === ',' && depth === 1) {
        args.push('');
      } else if (end > start && depth > 0) {
        args.push((args.pop() ?? '') + character);
      }
      end++;
    } while (depth > 0);
    return { name, args, text: sql.slice(match.index, end) };
  });
}

/** Returns the text without the second arguments of $__conditionalAll. */
function withoutChoices(sql: string): string {
  return replaceConditions(sql, ({ args: [condition = ''] }) => condition);
}

/** Returns the text without $__conditionalAll. */
function withoutConditions(sql: string): string {
  return replaceConditions(sql, () => '');
}

function replaceConditions(sql: string, replace: (macro: UsedMacro) => string): string {
  return listMacros(sql)
    .filter(({ name }) => name === 'conditionalAll')
    .reduce((text, macro) => text.replace(macro.text, () => replace(macro)), sql);
}
