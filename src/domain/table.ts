/** Value of a column by its type in ClickHouse. Times are Unix milliseconds. */
type ValueOf<Type extends string> = Type extends `Nullable(${infer Inner})`
  ? ValueOf<Inner> | null
  : Type extends `LowCardinality(${infer Inner})` | `SimpleAggregateFunction(min, ${infer Inner})`
    ? ValueOf<Inner>
    : Type extends `Array(${infer Inner})`
      ? readonly ValueOf<Inner>[]
      : Type extends 'String' | 'UUID' | 'Date'
        ? string
        : Type extends 'Bool' | 'UInt8'
          ? boolean
          : Type extends 'Int64'
            ? bigint
            : Type extends `DateTime64${string}` | `UInt${string}` | 'Int32' | 'Float64'
              ? number
              : never;

export interface Column<Value = unknown, Type extends string = string> {
  readonly type: Type;
  /** Meaning of the value, where its name does not say it; the description in the API. */
  readonly meaning?: string | undefined;
  /** All values of a column of words. */
  readonly values?: readonly string[];
  /** True: the property is undefined in place of '' and false. */
  readonly isOptional?: boolean;
  /** Set: the store has the value as its JSON, and '' for null and for an empty list. It is read from ''. */
  readonly empty?: Value;
  /** True: the store has the bytes in base64. */
  readonly isBytes?: boolean;
  /** Name in the store, where it is not that of the property. */
  readonly storeName?: string;
  /** Carries the type of the value; it is never set. */
  readonly value?: Value;
}

export interface OptionalColumn<Value> extends Column<Value> {
  readonly isOptional: true;
}

export type Columns = Readonly<Record<string, Column>>;

/**
 * Definition of a table: its columns by the names of their properties, in the order of a row. From it come the type of a row, the
 * statements and codecs of the store, the JSON and its schema.
 */
export interface Table<C extends Columns = Columns> {
  readonly name: string;
  readonly columns: C;
  /** Columns that only the store reads, with their types. */
  readonly ofStore: Readonly<Record<string, string>>;
}

type Flat<T> = { [Name in keyof T]: T[Name] };

export type RowOf<T extends Table> = Flat<
  {
    -readonly [
      Name in keyof T['columns'] as T['columns'][Name] extends { isOptional: true } ? never : Name
    ]: T['columns'][Name] extends Column<infer Value> ? Value : never;
  } & {
    -readonly [
      Name in keyof T['columns'] as T['columns'][Name] extends { isOptional: true } ? Name : never
    ]?: T['columns'][Name] extends Column<infer Value> ? Value : never;
  }
>;

export function column<Type extends string>(type: Type, meaning?: string): Column<ValueOf<Type>, Type> {
  return { type, meaning };
}

export function wordOf<const Word extends string>(values: readonly Word[], meaning?: string): Column<Word> {
  return { type: 'LowCardinality(String)', values, meaning };
}

/**
 * Column of a value that the store has as JSON.
 * @param empty value of a row without one
 */
export function jsonOf<Value>(empty: Value): Column<Value> {
  return { type: 'String', empty };
}

export function listOf<Item>(): Column<Item[]> {
  return jsonOf<Item[]>([]);
}

/** Column of bytes. */
export function bytes(): Column<Uint8Array> {
  return { type: 'String', isBytes: true };
}

export function named<Value>(storeName: string, of: Column<Value>): Column<Value> {
  return { ...of, storeName };
}

/** Column whose property is undefined, and absent in JSON, in place of '' and false. */
export function optional<Value>(of: Column<Value>, meaning?: string): OptionalColumn<Value | undefined> {
  return { ...of, meaning, isOptional: true };
}

/** Returns the name of a property's column in the store: in PascalCase, a time without its `Ms`. */
export function storeNameOf(property: string, of: Column): string {
  const name = `${property.charAt(0).toUpperCase()}${property.slice(1)}`;
  return of.storeName ?? (isTime(of) && name.endsWith('Ms') ? name.slice(0, -2) : name);
}

/** Returns true for a column of times. */
export function isTime({ type }: Column): boolean {
  return type.includes('DateTime64');
}
