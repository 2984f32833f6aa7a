package endpoint

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
)

// ReadRate returns the limits of the key in an answer's headers, and nil if there are none. Only limits per
// minute count: some providers put daily limits into the same headers. It reads the headers of Anthropic,
// OpenAI and its followers, Cerebras and Mistral, and the IETF's drafts of RateLimit with and without X- in
// front. A point in time is relative to the Date of the same answer, or to now if it has none.
func ReadRate(h http.Header, now time.Time) *llm.Rate {
	if !saysRate(h) {
		return nil
	}
	var r llm.Rate
	now = answered(h, now)
	for _, names := range requestWindows {
		r.Requests = cmp.Or(r.Requests, names.read(h, now))
	}
	r.Requests = cmp.Or(r.Requests, readFields(h, now))
	for _, names := range tokenWindows {
		r.Tokens = cmp.Or(r.Tokens, names.read(h, now))
	}
	if r == (llm.Rate{}) {
		return nil
	}
	return &r
}

// saysRate reports whether there is any header for ReadRate.
func saysRate(h http.Header) bool {
	for name := range h {
		if strings.Contains(name, "Ratelimit") {
			return true
		}
	}
	return false
}

// windowNames are the headers of one limit.
type windowNames struct{ limit, remaining, reset string }

var requestWindows = []windowNames{
	{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"X-Ratelimit-Limit-Requests-Minute", "X-Ratelimit-Remaining-Requests-Minute", "X-Ratelimit-Reset-Requests-Minute"},
	{"X-Ratelimit-Limit-Req-Minute", "X-Ratelimit-Remaining-Req-Minute", "X-Ratelimit-Reset-Req-Minute"},
	{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
}

// Anthropic's input limit is read instead of its limit of all tokens, which counts tokens read from the cache
// although they are not limited.
var tokenWindows = []windowNames{
	{"Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Remaining-Tokens-Minute", "X-Ratelimit-Reset-Tokens-Minute"},
	{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
}

func (n windowNames) read(h http.Header, now time.Time) llm.Window {
	limit, ok := count(h.Get(n.limit))
	if !ok || limit == 0 {
		return llm.Window{}
	}
	w := llm.Window{Limit: limit, Remaining: limit}
	if left, ok := count(h.Get(n.remaining)); ok {
		w.Remaining = min(left, limit)
	}
	w.Reset, _ = until(h.Get(n.reset), now)
	return perMinute(w)
}

// longestReset is the longest time until a limit per minute is free again, with some room for clocks and for
// windows that begin late.
const longestReset = 90 * time.Second

// perMinute returns w; but no window if the limit is hourly or daily, as a later reset or a refill over that
// time shows.
func perMinute(w llm.Window) llm.Window {
	if w.Reset > longestReset {
		return llm.Window{}
	}
	if used := w.Limit - w.Remaining; used > 0 {
		whole := w.Reset.Seconds() * float64(w.Limit) / float64(used)
		for _, period := range []time.Duration{time.Hour, 24 * time.Hour} {
			if math.Abs(whole/period.Seconds()-1) < 0.01 {
				return llm.Window{}
			}
		}
	}
	return w
}

// shortestReset tells a limit per minute from one per second if no header names the length of the window.
const shortestReset = 10 * time.Second

// field matches a parameter of RateLimit and RateLimit-Policy in the forms of all drafts:
// limit=100, remaining=50, reset=30 with 100;w=60, and "default";r=50;t=30 with
// "default";q=100;w=60.
var field = lazy.Regexp(`\b(limit|remaining|reset|q|r|t|w)\s*=\s*"?(\d+(?:\.\d+)?)`)

// readFields reads the standard RateLimit fields.
func readFields(h http.Header, now time.Time) llm.Window {
	got := map[string]string{}
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit"} {
		text := h.Get(name)
		if i := strings.IndexAny(text, ",;"); i >= 0 {
			if _, ok := count(text[:i]); ok { // a limit before its policy: "100, 100;w=60"
				got["limit"] = cmp.Or(got["limit"], text[:i])
			}
		}
		for _, m := range field().FindAllStringSubmatch(text, -1) {
			got[m[1]] = cmp.Or(got[m[1]], m[2]) // the first policy is the one that counts
		}
	}
	first := func(names ...string) (text string) {
		for _, name := range names {
			text = cmp.Or(text, got[name], h.Get(name))
		}
		return text
	}
	limit, ok := count(first("limit", "q", "Ratelimit-Limit", "X-Ratelimit-Limit"))
	reset, dated := until(first("reset", "t", "Ratelimit-Reset", "X-Ratelimit-Reset"), now)
	seconds, spanned := count(got["w"])
	switch {
	case !ok, limit == 0, spanned && seconds == 0, !spanned && (!dated || reset < shortestReset), spanned && seconds > int64(longestReset.Seconds()):
		return llm.Window{}
	}
	w := llm.Window{Limit: limit, Remaining: limit, Reset: reset}
	if left, ok := count(first("remaining", "r", "Ratelimit-Remaining", "X-Ratelimit-Remaining")); ok {
		w.Remaining = min(left, limit)
	}
	if spanned { // in whole requests, at least one
		w.Limit = max(1, int64(float64(w.Limit)*60/float64(seconds)))
		w.Remaining = min(w.Remaining, w.Limit)
	}
	return perMinute(w)
}

// most is above the limits of all providers.
const most = 1e15

// count reads a limit, or its remainder.
func count(text string) (int64, bool) {
	if text == "" { // most headers are absent
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > most {
		return 0, false
	}
	return int64(n), true
}

// until reads the time of a reset: seconds, a duration such as 6m0s or 20ms, a date, or seconds or
// milliseconds since 1970.
func until(text string, now time.Time) (time.Duration, bool) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, false
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case math.IsNaN(n) || n < 0:
			return 0, false
		case n > 1e11 && n < most:
			return past(time.UnixMilli(int64(n)).Sub(now)), true
		case n > 1e9 && n < most:
			return past(time.Unix(int64(n), 0).Sub(now)), true
		}
		return span(n, time.Second), true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return past(d), true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return past(at.Sub(now)), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return past(at.Sub(now)), true
	}
	return 0, false
}

