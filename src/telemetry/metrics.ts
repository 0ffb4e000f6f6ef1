import type {
  Attributes,
  BatchObservableResult,
  Counter,
  Histogram,
  Meter,
  MetricOptions,
  Observable,
} from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AggregationType, MeterProvider, MetricReader, type ViewOptions } from '@opentelemetry/sdk-metrics';
import type { Log } from './log.ts';
import {
  type CounterName,
  type HistogramName,
  METRICS,
  type MetricKind,
  type ObservedName,
  prometheusName,
} from './metric-catalogue.ts';

/** Label value for all values above the limit. */
const OTHER = 'other';

const MAX_VALUES = 100;

const MAX_CHARS = 120;

export type MetricLabels = Readonly<Record<string, string>>;

/** Current value of a metric that is read at each scrape. */
export interface Reading {
  readonly name: ObservedName;
  readonly value: number;
  readonly labels?: MetricLabels;
}

/** Returns current values at each scrape; must be fast. */
export type ReadingSource = () => Iterable<Reading> | Promise<Iterable<Reading>>;

export interface MetricWriter {
  add(name: CounterName, by: number, labels?: MetricLabels): void;
  /** Records a value in the unit of the histogram: seconds, bytes, rows. */
  record(name: HistogramName, value: number, labels?: MetricLabels): void;
}

type Serializable = Parameters<PrometheusSerializer['serialize']>[0];

/** Limit of series; higher than the limit of labels allows. */
const MAX_SERIES = 20_000;

/** Values of a series without an observer; a total keeps its value. */
const ABSENT: Partial<Record<MetricKind, number>> = { level: 0, gauge: Number.NaN };

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates metrics with the OpenTelemetry SDK. They are read at a scrape only.
 * @param options maxLabelValues: limit of values of a label; further values become `other`
 */
export function createMetrics(options: {
  readonly version: string;
  readonly log: Log;
  readonly maxLabelValues?: number;
}) {
  const { version, log } = options;
  const cap = createLabelCap(options.maxLabelValues ?? MAX_VALUES);
  const reader = new PullReader({ cardinalitySelector: () => MAX_SERIES });
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.name': 'spanscore', 'service.version': version }),
    views: buildViews(),
    readers: [reader],
  });
  const meter = provider.getMeter('spanscore', version);
  const { counters, histograms, observables } = createInstruments(meter);
  const sources = new Set<ReadingSource>();
  /** Every series that was ever observed: the SDK would keep reporting the last value of a series that has ended. */
  const known = new Map<string, Series>();

  /**
   * Observes all readings. Readings that the limit of labels merges are added up when a sum has a meaning; a gauge above the
   * limit is omitted, because a sum of gauges is wrong.
   */
  async function observeAll(result: BatchObservableResult): Promise<void> {
    const values = new Map<string, number>();
    for (const { name, value, labels } of await readAll(sources, log)) {
      const attributes = cap(name, labels);
      const observable = observables.get(name);
      const isFolded = Object.values(attributes).includes(OTHER);
      if (observable === undefined || (isFolded && METRICS[name].kind === 'gauge')) {
        continue;
      }
      const key = JSON.stringify([name, attributes]);
      known.set(key, { name, observable, attributes });
      values.set(key, (values.get(key) ?? 0) + value);
    }
    for (const [key, { name, observable, attributes }] of known) {
      const value = values.get(key) ?? ABSENT[METRICS[name].kind];
      if (value !== undefined) {
        result.observe(observable, value, attributes);
      }
    }
  }

  meter.addBatchObservableCallback(observeAll, [...observables.values()]);
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  const writer: MetricWriter = {
    add: (name, by, labels) => counters.get(name)?.add(by, cap(name, labels)),
    record: (name, value, labels) => histograms.get(name)?.record(value, cap(name, labels)),
  };
  return {
    ...writer,
    /** Adds a source of readings. Returns a function that removes it. */
    observe(source: ReadingSource): () => void {
      sources.add(source);
      return () => void sources.delete(source);
    },
    /** Returns all metrics in the text format of Prometheus. */
    async text(): Promise<string> {
      const { resourceMetrics, errors } = await reader.collect();
      errors.forEach((error) => log.warn('a metric could not be read', { error }));
      // The serializer has its own copy of the SDK, whose enums differ from ours by type only.
      const collected: unknown = resourceMetrics;
      return `${serializer.serialize(collected as Serializable).trimEnd()}\n`;
    },
    stop: (): Promise<void> => provider.shutdown(),
  };
}

interface Series {
  readonly name: ObservedName;
  readonly observable: Observable;
  readonly attributes: Attributes;
}

function createInstruments(meter: Meter) {
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const observables = new Map<string, Observable>();
  const makers: Record<MetricKind, (name: string, options: MetricOptions) => void> = {
    counter: (name, about) => counters.set(name, meter.createCounter(name, about)),
    histogram: (name, about) => histograms.set(name, meter.createHistogram(name, about)),
    total: (name, about) => observables.set(name, meter.createObservableCounter(name, about)),
    level: (name, about) => observables.set(name, meter.createObservableUpDownCounter(name, about)),
    gauge: (name, about) => observables.set(name, meter.createObservableGauge(name, about)),
  };
  for (const [name, { kind, unit, description }] of Object.entries(METRICS)) {
    makers[kind](name, { unit, description });
  }
  return { counters, histograms, observables };
}

/** Reader without a timer of its own. */
class PullReader extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * Gives each metric its Prometheus name, because the serializer would omit the unit, and gives histograms their buckets.
 */
function buildViews(): ViewOptions[] {
  const type = AggregationType.EXPLICIT_BUCKET_HISTOGRAM;
  return Object.entries(METRICS).map(([instrumentName, spec]) => ({
    instrumentName,
    name: prometheusName(instrumentName, spec),
    ...(spec.bounds && { aggregation: { type, options: { boundaries: [...spec.bounds] } } }),
  }));
}

/** Reads all sources. A failed source loses only its own readings. */
async function readAll(sources: ReadonlySet<ReadingSource>, log: Log): Promise<Reading[]> {
  const readings = await Promise.all(
    [...sources].map(async (source) => {
      try {
        return [...(await source())];
      } catch (error) {
        log.warn('a metric could not be read', { error });
        return [];
      }
    }),
  );
  return readings.flat();
}

/**
 * Limits the number of series of a metric, for any names of configurations, models and topics: each label gets at most `maxValues`
 * values, of at most 120 characters; further values are `other`.
 */
function createLabelCap(maxValues: number) {
  const known = new Map<string, Set<string>>();
  const capValue = (key: string, value: string): string => {
    const values = known.get(key) ?? new Set();
    known.set(key, values);
    const cut = value.length > MAX_CHARS ? value.slice(0, MAX_CHARS).toWellFormed() : value;
    if (!values.has(cut) && values.size >= maxValues) {
      return OTHER;
    }
    values.add(cut);
    return cut;
  };
  return (metric: string, labels: MetricLabels = {}): Attributes =>
    Object.fromEntries(
      Object.entries(labels).map(([label, value]) => [label, capValue(`${metric} ${label}`, value)]),
    );
}
