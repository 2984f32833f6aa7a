package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
)

// kwargs are model_kwargs, sorted by their use.
type kwargs struct {
	body    map[string]any // members of the request
	raw     map[string]any // members of extra_body, which are not translated
	headers map[string]string
	baseURL string
	apiKey  string
	version string
	timeout time.Duration
	idle    time.Duration
	tries   int
	drop    bool // drop keywords that the provider does not take
	stream  bool
}

// readKwargs sorts raw without changing it. Its errors never contain a value, which may be a secret.
func readKwargs(raw map[string]any, p Protocol) (kwargs, error) {
	kw := kwargs{body: map[string]any{}, headers: map[string]string{}, stream: p.Streams}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		if err := kw.set(key, raw[key], p); err != nil {
			return kwargs{}, fault.New(fault.Usage, "reading model_kwargs."+key, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(kw.raw)) {
		reason := refusal(key, kw.raw[key])
		if key == "stream" {
			reason = "is set by the run itself; write it as model_kwargs.stream"
		}
		if reason != "" {
			return kwargs{}, fault.Newf(fault.Usage, "reading model_kwargs.extra_body.%s: %s", key, reason)
		}
	}
	return kw, nil
}

func (kw *kwargs) set(key string, value any, p Protocol) (err error) {
	if reason := refusal(key, value); reason != "" {
		return fmt.Errorf("%s", reason)
	}
	switch key {
	case "drop_params":
		kw.drop, err = truth(value)
	case "stream":
		kw.stream, err = truth(value)
	case "api_base", "base_url":
		return text(value, &kw.baseURL)
	case "api_key":
		return text(value, &kw.apiKey)
	case "api_version":
		if p.Provider != "Azure" {
			return fmt.Errorf("only Azure has it; remove it, or name the model azure/DEPLOYMENT")
		}
		return text(value, &kw.version)
	case "organization":
		var name string
		err = text(value, &name)
		kw.headers["OpenAI-Organization"] = name
	case "custom_llm_provider":
		return nil
	case "timeout", "request_timeout":
		kw.timeout, err = seconds(value)
	case "stream_timeout":
		kw.idle, err = seconds(value)
	case "num_retries", "max_retries":
		n, ok := number(value)
		if !ok || n != math.Trunc(n) || n < 0 || n > 1000 {
			return fmt.Errorf("expected a whole number from 0 to 1000")
		}
		kw.tries = int(n) + 1
	case "extra_headers", "headers":
		return kw.setHeaders(value)
	case "extra_body":
		members, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("expected a mapping")
		}
		kw.raw = members
	default:
		kw.body[key] = value
	}
	return err
}

// refusal says why a member cannot be passed on; "" if it can.
func refusal(key string, value any) string {
	switch key {
	case "model", "messages", "input", "contents", "tools", "functions", "system", "systemInstruction", "system_instruction":
		return "is set by the run itself"
	case "stream_options":
		return "is set by the run itself; remove it"
	case "n":
		if n, ok := number(value); !ok || n != 1 {
			return "only one answer per call is supported; remove it"
		}
	case "api_type", "azure_ad_token", "fallbacks", "context_window_fallback_dict", "model_list", "mock_response", "caching", "cache",
		"retry_strategy", "additional_drop_params", "allowed_openai_params", "input_cost_per_token", "output_cost_per_token":
		return "is a setting of LiteLLM; run a LiteLLM proxy and use it as litellm_proxy/NAME, or remove it"
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

// overrule writes the kwargs about the connection into cfg.
func (kw *kwargs) overrule(cfg *Config) {
	cfg.BaseURL = cmp.Or(kw.baseURL, cfg.BaseURL)
	cfg.APIKey = cmp.Or(kw.apiKey, cfg.APIKey)
	cfg.APIVersion = cmp.Or(kw.version, cfg.APIVersion)
	cfg.RequestTimeout = cmp.Or(kw.timeout, cfg.RequestTimeout)
	cfg.IdleTimeout = cmp.Or(kw.idle, cfg.IdleTimeout)
	cfg.Retry.Tries = cmp.Or(kw.tries, cfg.Retry.Tries)
}

// inExtraBody is the prefix of the names of extra_body's members.
const inExtraBody = "extra_body."

// names returns the names of the request's members, before they are translated.
func (kw *kwargs) names() []string {
	names := slices.Sorted(maps.Keys(kw.body))
	for _, name := range slices.Sorted(maps.Keys(kw.raw)) {
		names = append(names, inExtraBody+name)
	}
	return names
}

// translate converts body to p's request to a model at a base URL. It returns the names of dropped keywords.
func (kw *kwargs) translate(p Protocol, model, base string) (dropped []string, err error) {
	if p.Translate != nil {
		given := maps.Clone(kw.body)
		refused, err := p.Translate(kw.body, model, base)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading model_kwargs", err)
		}
		for _, name := range slices.Sorted(slices.Values(refused)) {
			if !kw.drop {
				return nil, fault.Newf(fault.Usage, "reading model_kwargs.%s: %s does not take it", name, p.Provider).
					WithHint("remove it, or set model_kwargs.drop_params to true to leave out what a provider does not take;\n" +
						"members of model_kwargs.extra_body are sent unchanged")
			}
			if _, ok := given[name]; ok {
				dropped = append(dropped, name)
			}
			delete(kw.body, name)
		}
	}
	for name, value := range kw.raw {
		kw.body[name] = beside(kw.body[name], value)
	}
	return dropped, nil
}

// beside returns a member of extra_body. If both are objects, it adds the members of the translated one.
func beside(translated, raw any) any {
	object, ok := translated.(map[string]any)
	own, isObject := raw.(map[string]any)
	if !ok || !isObject {
		return raw
	}
	object = maps.Clone(object)
	maps.Copy(object, own)
	return object
}

func text(value any, into *string) error {
	s, ok := value.(string)
	if !ok {
		return fmt.Errorf("expected a string")
	}
	*into = s
	return nil
}

func truth(value any) (bool, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string: // a key=value of the command line may be a string
		if b := strings.ToLower(v); b == "true" || b == "false" {
			return b == "true", nil
		}
	}
	return false, fmt.Errorf("expected true or false")
}