func past(d time.Duration) time.Duration { return max(0, d) }

// span returns n units, without an overflow.
func span(n float64, unit time.Duration) time.Duration {
	return time.Duration(min(n*float64(unit), math.MaxInt64/2))
}

// answered returns the time of an answer, by the server's clock.
func answered(h http.Header, now time.Time) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return now
}

// retryAfter reads the provider's time for the next try, in all its forms.
func retryAfter(h http.Header, s errorBody, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && n >= 0 {
		return span(n, time.Millisecond), true
	}
	if after, ok := until(h.Get("Retry-After"), answered(h, now)); ok {
		return after, true
	}
	return s.after, s.after > 0
}

// resetDate matches a text's date at which a quota of hours, a week or a month is renewed.
var resetDate = lazy.Regexp(`(?i)\breset.{0,20}?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|UTC|[+-]\d\d:\d\d)?|(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ?重置`)

// ofBeijing matches the codes of a provider that writes dates in Beijing time, without a zone.
var ofBeijing = phrases(phrase{"Zhipu, Z.ai: docs.bigmodel.cn, api-code", `(^| )13\d\d( |$)`})

// renewal returns the time until a used-up quota is renewed, if the text has a date with a known zone.
func (s errorBody) renewal(now time.Time) (time.Duration, bool) {
	m := resetDate().FindStringSubmatch(s.own())
	if m == nil {
		return 0, false
	}
	zone := strings.ReplaceAll(strings.ToUpper(m[2]), "UTC", "Z")
	if zone == "" && ofBeijing().MatchString(s.code) {
		zone = "+08:00"
	}
	return until(strings.Replace(strings.ToUpper(m[1]+m[3]), " ", "T", 1)+zone, now)
}

// retryInfo reads Google's google.rpc.RetryInfo from the details of an error.
func retryInfo(details json.RawMessage) time.Duration {
	var list []struct {
		Type  string `json:"@type"`
		Delay string `json:"retryDelay"`
	}
	if json.Unmarshal(details, &list) != nil {
		return 0
	}
	for _, d := range list {
		if !strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			continue
		}
		if after, err := time.ParseDuration(d.Delay); err == nil {
			return past(after)
		}
	}
	return 0
}

// tokenQuota reads the limit of tokens per minute from Google's google.rpc.QuotaFailure.
func tokenQuota(details json.RawMessage) int64 {
	var list []struct {
		Violations []struct{ QuotaID, QuotaValue string }
	}
	_ = json.Unmarshal(details, &list)
	for _, d := range list {
		for _, v := range d.Violations {
			if strings.Contains(v.QuotaID, "Tokens") && strings.Contains(v.QuotaID, "PerMinute") {
				n, _ := count(v.QuotaValue)
				return n
			}
		}
	}
	return 0
}

// statusOverloaded is Anthropic's status for an overload.
const statusOverloaded = 529

// busy matches the providers' words for too many requests, in a code, or in the text of a server error.
var busy = lazy.Regexp(`(?i)rate_?limit|overloaded|too_many_requests|resource_exhausted|throttl|slow_down|\bslow down\b`)

// limited reports whether a transient error means that there are too many requests.
func (s errorBody) limited(status int) bool {
	switch {
	case status == http.StatusTooManyRequests, status == statusOverloaded:
		return true
	case s.page:
		return false
	}
	return busy().MatchString(s.code) || status >= 500 && busy().MatchString(s.text)
}
