export const AGGREGATE_FACETS = [
  'agent',
  'service',
  'environment',
  'model',
  'serviceVersion',
  'agentVersion',
  'target',
  'fingerprint',
] as const;

export type AggregateFacet = (typeof AGGREGATE_FACETS)[number];
