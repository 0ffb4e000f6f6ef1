/** Form of attributes in a table: maps of strings, or ClickHouse's JSON type with the keys in an additional column. */
export type AttributeKind = 'map' | 'json';

/** The kind by the column's type; null for a type that holds no attributes. */
export function attributeKind(type: string): AttributeKind | null {
  if (type.startsWith('Map(')) {
    return 'map';
  }
  return type === 'JSON' || type.startsWith('JSON(') ? 'json' : null;
}

/**
 * Settings of a subquery that writes JSON columns as text: numbers as numbers, and no more escapes than JSON needs, so that
 * lists read as they were sent.
 */
export const JSON_TEXT_SETTINGS =
  'SETTINGS output_format_json_quote_64bit_integers = 0, output_format_json_escape_forward_slashes = 0';

/** SQL for one column of attributes of the table that is named `origin`. */
export interface AttributeColumn {
  /** Expression that `toAttributes` reads: the map itself, or JSON text and its keys. */
  readonly selected: string;
  /** An array of the keys. */
  readonly keys: string;
  /** The text of one value; '' where it is absent. `key` is an SQL expression that is constant in a query. */
  value(key: string): string;
}

/** `columns` are all columns of the table. */
export function attributeColumn(
  name: string,
  kind: AttributeKind,
  columns: ReadonlySet<string>,
): AttributeColumn {
  const column = `origin.${name}`;
  if (kind === 'map') {
    return { selected: column, keys: `mapKeys(${column})`, value: (key) => `${column}[${key}]` };
  }
  const keys = columns.has(`${name}Keys`) ? `origin.${name}Keys` : `JSONAllPaths(${column})`;
  return {
    selected: `(toString(${column}), ${keys})`,
    keys,
    value: (key) => `ifNull(toString(getSubcolumn(${column}, ${key})), '')`,
  };
}

/** SQL for a column of lists of attributes (of events, of links), for `toAttributes`. */
export function attributeLists(name: string, kind: AttributeKind): string {
  const column = `origin.\`${name}\``;
  return kind === 'map' ? column : `arrayMap(each -> (toString(each), JSONAllPaths(each)), ${column})`;
}

/** Returns an SQL expression for a text in attributes that are selected as JSON text and keys. A dot in a key is a level. */
export function valueOfJsonText(attributes: string, key: string): string {
  const path = key.split('.').map((name) => `'${name}'`);
  return `JSONExtractString(tupleElement(${attributes}, 1), ${path.join(', ')})`;
}
