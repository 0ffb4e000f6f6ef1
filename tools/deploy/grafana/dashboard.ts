// Builders of Grafana's dashboards: the JSON model of a dashboard, as Grafana 11.6 and newer import it.

/** Panel that a dashboard shows. Its place follows from the order of panels. */
export interface Panel {
  readonly title: string;
  /** Description of the panel: its numbers, and how to read them. */
  readonly description: string;
  readonly type: 'timeseries' | 'table' | 'stat';
  /** Width in 24ths of the page. */
  readonly width: number;
  readonly unit: string;
  readonly targets: readonly Target[];
  /** Shortest interval between two points. Default: that of the data source. */
  readonly interval?: string;
  readonly stack?: 'normal' | 'percent';
  readonly min?: number;
}

/** Query of a panel; its letter follows from its place. */
export type Target =
  | { readonly kind: 'sql'; readonly sql: string; readonly format: 'timeseries' | 'table' }
  | { readonly kind: 'promql'; readonly expr: string; readonly legend: string };

/** Variable of a dashboard. */
type Variable =
  | { readonly kind: 'datasource'; readonly name: string; readonly label: string; readonly plugin: string }
  | { readonly kind: 'sql'; readonly name: string; readonly label: string; readonly sql: string };

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  /** Name and SQL of the marks on time axes. */
  readonly annotations: readonly { readonly name: string; readonly sql: string }[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const CLICKHOUSE = { type: 'grafana-clickhouse-datasource', uid: '${datasource}' } as const;
const PROMETHEUS = { type: 'prometheus', uid: '${prometheus}' } as const;

const PAGE_WIDTH = 24;
const PANEL_HEIGHT = 8;

/** Creates a panel with a line for each series. */
export function timeSeries(title: string, panel: Omit<Panel, 'title' | 'type'>): Panel {
  return { ...panel, title, type: 'timeseries' };
}

/** Creates a panel with a table. */
export function table(title: string, panel: Omit<Panel, 'title' | 'type'>): Panel {
  return { ...panel, title, type: 'table' };
}

/** Creates a panel with the latest numbers. */
export function stat(title: string, panel: Omit<Panel, 'title' | 'type'>): Panel {
  return { ...panel, title, type: 'stat' };
}

export function sqlSeries(sql: string): Target {
  return { kind: 'sql', sql, format: 'timeseries' };
}

export function sqlTable(sql: string): Target {
  return { kind: 'sql', sql, format: 'table' };
}

export function promql(expr: string, legend: string): Target {
  return { kind: 'promql', expr, legend };
}

/** Returns the JSON of a dashboard, as it is stored in deploy/grafana/dashboards. */
export function renderDashboard(dashboard: Dashboard): string {
  const { uid, title, description } = dashboard;
  const model = {
    uid,
    title,
    description,
    tags: ['spanscore'],
    schemaVersion: 41,
    timezone: 'browser',
    editable: true,
    graphTooltip: 1,
    refresh: '1m',
    time: { from: 'now-24h', to: 'now' },
    templating: { list: dashboard.variables.map(renderVariable) },
    annotations: { list: dashboard.annotations.map(renderAnnotation) },
    panels: placePanels(dashboard.rows),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}

function renderVariable(variable: Variable): Record<string, unknown> {
  const { name, label } = variable;
  if (variable.kind === 'datasource') {
    return { type: 'datasource', name, label, query: variable.plugin, refresh: 1 };
  }
  return {
    type: 'query',
    name,
    label,
    datasource: CLICKHOUSE,
    query: variable.sql,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { text: 'All', value: '$__all' },
  };
}

function renderAnnotation({ name, sql }: Dashboard['annotations'][number]): Record<string, unknown> {
  return {
    name,
    enable: true,
    iconColor: 'purple',
    datasource: CLICKHOUSE,
    target: { editorType: 'sql', format: 1, queryType: 'table', rawSql: sql, refId: 'A' },
  };
}

/** Places panels from left to right, each row of the dashboard below its title. */
function placePanels(rows: Dashboard['rows']): Record<string, unknown>[] {
  const placed: Record<string, unknown>[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    const gridPos = { x: 0, y, w: PAGE_WIDTH, h: 1 };
    placed.push({ id: placed.length + 1, type: 'row', title, collapsed: false, gridPos, panels: [] });
    y += 1;
    let x = 0;
    for (const panel of panels) {
      if (x + panel.width > PAGE_WIDTH) {
        x = 0;
        y += PANEL_HEIGHT;
      }
      const place = { x, y, w: panel.width, h: PANEL_HEIGHT };
      placed.push({ id: placed.length + 1, gridPos: place, ...renderPanel(panel) });
      x += panel.width;
    }
    y += PANEL_HEIGHT;
  }
  return placed;
}

function renderPanel(panel: Panel): Record<string, unknown> {
  const { title, description, type, unit, targets, interval, min } = panel;
  const isSql = targets.every(({ kind }) => kind === 'sql');
  return {
    type,
    title,
    description,
    datasource: isSql ? CLICKHOUSE : PROMETHEUS,
    ...(interval === undefined ? {} : { interval }),
    fieldConfig: {
      defaults: {
        unit,
        ...(min === undefined ? {} : { min }),
        ...(type === 'timeseries' ? { custom: renderLines(panel) } : {}),
      },
      overrides: [],
    },
    options: type === 'timeseries' ? { tooltip: { mode: 'multi', sort: 'desc' } } : {},
    targets: targets.map((target, index) => renderTarget(target, String.fromCodePoint(65 + index))),
  };
}

function renderLines({ stack }: Panel): Record<string, unknown> {
  return stack === undefined
    ? { lineWidth: 1, showPoints: 'auto', spanNulls: false }
    : { lineWidth: 1, fillOpacity: 60, showPoints: 'never', stacking: { mode: stack, group: 'A' } };
}

function renderTarget(target: Target, refId: string): Record<string, unknown> {
  if (target.kind === 'promql') {
    const { expr, legend } = target;
    return { refId, datasource: PROMETHEUS, expr, legendFormat: legend, range: true, instant: false };
  }
  const { sql, format } = target;
  return {
    refId,
    datasource: CLICKHOUSE,
    editorType: 'sql',
    format: format === 'timeseries' ? 0 : 1,
    queryType: format,
    rawSql: sql,
  };
}
