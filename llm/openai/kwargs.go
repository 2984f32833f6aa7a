package openai

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"batch.example/batch/fault"
)

// kwargs are model_kwargs, sorted by what is done with them.
type kwargs struct {
	body    map[string]any // members of the request
	headers map[string]string
	baseURL string
	apiKey  string
	timeout time.Duration
	tries   int
}

// toolsOnly are members that providers refuse in a request without tools.
var toolsOnly = []string{"parallel_tool_calls", "tool_choice"}

// readKwargs sorts raw. It does not change raw. Its errors never hold a value,
// which may be a secret.
func readKwargs(raw map[string]any) (kwargs, error) {
	kw := kwargs{body: map[string]any{}, headers: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if err := kw.set(key, raw[key]); err != nil {
			return kwargs{}, fault.New(fault.Usage, "reading model_kwargs."+key, err)
		}
	}
	if extra, ok := raw["extra_body"].(map[string]any); ok {
		for key, value := range extra {
			if reason := refusal(key, value); reason != "" {
				return kwargs{}, fault.Newf(fault.Usage, "reading model_kwargs.extra_body.%s: %s", key, reason)
			}
			kw.body[key] = value
		}
	}
	return kw, nil
}

func (kw *kwargs) set(key string, value any) error {
	if reason := refusal(key, value); reason != "" {
		return fmt.Errorf("%s", reason)
	}
	switch key {
	case "drop_params":
		return nil
	case "api_base", "base_url":
		return text(value, &kw.baseURL)
	case "api_key":
		return text(value, &kw.apiKey)
	case "timeout", "request_timeout":
		seconds, ok := number(value)
		if !ok || seconds <= 0 || seconds > math.MaxInt32 {
			return fmt.Errorf("expected a number of seconds above 0")
		}
		kw.timeout = time.Duration(seconds * float64(time.Second))
		return nil
	case "num_retries", "max_retries":
		n, ok := number(value)
		if !ok || n != math.Trunc(n) || n < 0 || n > 1000 {
			return fmt.Errorf("expected a whole number from 0 to 1000")
		}
		kw.tries = int(n) + 1
		return nil
	case "extra_headers", "headers":
		return kw.setHeaders(value)
	case "extra_body":
		if _, ok := value.(map[string]any); !ok {
			return fmt.Errorf("expected a mapping")
		}
		return nil
	}
	kw.body[key] = value
	return nil
}

// refusal says why a member cannot be passed on, or nothing.
func refusal(key string, value any) string {
	switch key {
	case "model", "messages", "tools", "functions":
		return "is set by the run itself"
	case "stream", "stream_options":
		if value != false {
			return "streaming is not supported; remove it"
		}
	case "n":
		if n, ok := number(value); !ok || n != 1 {
			return "only one answer per call is supported; remove it"
		}
	case "api_version", "api_type", "azure_ad_token", "custom_llm_provider", "organization",
		"fallbacks", "context_window_fallback_dict", "model_list", "mock_response", "caching", "cache",
		"retry_strategy", "additional_drop_params", "allowed_openai_params", "input_cost_per_token", "output_cost_per_token":
		return "is a setting of LiteLLM; run a LiteLLM proxy and point OPENAI_BASE_URL at it, or remove it"
	}
	return ""
}

func (kw *kwargs) setHeaders(value any) error {
	headers, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("expected a mapping of names to strings")
	}
	for name, v := range headers {
		var s string
		if err := text(v, &s); err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		kw.headers[name] = s
	}
	return nil
}

// overrule writes what the kwargs say about the connection into cfg.
func (kw *kwargs) overrule(cfg *Config) {
	cfg.Model = bare(cfg.Model)
	cfg.BaseURL = cmp.Or(kw.baseURL, cfg.BaseURL)
	cfg.APIKey = cmp.Or(kw.apiKey, cfg.APIKey)
	cfg.RequestTimeout = cmp.Or(kw.timeout, cfg.RequestTimeout)
	cfg.Retry.Tries = cmp.Or(kw.tries, cfg.Retry.Tries)
}

func text(value any, into *string) error {
	s, ok := value.(string)
	if !ok {
		return fmt.Errorf("expected a string")
	}
	*into = s
	return nil
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
