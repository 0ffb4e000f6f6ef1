import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { alertGroups, type RuleGroup } from './prometheus-rules.ts';

const HEADER = `# For the Prometheus operator: the recording rules and alerts of deploy/prometheus/rules. Change them there.
# Made by tools/deploy/alert-rules, because Kustomize reads no file outside of its folder.
`;

const RECORDING_RULES = new URL('../../../deploy/prometheus/rules/recording.yml', import.meta.url);

/** Returns deploy/kubernetes/common/prometheus-rule.yaml. */
export function renderOperatorRules(): string {
  const recording = parse(readFileSync(RECORDING_RULES, 'utf8')) as { groups: RuleGroup[] };
  const manifest = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: 'spanscore',
      namespace: 'spanscore',
      labels: { 'app.kubernetes.io/name': 'spanscore' },
    },
    spec: { groups: [...recording.groups, ...alertGroups()] },
  };
  return HEADER + stringify(manifest, { lineWidth: 0, singleQuote: true });
}