func seconds(value any) (time.Duration, error) {
	n, ok := number(value)
	if !ok || !(n > 0 && n <= math.MaxInt32) { // nor NaN
		return 0, fmt.Errorf("expected a number of seconds above 0")
	}
	return time.Duration(n * float64(time.Second)), nil
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

// Keywords says how a protocol takes model_kwargs: LiteLLM's keywords, mostly OpenAI's, and members of the
// protocol itself. A null is left out.
type Keywords struct {
	// Rows translate keywords, in this order, after Same. No row replaces a member that is already set.
	Rows []Keyword

	Same []string // members of the protocol, sent unchanged
	Open bool     // any other name is sent unchanged; otherwise it is refused
}

// Keyword is one row: how the value of a keyword is written into the members of a request. Take must not
// change the value, and its errors must not contain it.
type Keyword struct {
	Names string // synonyms, separated by spaces; the first one given counts
	Take  func(members map[string]any, value any) error
}

// errNotTaken is the result of a row for a value that has no counterpart in the protocol.
var errNotTaken = errors.New("the provider does not take it")

// Refuse is a row's Take for a keyword or value that the provider does not take.
func Refuse(map[string]any, any) error { return errNotTaken }

// Ignore is a row's Take for a keyword without a meaning for the provider.
func Ignore(map[string]any, any) error { return nil }

// As returns a row's Take that sends the value under another name, see [Fill].
func As(path ...string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error { return Fill(members, value, path...) }
}

// Fill sets the member at a path of names, unless it is set. Objects on the path are made or
// copied.
func Fill(members map[string]any, value any, path ...string) error {
	last := len(path) - 1
	for _, name := range path[:last] {
		object, ok := members[name].(map[string]any)
		if members[name] != nil && !ok {
			return fmt.Errorf("%s: expected an object", name)
		}
		if object = maps.Clone(object); object == nil {
			object = map[string]any{}
		}
		members[name] = object
		members = object
	}
	if _, set := members[path[last]]; !set {
		members[path[last]] = value
	}
	return nil
}

// Translate is a [Protocol]'s Translate.
func (k Keywords) Translate(members map[string]any) (refused []string, err error) {
	given := maps.Clone(members)
	maps.DeleteFunc(given, func(_ string, value any) bool { return value == nil })
	clear(members)
	for _, name := range k.Same {
		if value, ok := given[name]; ok {
			members[name] = value
			delete(given, name)
		}
	}
	for _, row := range k.Rows {
		for name := range strings.FieldsSeq(row.Names) {
			value, ok := given[name]
			if !ok {
				continue
			}
			delete(given, name)
			switch err := row.Take(members, value); {
			case errors.Is(err, errNotTaken):
				refused = append(refused, name)
			case err != nil:
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if k.Open {
		maps.Copy(members, given)
		return refused, nil
	}
	return slices.AppendSeq(refused, maps.Keys(given)), nil
}
