package swebench_test

import (
	"strings"
	"testing"

	"batch.example/batch/grade"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/vocab"
)

func TestTheFinalReportBlamesAsVerdictsDo(t *testing.T) {
	killed, late := grade.Classify("\nKilled\n"), grade.Classify("Timeout error: 60 seconds exceeded")
	var entries []swebench.Entry
	var ids []string
	for _, v := range vocab.Verdicts() {
		for _, f := range []struct {
			name    string
			failure swebench.Failure
		}{{"plain", swebench.Failure{}}, {"killed", killed}, {"late", late}} {
			id := string(v) + "-" + f.name
			ids = append(ids, id)
			entries = append(entries, swebench.EntryOf(id, v, f.failure, ""))
		}
	}
	// Whoever reads the report alone gets the rate of the run directory.
	for _, v4 := range []bool{false, true} {
		text, err := swebench.Final{Model: "m", RunID: "r", V4: v4, Instances: ids, Predictions: entries}.JSON()
		if err != nil {
			t.Fatal(err)
		}
		read, _, err := swebench.ParseFinal("m.r.json", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vocab.Verdicts() {
			one := read[string(v)+"-plain"]
			if counts := one.Left == ""; counts != v.Counts() || one.Resolved != (v == vocab.VerdictResolved) {
				t.Errorf("V4 %v: %s is read as %+v", v4, v, one)
			}
		}
	}
	entries[4].Doubt = "a test is not in the log"
	text, err := swebench.Final{Model: "m", RunID: "r", Instances: ids, Predictions: entries}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]string{
		"completed_ids":         "resolved-killed resolved-late resolved-plain unresolved-killed unresolved-late unresolved-plain",
		"resolved_ids":          "resolved-killed resolved-late resolved-plain",
		"unresolved_ids":        "unresolved-killed unresolved-late unresolved-plain",
		"empty_patch_ids":       "empty_patch-killed empty_patch-late empty_patch-plain",
		"infra_failure_ids":     "infrastructure-killed infrastructure-late infrastructure-plain",
		"ambiguous_failure_ids": "no_apply-late no_reward-late timed_out-late ungradeable-late unresolved-late",
		"error_ids": "infrastructure-killed infrastructure-late infrastructure-plain no_apply-killed no_apply-late no_apply-plain no_reward-killed no_reward-late no_reward-plain " +
			"timed_out-killed timed_out-late timed_out-plain ungradeable-killed ungradeable-late ungradeable-plain",
	} {
		_, list, _ := strings.Cut(string(text), `"`+member+`": [`)
		list, _, _ = strings.Cut(list, "]")
		if got := strings.Join(strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(list)), " "); got != want {
			t.Errorf("%s: %s\nwant %s", member, got, want)
		}
	}
	for _, want := range []string{`"infrastructure-killed": "out_of_memory"`, `"infrastructure-plain": "infrastructure"`, `"doubts": {
        "unresolved-killed": "a test is not in the log"
    }`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}
