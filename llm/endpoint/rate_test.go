package endpoint

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// headers reads "Name: value" lines.
func headers(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return h
}

func TestTheRateIsReadInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  *llm.Rate
	}{
		"nothing": {"Content-Type: application/json", nil},
		"OpenAI": {`x-ratelimit-limit-requests: 600
			x-ratelimit-remaining-requests: 590
			x-ratelimit-reset-requests: 1s
			x-ratelimit-limit-tokens: 150000
			x-ratelimit-remaining-tokens: 149984
			x-ratelimit-reset-tokens: 20ms`, &llm.Rate{
			Requests: llm.Window{Limit: 600, Remaining: 590, Reset: time.Second},
			Tokens:   llm.Window{Limit: 150000, Remaining: 149984, Reset: 20 * time.Millisecond},
		}},
		"OpenAI without what remains": {"x-ratelimit-limit-requests: 60", &llm.Rate{Requests: llm.Window{Limit: 60, Remaining: 60}}},
		"requests of a day, refilled one by one": {`x-ratelimit-limit-requests: 10000
			x-ratelimit-remaining-requests: 9999
			x-ratelimit-reset-requests: 8.64s
			x-ratelimit-limit-tokens: 6000
			x-ratelimit-remaining-tokens: 0
			x-ratelimit-reset-tokens: 60s`, &llm.Rate{Tokens: llm.Window{Limit: 6000, Reset: time.Minute}}},
		"requests of a day, at midnight": {"x-ratelimit-limit-requests: 50\nx-ratelimit-remaining-requests: 3\nx-ratelimit-reset-requests: 6h0m0s", nil},
		"Anthropic": {`anthropic-ratelimit-requests-limit: 50
			anthropic-ratelimit-requests-remaining: 49
			anthropic-ratelimit-requests-reset: 2026-03-01T12:00:01Z
			anthropic-ratelimit-tokens-limit: 48000
			anthropic-ratelimit-tokens-remaining: 48000
			anthropic-ratelimit-input-tokens-limit: 40000
			anthropic-ratelimit-input-tokens-remaining: 10000
			anthropic-ratelimit-input-tokens-reset: 2026-03-01T12:00:45Z
			anthropic-ratelimit-output-tokens-limit: 8000`, &llm.Rate{
			Requests: llm.Window{Limit: 50, Remaining: 49, Reset: time.Second},
			Tokens:   llm.Window{Limit: 40000, Remaining: 10000, Reset: 45 * time.Second},
		}},
		"Anthropic's date by Anthropic's clock": {`Date: Sun, 01 Mar 2026 11:00:00 GMT
			anthropic-ratelimit-requests-limit: 50
			anthropic-ratelimit-requests-remaining: 0
			anthropic-ratelimit-requests-reset: 2026-03-01T11:00:30Z`, &llm.Rate{Requests: llm.Window{Limit: 50, Reset: 30 * time.Second}}},
		"Anthropic without input tokens": {`anthropic-ratelimit-tokens-limit: 48000
			anthropic-ratelimit-tokens-remaining: 47000`, &llm.Rate{Tokens: llm.Window{Limit: 48000, Remaining: 47000}}},
		"Cerebras": {`x-ratelimit-limit-requests-day: 14400
			x-ratelimit-limit-tokens-minute: 60000
			x-ratelimit-remaining-tokens-minute: 59000
			x-ratelimit-reset-tokens-minute: 30.5`, &llm.Rate{Tokens: llm.Window{Limit: 60000, Remaining: 59000, Reset: 30500 * time.Millisecond}}},
		"OpenRouter, milliseconds since 1970": {`X-RateLimit-Limit: 20
			X-RateLimit-Remaining: 0
			X-RateLimit-Reset: 1772366430000`, &llm.Rate{Requests: llm.Window{Limit: 20, Reset: 30 * time.Second}}},
		"seconds since 1970":              {"X-RateLimit-Limit: 20\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: 1772366430", &llm.Rate{Requests: llm.Window{Limit: 20, Remaining: 1, Reset: 30 * time.Second}}},
		"a window without a length":       {"X-RateLimit-Limit: 20\nX-RateLimit-Remaining: 5", nil},
		"it may be one of a second":       {"X-RateLimit-Limit: 20\nX-RateLimit-Remaining: 5\nX-RateLimit-Reset: 1", nil},
		"a draft's fields":                {"RateLimit-Limit: 100, 100;w=60\nRateLimit-Remaining: 50\nRateLimit-Reset: 30", &llm.Rate{Requests: llm.Window{Limit: 100, Remaining: 50, Reset: 30 * time.Second}}},
		"a draft's limit with its policy": {"RateLimit-Limit: 100\nRateLimit-Policy: 100;w=60\nRateLimit-Remaining: 50\nRateLimit-Reset: 30", &llm.Rate{Requests: llm.Window{Limit: 100, Remaining: 50, Reset: 30 * time.Second}}},
		"a later draft":                   {"RateLimit: limit=100, remaining=50, reset=5\nRateLimit-Policy: 100;w=10", &llm.Rate{Requests: llm.Window{Limit: 600, Remaining: 50, Reset: 5 * time.Second}}},
		"the last draft":                  {"RateLimit: \"default\";r=50;t=30\nRateLimit-Policy: \"default\";q=100;w=60, \"daily\";q=1000;w=86400", &llm.Rate{Requests: llm.Window{Limit: 100, Remaining: 50, Reset: 30 * time.Second}}},
		"the last draft, of a day":        {"RateLimit: \"daily\";r=50;t=30\nRateLimit-Policy: \"daily\";q=1000;w=86400", nil},
		"more remains than there is":      {"x-ratelimit-limit-requests: 10\nx-ratelimit-remaining-requests: 99", &llm.Rate{Requests: llm.Window{Limit: 10, Remaining: 10}}},
		"no limit":                        {"x-ratelimit-limit-requests: 0\nx-ratelimit-remaining-requests: 0\nx-ratelimit-limit-tokens: -1", nil},
		"words":                           {"x-ratelimit-limit-requests: lots\nx-ratelimit-reset-requests: soon", nil},
	} {
		if diff := cmp.Diff(c.want, ReadRate(headers(c.lines), noon)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestRetryAfterIsReadInEveryFormAndByTheServersClock(t *testing.T) {
	for name, c := range map[string]struct {
		lines, body string
		want        time.Duration
		ok          bool
	}{
		"the server's clock is an hour late":  {"Date: Sun, 01 Mar 2026 11:00:00 GMT\nRetry-After: Sun, 01 Mar 2026 11:00:20 GMT", "", 20 * time.Second, true},
		"the server's clock is an hour early": {"Date: Sun, 01 Mar 2026 13:00:00 GMT\nRetry-After: Sun, 01 Mar 2026 13:00:20 GMT", "", 20 * time.Second, true},
		"no date":                             {"Retry-After: Sun, 01 Mar 2026 12:00:20 GMT", "", 20 * time.Second, true},
		"a date that has passed":              {"Retry-After: Sun, 01 Mar 2026 11:00:00 GMT", "", 0, true},
		"half a second":                       {"Retry-After: 0.5", "", 500 * time.Millisecond, true},
		"milliseconds win":                    {"Retry-After-Ms: 250\nRetry-After: 1", "", 250 * time.Millisecond, true},
		"Google's":                            {"", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13.5s"}]}}`, 13500 * time.Millisecond, true},
		"Google's in a list":                  {"", `[{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13s"}]}}]`, 13 * time.Second, true},
		"another detail":                      {"", `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.Help","retryDelay":"13s"}]}}`, 0, false},
		"details that are none":               {"", `{"error":{"details":"13s"}}`, 0, false},
		"below zero":                          {"Retry-After: -5", "", 0, false},
	} {
		after, ok := retryAfter(headers(c.lines), readErrorBody([]byte(c.body)), noon)
		if after != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", name, after, ok, c.want, c.ok)
		}
	}
}

func TestTheDateOfARenewalIsReadFromTheWords(t *testing.T) {
	now := time.Date(2026, 9, 9, 0, 0, 0, 0, time.UTC)
	for body, want := range map[string]time.Duration{
		`{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-09-09 09:38:28"}}`: time.Hour + 38*time.Minute + 28*time.Second,
		`{"error":{"code":"1310","message":"Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-09-12 08:00:00"}}`: 72 * time.Hour,
		`{"error":{"code":"1308","message":"已达到 5\n小时的使用上限。您的限额将在 2026-09-09 08:10:00 重置。"}}`:                                10 * time.Minute,
		`{"error":{"code":"1316","message":"Limit reached. Resets at 2026-09-09T05:00:00Z"}}`:                                5 * time.Hour,
		`{"error":{"message":"quota used up; resets on 2026-09-09 02:00:00 UTC"}}`:                                           2 * time.Hour,
		`{"error":{"code":"1308","message":"Your limit will reset at 2026-09-08 09:38:28"}}`:                                 0,
		`{"error":{"message":"Your limit will reset at 2026-09-09 09:38:28"}}`:                                               -1, // in which zone?
		`{"error":{"code":"1302","message":"Rate limit reached for requests"}}`:                                              -1,
		`{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-99-99 09:38:28"}}`: -1,
	} {
		after, ok := readErrorBody([]byte(body)).renewal(now)
		if !ok {
			after = -1
		}
		if after != want {
			t.Errorf("%s: %v, want %v", body, after, want)
		}
	}
	e := Endpoint{Mask: mask.New()}
	err := e.RefusedInside(http.Header{"Date": {"Wed, 09 Sep 2026 00:00:00 GMT"}}, []byte(`{"error":{"code":429,"type":"1308","message":"Your limit will reset at 2026-09-09 08:10:00"}}`))
	if limited, ok := errors.AsType[*llm.RateLimited](err); !ok || limited.After != 10*time.Minute {
		t.Errorf("%v: %+v", err, limited)
	}
}

func TestTooManyRequestsAreRecognized(t *testing.T) {
	e := &Endpoint{Mask: mask.New()}
	for name, c := range map[string]struct {
		status int
		body   string
		want   bool
	}{
		"429":                          {429, ``, true},
		"529":                          {529, `<html>`, true},
		"Anthropic's type in a stream": {200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, true},
		"OpenAI's engine":              {503, `{"error":{"message":"The engine is currently overloaded, please try again later"}}`, true},
		"OpenAI's code":                {200, `{"error":{"code":"rate_limit_exceeded","message":"x"}}`, true},
		"Google's model":               {503, `{"error":{"code":503,"status":"UNAVAILABLE","message":"The model is overloaded."}}`, true},
		"an outage":                    {503, `{"error":{"message":"upstream connect error"}}`, false},
		"an error of the server":       {500, ``, false},
		"a page of a proxy":            {502, `<html>overloaded</html>`, false},
	} {
		err := e.fault(c.status, http.Header{}, readErrorBody([]byte(c.body)))
		_, got := errors.AsType[*llm.RateLimited](err)
		if got != c.want || fault.KindOf(err) != fault.Transient {
			t.Errorf("%s: %v (%v), a rate limit: %v; want a transient fault, %v", name, err, fault.KindOf(err), got, c.want)
		}
	}
}

func FuzzReadRate(f *testing.F) {
	f.Add("600", "599", "6m0s", "100", "limit=1, remaining=2, reset=3", "100;w=60", "Sun, 01 Mar 2026 12:00:20 GMT")
	f.Add("1e9", "-1", "2026-03-01T12:00:00Z", "1772366430000", "\"a\";r=1;t=2", "\"a\";q=3;w=4", "NaN")
	f.Add("Inf", "+Inf", "99999999999999999999s", "0x1p9", "r=;t=", "w=0", "13s")
	f.Fuzz(func(t *testing.T, limit, remaining, reset, generic, fields, policy, date string) {
		h := http.Header{}
		for _, names := range append(requestWindows, tokenWindows...) {
			h.Set(names.limit, limit)
			h.Set(names.remaining, remaining)
			h.Set(names.reset, reset)
		}
		if limit == "" {
			h = http.Header{}
		}
		h.Set("Ratelimit", fields)
		h.Set("Ratelimit-Policy", policy)
		h.Set("X-Ratelimit-Limit", generic)
		h.Set("X-Ratelimit-Reset", reset)
		h.Set("Retry-After", date)
		h.Set("Date", date)
		if after, _ := retryAfter(h, errorBody{}, noon); after < 0 {
			t.Errorf("retry after %v", after)
		}
		r := ReadRate(h, noon)
		if r == nil {
			return
		}
		if *r == (llm.Rate{}) {
			t.Error("a rate of nothing")
		}
		for _, w := range []llm.Window{r.Requests, r.Tokens} {
			if w.Limit < 0 || w.Remaining < 0 || w.Remaining > w.Limit || w.Reset < 0 || w.Reset > longestReset || w.Limit == 0 && w != (llm.Window{}) {
				t.Errorf("%+v", w)
			}
		}
	})
}
