/** What `spanscore init` writes: usable as it is, with the keys that are wanted next as comments. */
export const INITIAL_CONFIG = `# Configuration of spanscore. Every part is optional; check it with: spanscore check-config
# \${env:NAME} and \${env:NAME:-default} read environment variables.

store:
  # url: http://127.0.0.1:8123      # a ClickHouse server; without it, an embedded engine keeps its files in dataDir
  # username: default
  # password: \${env:CLICKHOUSE_PASSWORD:-}
  # port: 8123                      # of the embedded engine, for others that read it or write to it; with a password
  dataDir: .spanscore
  # spans: { table: otel.otel_traces }   # tables of the Collector's ClickHouse exporter, only read; nothing is received then
  retention: { spans: 30d, scores: 400d }

receivers:
  otlp:
    http: { endpoint: "127.0.0.1:4318" }                # for others: 0.0.0.0:4318, tls: { cert: …, key: … }, auth.tokens
    grpc: { endpoint: "127.0.0.1:4317" }
  # kafka:                                              # as the OpenTelemetry Collector's Kafka exporter writes it
  #   brokers: ["127.0.0.1:9092"]
  #   topics: [otlp_spans]
  #   logTopics: [otlp_logs]
  #   sasl: { mechanism: scram-sha-512, username: spanscore, password: "\${env:KAFKA_PASSWORD}" }
  #   tls: { ca: ./ca.pem }

# ingest:
#   keep: agent-spans                                   # of other spans, keep only their place in the trace
# auth:
#   tokens: [{ name: team-a, token: "\${env:TEAM_A_TOKEN}", tenant: a, scopes: [ingest] }]

# A judge is a model that checks what an agent said. None is asked unless it is named here and a rule uses it.
# judges:
#   default: openai/gpt-5-mini
#   providers:
#     openai: { apiKey: "\${env:OPENAI_API_KEY}", requestsPerMinute: 500 }
#     local: { baseURL: http://127.0.0.1:11434/v1 }      # any server that speaks OpenAI chat completions

rules:
  - name: everything
    scorers: [keyword-coverage, content-similarity]
    # where: { service: [my-agent], environment: production }
    sample: { rate: 1 }
  # - name: judged
  #   scorers: [hallucination, faithfulness]
  #   sample: { rate: 0.1, always: [error, tool-error] }
  #   budget: { perDay: 5 }                               # USD

# Removed before anything goes to a judge.
redaction:
  fields: []
  patterns: [email, credit-card, api-key, jwt, private-key]

# Scores as OpenTelemetry events, beside the rows in the store.
# exporters:
#   otlp: { endpoint: "http://127.0.0.1:4328", as: [span-event, log] }

api: { endpoint: "127.0.0.1:4320" }                       # /healthz, /readyz
`;
