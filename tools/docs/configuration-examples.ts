/** Examples of each part of the configuration, for docs/configuration.md. A test loads each one alone. */
export const CONFIGURATION_EXAMPLES: Readonly<Record<string, string>> = {
  store: `store:
  url: http://127.0.0.1:8123        # without it: an embedded engine, with its files under dataDir
  username: default
  password: \${env:CLICKHOUSE_PASSWORD:-}
  retention: { spans: 30d, scores: 400d }`,
  receivers: `receivers:
  otlp:
    http: { endpoint: 127.0.0.1:4318 }
    grpc: { endpoint: 127.0.0.1:4317 }
  kafka:
    brokers: [127.0.0.1:9092]
    topics: [otlp_spans]
    logTopics: [otlp_logs]`,
  ingest: `ingest:
  keep: agent-spans
  limits: { spanBytes: 8388608, attributes: 10000 }`,
  conventions: `conventions:
  - name: acme-agents
    match: { scope: "acme.*", attribute: acme.kind, service: shop-* }       # a span that meets any of them
    kind: { from: acme.kind, values: { llm: model, step: agent, fn: tool, search: retrieval } }
    fields:
      input: [acme.prompt, "acme.box $.turns"]      # the first that the span has
      output: acme.reply
      tool.name: acme.fn
      tool.arguments: acme.args
      tool.result: event:acme.done/result           # an attribute of an event; log:<name> is the body of a log record
      documents: acme.hits $.items[*].text          # a path into JSON`,
  auth: `auth:
  tokens:
    - { name: team-a, token: "\${env:TEAM_A_TOKEN}", tenant: a, scopes: [ingest] }
    - { name: dashboards, token: "\${env:READ_TOKEN}", scopes: [read] }
    - { name: reviewers, token: "\${env:LABEL_TOKEN}", scopes: [read, label] }`,
  judges: `judges:
  default: local/qwen3
  providers:
    local: { baseURL: http://127.0.0.1:11434/v1, concurrency: 4 }
    openai: { apiKey: "\${env:OPENAI_API_KEY}", requestsPerMinute: 500 }
  options:
    local/qwen3: { timeout: 3m, contextTokens: 32768 }
  prices:
    local/qwen3: { input: 0, output: 0 }      # a budget needs a price, also where it is 0`,
  budgets: `budgets:
  total: { perDay: 50, perMonth: 1000 }
  tenants: { team-a: { perDay: 5 } }`,
  scorers: `scorers:
  second-coverage: { use: keyword-coverage }     # a prebuilt scorer under another name, with options or a judge of its own
  tone-of-voice: { module: ./tone-of-voice.ts, higherIsBetter: true, range: [0, 1] }`,
  rules: `rules:
  - name: production
    scorers: [behaviour, completeness]
    where: { service: [weather], environment: production, attributes: { customer.tier: gold } }
    sample: { rate: 0.1, always: [error, tool-error, { slow: 10s }, { costly: 0.05 }, { newVersion: 100 }] }
  - name: long-answers
    scorers: [tone]
    where: { model: [gpt-5-mini, gpt-5], duration: { min: 2s }, tokens: { min: 1000 }, status: ok, readByShape: false, not: { service: canary } }`,
  redaction: `redaction:
  fields: [customer.email]
  patterns: [email, credit-card, 'sk-[A-Za-z0-9]{20,}']`,
  scoring: `scoring: { maxTracesInMemory: 2000, newestShare: 0.5 }`,
  readiness: `readiness: { decisionWait: 5s, maxWait: 15m }`,
  exporters: `exporters:
  otlp: { endpoint: http://127.0.0.1:4328, as: [span-event, log] }
  webhook: { url: https://example.com/hook, secret: "\${env:HOOK_SECRET}" }
  phoenix: { endpoint: http://127.0.0.1:6006, apiKey: "\${env:PHOENIX_API_KEY}" }
  mlflow: { endpoint: http://127.0.0.1:5000, token: "\${env:MLFLOW_TRACKING_TOKEN}" }
  langfuse:
    endpoint: https://cloud.langfuse.com
    publicKey: "\${env:LANGFUSE_PUBLIC_KEY}"
    secretKey: "\${env:LANGFUSE_SECRET_KEY}"
  langsmith: { endpoint: https://api.smith.langchain.com, apiKey: "\${env:LANGSMITH_API_KEY}" }
  datadog: { endpoint: https://api.datadoghq.com, apiKey: "\${env:DD_API_KEY}", mlApp: shop }`,
  sources: `sources:
  phoenix: { phoenix: { endpoint: "http://127.0.0.1:6006" }, since: 24h }
  archive: { files: "archive/**/*.jsonl.gz" }
  bucket: { files: "s3://traces/**.parquet", s3: { accessKeyId: "\${env:S3_ID}", secretAccessKey: "\${env:S3_KEY}" } }`,
  labels: `sources: { phoenix: { phoenix: { endpoint: "http://127.0.0.1:6006" } } }
labels: { from: [phoenix] }`,
  api: `api: { endpoint: 127.0.0.1:4320 }`,
  log: `log: { level: info, format: json }`,
  monitors: `monitors:
  - groups:
      - name: quality
        interval: 5m
        rules:
          - { alert: ToolErrorsRose, detector: drift, series: { scorer: behaviour-tool-errors } }
          - { alert: FewAnswers, detector: floor, minimum: 0.9, series: { scorer: behaviour-answered } }`,
  alerts: `alerts:
  alertmanager: [http://127.0.0.1:9093]
  webhook: [{ url: "\${env:ALERT_HOOK}", secret: "\${env:HOOK_SECRET}" }]
  slack: [{ name: on-call, url: "\${env:SLACK_HOOK}" }]
  pagerduty: [{ routingKey: "\${env:PAGERDUTY_KEY}" }]`,
  issues: `issues:
  alertAbove: 0.01                  # a new issue of 1 % of the runs is told to the channels
  falseAlarmBudget: 1`,
};
