// Package otlp sends spans and metrics to a collector by OTLP over HTTP. [Traces] and [Metrics]
// return exporters for OpenTelemetry's SDK.
//
// They read the variables of OpenTelemetry's own exporters over HTTP (otlptracehttp and
// otlpmetrichttp) and retry like them. Those exporters also link gRPC and its gateway, about
// 100 packages, which HTTP does not need.
//
// # Variables
//
// Each name below stands for three variables: OTEL_EXPORTER_OTLP_NAME for both signals, and
// OTEL_EXPORTER_OTLP_TRACES_NAME and OTEL_EXPORTER_OTLP_METRICS_NAME, which replace it for one.
// A value that cannot be used is ignored, with a warning in the log.
//
//	ENDPOINT            address (default: https://localhost:4318). To an address for both
//	                    signals, /v1/traces or /v1/metrics is added
//	INSECURE            true: use HTTP; false: use HTTPS; replaces the address's scheme
//	HEADERS             NAME=VALUE,... with percent-encoded values
//	PROTOCOL            http/protobuf (default) or http/json
//	COMPRESSION         gzip or none (default)
//	TIMEOUT             milliseconds that a request may take (default: 10000)
//	CERTIFICATE         file with the certificates to trust
//	CLIENT_CERTIFICATE  file with the client's certificate
//	CLIENT_KEY          file with the client's key
//
// These are for metrics only:
//
//	OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE
//	                    cumulative (default), delta or lowmemory
//	OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION
//	                    explicit_bucket_histogram (default) or base2_exponential_bucket_histogram
//
// # Requests
//
// A request that times out, or that the collector answers with 429, 502, 503 or 504, is sent
// again, for a minute at most. The wait is at least what Retry-After asks for; it begins at
// about 5 s and grows to about 30 s. Spans or data points that the collector rejects are an
// error. Exemplars of metrics are not sent.
//
// Its API is not promised to other programs: see package batch.
package otlp
