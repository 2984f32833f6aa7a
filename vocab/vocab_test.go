package vocab_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/vocab"
)

func TestOutcomeOfAStatus(t *testing.T) {
	for status, want := range map[vocab.Status]vocab.Outcome{
		vocab.StatusSubmitted:             vocab.OutcomeSubmitted,
		vocab.StatusLimitsExceeded:        vocab.OutcomeLimit,
		vocab.StatusTimeExceeded:          vocab.OutcomeLimit,
		vocab.StatusContextWindowExceeded: vocab.OutcomeLimit,
		vocab.StatusRepeatedFormatError:   vocab.OutcomeFormat,
		vocab.StatusEnvironmentDestroyed:  vocab.OutcomeFailed,
		vocab.StatusProgramFailed:         vocab.OutcomeFailed,
		vocab.StatusAnswered:              vocab.OutcomeFailed,
		vocab.StatusInputRequired:         vocab.OutcomeFailed,
		vocab.StatusUserInterruption:      vocab.OutcomePending,
		vocab.StatusBudgetExceeded:        vocab.OutcomePending,
		vocab.StatusReplayDiverged:        vocab.OutcomeDiverged,
		vocab.StatusTransientFault:        vocab.OutcomeInfrastructure,
		vocab.StatusBug:                   vocab.OutcomeInfrastructure,
		vocab.StatusExpiredFault:          vocab.OutcomeInfrastructure,
		"an unknown status":               vocab.OutcomeInfrastructure,
	} {
		if got := status.Outcome(); got != want {
			t.Errorf("%s is %s, want %s", status, got, want)
		}
		if status != "an unknown status" && !slices.Contains(vocab.Statuses(), status) {
			t.Errorf("Statuses lists %v, want %s too", vocab.Statuses(), status)
		}
		if !slices.Contains(vocab.Outcomes(), want) {
			t.Errorf("Outcomes lists %v, want %s too", vocab.Outcomes(), want)
		}
	}
	open := slices.IndexFunc(vocab.Outcomes(), func(o vocab.Outcome) bool { return !o.Final() })
	if open < 0 || slices.ContainsFunc(vocab.Outcomes()[open:], vocab.Outcome.Final) {
		t.Errorf("Outcomes lists %v, want results first", vocab.Outcomes())
	}
	final := func(s vocab.Status) bool { return s.Outcome().Final() }
	open = slices.IndexFunc(vocab.Statuses(), func(s vocab.Status) bool { return !final(s) })
	if open < 0 || slices.ContainsFunc(vocab.Statuses()[open:], final) {
		t.Errorf("Statuses lists %v, want results first", vocab.Statuses())
	}
	if !vocab.OutcomeEmpty.Final() || vocab.OutcomePending.Final() || vocab.OutcomeDiverged.Final() || vocab.Outcome("").Final() {
		t.Error("Final is wrong for a result or for another outcome")
	}
}

func TestOutputJSONForm(t *testing.T) {
	out := vocab.Output{
		Bytes: []byte("x"), Total: 1, ExitCode: 137, OOM: true, Restarted: true, Duration: time.Second, Disk: &vocab.DiskUse{},
	}
	for _, c := range []struct {
		out  vocab.Output
		want string
	}{
		{out, `{"total":1,"exit_code":137,"oom":true}`},
		{vocab.Output{Note: "n"}, `{"total":0,"exit_code":0,"note":"n"}`},
	} {
		if got, err := json.Marshal(c.out); err != nil || string(got) != c.want {
			t.Errorf("%s %v, want %s", got, err, c.want)
		}
	}
}

func TestCost(t *testing.T) {
	p := vocab.Price{Rates: vocab.Rates{Input: 1, CachedInput: 0.5, Output: 2}}
	for used, want := range map[vocab.Usage]float64{
		{}:                                  0,
		{Input: 10, Output: 1}:              12,
		{Input: 10, Cached: 4, Output: 1}:   10,
		{Input: 10, Cached: 40}:             5, // more cached than input tokens
		{Input: 1, Output: 3, Reasoning: 2}: 7,
		vocab.Usage{Input: 1}.Add(vocab.Usage{Output: 1}): 3,
	} {
		if got, ok := p.Cost(used, ""); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%+v costs %v, want %v", used, got, want)
		}
	}
}

func TestCostOfCacheWrites(t *testing.T) {
	p := vocab.Price{Rates: vocab.Rates{Input: 4, CachedInput: 1, CacheWrite: 5, CacheHour: 8, Output: 10}}
	for used, want := range map[vocab.Usage]float64{
		{Input: 10, CacheWrite: 3}:                           7*4 + 3*5,
		{Input: 10, CacheWrite: 3, CacheHour: 1}:             7*4 + 2*5 + 8,
		{Input: 10, Cached: 6, CacheWrite: 4, CacheHour: 4}:  6*1 + 4*8,
		{Input: 10, Cached: 8, CacheWrite: 40, CacheHour: 9}: 8*1 + 2*8, // more written than input tokens
		vocab.Usage{Input: 3, CacheWrite: 2, CacheHour: 1}.Add(vocab.Usage{Input: 3, CacheWrite: 2, CacheHour: 1}): 2*4 + 2*5 + 2*8,
	} {
		if got, ok := p.Cost(used, ""); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%+v costs %v, %v; want %v", used, got, ok, want)
		}
	}
	p.CacheHour = 0
	if got, ok := p.Cost(vocab.Usage{Input: 2, CacheWrite: 1, CacheHour: 1}, ""); ok {
		t.Errorf("an hour in the cache at no known rate costs %v", got)
	}
}

func TestUsageReadsJournalsOfOlderVersions(t *testing.T) {
	const line = `{"input_tokens":9,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1}`
	var u vocab.Usage
	if err := json.Unmarshal([]byte(line), &u); err != nil || u != (vocab.Usage{Input: 9, Cached: 4, CacheWrite: 3, Output: 2, Reasoning: 1}) {
		t.Errorf("read %+v, %v", u, err)
	}
	if written, err := json.Marshal(u); err != nil || string(written) != line {
		t.Errorf("written as %s, %v", written, err)
	}
}

func TestCheckID(t *testing.T) {
	for id, want := range map[string]string{
		"django__django-11099":     "",
		"ä b":                      "",
		strings.Repeat("x", 200):   "",
		strings.Repeat("x", 201):   "longer",
		"":                         "empty",
		".git":                     "dot",
		"..":                       "dot",
		"a/b":                      "slash",
		`a\b`:                      "slash",
		"a\nb":                     "newline",
		"a\x00":                    "NUL",
		"a\tb":                     "",
		"Preds.JSON":               "own files",
		"batch.log":                "own files",
		"preds.json.corrupt-20250": "own files",
		"Grades.jsonl":             "own files",
		"quarantine.txt":           "own files",
		"logs":                     "own files",
		"control.jsonl":            "own files",
		"Control.sock":             "own files",
		"control.jsonl.corrupt-1":  "own files",
		"detach.log":               "own files",
		"logs-1":                   "",
	} {
		err := vocab.CheckID(id)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", id, err, want)
		}
	}
}

func TestStatusLabel(t *testing.T) {
	for _, c := range []struct {
		status  vocab.Status
		outcome vocab.Outcome
		want    string
	}{
		{vocab.StatusSubmitted, vocab.OutcomeSubmitted, "Submitted"},
		{vocab.StatusSubmitted, vocab.OutcomeEmpty, "Submitted (empty)"},
		{vocab.StatusLimitsExceeded, vocab.OutcomeLimit, "LimitsExceeded"},
		{vocab.StatusLimitsExceeded, vocab.OutcomeEmpty, "LimitsExceeded"},
		{"", vocab.OutcomePending, "Unknown"},
	} {
		if got := c.status.Label(c.outcome); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.status, c.outcome, got, c.want)
		}
	}
}

func TestOnlyVerdictsAboutThePredictionCount(t *testing.T) {
	not := map[vocab.Verdict]bool{vocab.VerdictInfrastructure: true, vocab.VerdictUngradeable: true, "": true, "new": true}
	for _, v := range append(vocab.Verdicts(), "", "new") {
		if v.Counts() == not[v] {
			t.Errorf("%q: Counts is %v", string(v), v.Counts())
		}
	}
}
