package report_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// exactGolden compares text with a golden file, or writes it.
func exactGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (run with -update if that is meant):\n%s", name, diff)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	exactGolden(t, name, got)
	for line := range strings.Lines(string(got)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 && !strings.HasPrefix(line, "    ") {
			t.Errorf("line of %d columns: %s; want at most 100 unless it begins with %q", n, line, "    ")
		}
	}
}

func mixed() []results.Record {
	yes, no := true, false
	rec := func(id string, attempt int, status vocab.Status, o vocab.Outcome, cost float64, patch int) results.Record {
		return results.Record{
			InstanceID: id, Attempt: attempt, Status: status, Outcome: o, Steps: 10 * attempt, Cost: cost, PatchBytes: patch,
			Time: results.Phases{Queue: 0.2, Pull: 12, Start: 0.3, Model: 100, RateWait: 8, Commands: 61, Save: 0.01, Total: 174},
		}
	}
	rs := []results.Record{
		rec("django__django-11099", 1, "Submitted", vocab.OutcomeSubmitted, 0.123, 512),
		rec("django__django-10914", 1, "Submitted", vocab.OutcomeSubmitted, 1.5, 70),
		rec("sympy__sympy-20590", 1, "Submitted", vocab.OutcomeEmpty, 0.004, 0),
		rec("astropy__astropy-1", 1, "LimitsExceeded", vocab.OutcomeLimit, 3, 90),
		rec("astropy__astropy-2", 1, "RepeatedFormatError", vocab.OutcomeFormat, 0.02, 0),
		rec("astropy__astropy-3", 1, "ContentPolicyViolation", vocab.OutcomeFailed, 0.3, 0),
		rec("astropy__astropy-4", 1, "ContextWindowExceeded", vocab.OutcomeLimit, 0.9, 0),
		rec("flask__flask-5", 1, "TransientFault", vocab.OutcomeInfrastructure, 0.5, 0),
		rec("flask__flask-5", 2, "TransientFault", vocab.OutcomeInfrastructure, 0.25, 0),
		rec("diverged__one-1", 1, vocab.StatusReplayDiverged, vocab.OutcomeDiverged, 0.5, 0),
		rec("diverged__one-1", 2, "Submitted", vocab.OutcomeSubmitted, 0.25, 10),
		rec("diverged__two-2", 1, vocab.StatusReplayDiverged, vocab.OutcomeDiverged, 0.5, 33),
		rec("pytest__pytest-9", 1, "TransientFault", vocab.OutcomeInfrastructure, 0.25, 0),
		rec("pytest__pytest-9", 2, "Submitted", vocab.OutcomeSubmitted, 0.25, 44),
		rec("other__tool-1", 0, "Submitted", vocab.OutcomeSubmitted, 0, 9),
		rec("other__tool-1", 1, "Interrupted", vocab.OutcomePending, 0.25, 0),
		rec("stopped__one-1", 1, "Interrupted", vocab.OutcomePending, 0.0001, 0),
		rec("not__asked-1", 1, "Submitted", vocab.OutcomeSubmitted, 9, 9),
	}
	rs[0].Resolved, rs[0].Grade = &yes, &grades.Grade{Verdict: vocab.VerdictResolved, FailToPass: grades.Tests{Passed: []string{"a"}}}
	rs[1].Resolved, rs[1].Grade = &no, &grades.Grade{Verdict: vocab.VerdictUnresolved, Why: "1 of 2 FAIL_TO_PASS tests fails: b"}
	rs[8].Blame = "transient"
	rs[8].Error = "pulling\x1b[31m image docker.io/swebench/sweb.eval.x86_64.flask_1776_flask-5:latest: unexpected EOF\nwhile reading " +
		strings.Repeat("a very long cause ", 10)
	return rs
}

func summary() report.SummaryData {
	d := report.SummaryData{
		Records: mixed(),
		Hints:   map[string]string{"flask__flask-5": "check the registry, then run the same command again", "sympy__sympy-20590": "unused"},
		Spent:   15.5, Elapsed: 3723 * time.Second,
	}
	for _, r := range d.Records {
		if r.InstanceID != "not__asked-1" {
			d.Asked = append(d.Asked, r.InstanceID)
		}
	}
	d.Asked = append(d.Asked, "never__started-1")
	return d
}

func snapshot() *results.Snapshot {
	s := &results.Snapshot{
		Dir: "runs/a", Records: mixed(), Spent: 15.5, Owner: "host h, pid 7, since 2026-01-02T03:04:05Z",
		Notes: []string{"flask__flask-5: its journal cannot be read; it is counted as not run: reading runs/a/flask__flask-5/journal.jsonl: it is \"damaged\""},
		Manifest: &manifest.Manifest{
			Model: "openai/x", Batch: "v1", Seed: 42,
			Config:  map[string]any{"agent": map[string]any{"step_limit": 50, "system_template": "You are\n  act\n", "instance_template": "one\ntwo\n", "cwd": "/testbed", "long": strings.Repeat("You are ", 50)}},
			Dataset: manifest.Dataset{Name: "verified", Split: "test", Digest: "abc", Instances: []string{"never__started-1", "stopped__one-1"}},
			Images:  map[string]manifest.Image{"sympy__sympy-20590": {Ref: "image:latest", ID: "sha256:1"}},
		},
	}
	s.Patches = map[string]string{
		"django__django-11099": "1", "django__django-10914": "2", "sympy__sympy-20590": "", "pytest__pytest-9": "3", "other__tool-1": "4",
	}
	for i := range s.Records {
		s.Records[i].Time = results.Phases{Queue: 10, Pull: 30, Start: 1, Scrub: 7, ScrubWait: 3, Model: 100, RateWait: 20, Commands: 60, Save: 0.5, Total: 200}
	}
	s.Records[2].Outcome, s.Records[2].Salvaged = vocab.OutcomeLimit, true
	s.Records[2].Resumed, s.Records[0].Resumed, s.Records[0].Differences = 1, 2, 3
	s.Records[len(s.Records)-2].Status = vocab.StatusRunning
	return s
}

// gradedSnapshot has every verdict with every kind of remark.
func gradedSnapshot() *results.Snapshot {
	s := &results.Snapshot{Dir: "runs/graded", Manifest: &manifest.Manifest{Model: "openai/x", Dataset: manifest.Dataset{Name: "verified"}}}
	add := func(id string, v vocab.Verdict, change func(*results.Record)) {
		g := &grades.Grade{InstanceID: id, Attempt: 1, Verdict: v}
		r := results.Record{
			InstanceID: id, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Steps: 3, Cost: 0.5, PatchBytes: 10,
			Time: results.Phases{Model: 5, Total: 5}, Grade: g, Resolved: g.Resolved(),
		}
		if v == "" {
			r.Grade = nil
		}
		if change != nil {
			change(&r)
		}
		s.Records = append(s.Records, r)
		s.Manifest.Dataset.Instances = append(s.Manifest.Dataset.Instances, id)
	}
	suspicious := func(reason string) func(*results.Record) {
		return func(r *results.Record) { r.Grade.Suspicious = append(r.Grade.Suspicious, reason) }
	}
	for i, v := range vocab.Verdicts() {
		for n := range i%3 + 1 {
			add(fmt.Sprintf("org__%s-%d", string(v), n), v, nil)
		}
	}
	add("org__not_graded-1", "", nil)
	add("org__failed-1", "", func(r *results.Record) {
		r.Status, r.Outcome, r.Blame = "TransientFault", vocab.OutcomeInfrastructure, "transient"
	})
	add("other__tool-1", vocab.VerdictEmpty, func(r *results.Record) {
		r.Attempt, r.Status, r.Outcome, r.PatchBytes, r.Steps, r.Cost = 0, vocab.StatusUnknown, vocab.OutcomeInfrastructure, 0, 0, 0
	})
	add("org__two_reasons-1", vocab.VerdictResolved, func(r *results.Record) {
		r.Grade.Suspicious = []string{"resolved only with setup.cfg of the patch", "the log has markers of the official harness\x1b[31m"}
	})
	for n := range 6 {
		add(fmt.Sprintf("org__suspicious-%d", n), vocab.VerdictUnresolved, suspicious("resolved only with conftest.py of the patch"))
	}
	add("org__unstable-1", vocab.VerdictUnresolved, func(r *results.Record) {
		r.Grade.Unstable, r.Grade.Verdicts = true, []vocab.Verdict{vocab.VerdictUnresolved, vocab.VerdictResolved, vocab.VerdictTimedOut}
	})
	for n := range 2 {
		add(fmt.Sprintf("org__quarantined-%d", n), vocab.VerdictResolved, func(r *results.Record) { r.Quarantined, r.Resolved = true, nil })
	}
	return s
}

func notGradedYet() *results.Snapshot {
	s := gradedSnapshot()
	s.Records = s.Records[:2]
	for i := range s.Records {
		s.Records[i].Grade, s.Records[i].Resolved = &grades.Grade{Verdict: vocab.VerdictInfrastructure, Error: "no engine"}, nil
	}
	s.Manifest.Dataset.Instances = nil
	return s
}

func TestTables(t *testing.T) {
	cases := map[string]func(*bytes.Buffer) error{
		"status_graded.txt":  func(b *bytes.Buffer) error { return report.NewStatus(gradedSnapshot()).Write(b, true) },
		"status_no_rate.txt": func(b *bytes.Buffer) error { return report.NewStatus(notGradedYet()).Write(b, false) },
		"summary_graded.txt": func(b *bytes.Buffer) error {
			return report.Summary(b, report.SummaryData{Records: gradedSnapshot().Records, Spent: 12})
		},
		"summary_mixed.txt": func(b *bytes.Buffer) error { return report.Summary(b, summary()) },
		"summary_empty.txt": func(b *bytes.Buffer) error { return report.Summary(b, report.SummaryData{}) },
		"status_mixed.txt":  func(b *bytes.Buffer) error { return report.NewStatus(snapshot()).Write(b, true) },
		"status_empty.txt": func(b *bytes.Buffer) error {
			return report.NewStatus(&results.Snapshot{Dir: "runs/x"}).Write(b, false)
		},
		"summary_clean.txt": func(b *bytes.Buffer) error {
			return report.Summary(b, report.SummaryData{Records: mixed()[:2], Spent: 1.623})
		},
	}
	for name, write := range cases {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestReportsDoNotDependOnTheOrderOfRecords(t *testing.T) {
	var forward, backward bytes.Buffer
	d := summary()
	if err := report.Summary(&forward, d); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(d.Records)
	slices.Reverse(d.Asked)
	if err := report.Summary(&backward, d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(forward.String(), backward.String()); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

var errFull = errors.New("no space")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestAFailingWriterIsReported(t *testing.T) {
	if err := report.Summary(fullDisk{}, summary()); !errors.Is(err, errFull) {
		t.Errorf("Summary: %v, want error %v", err, errFull)
	}
	if err := report.NewStatus(snapshot()).Write(fullDisk{}, true); !errors.Is(err, errFull) {
		t.Errorf("Status: %v, want error %v", err, errFull)
	}
}

// Tables and texts to copy, such as commands and long ids, may be wider.
func TestTheTextOfASummaryStaysWithin80Columns(t *testing.T) {
	d := summary()
	for i := range d.Records {
		d.Records[i].Cost *= 100
		d.Records[i].Time.Queue, d.Records[i].Time.Replay, d.Records[i].Time.Backoff = 10, 30, 20
	}
	d.Spent *= 100
	d.Hints["flask__flask-5"] = strings.Repeat("check the registry and its address, ", 10)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"summary": func(b *bytes.Buffer) error { return report.Summary(b, d) },
		"status":  func(b *bytes.Buffer) error { return report.NewStatus(snapshot()).Write(b, false) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(b.String(), "instances have a result")
		text, _, _ = strings.Cut(text, "\nnext:")
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
	}
}

// A bill with calls of unknown cost says how much they may have cost, in this attempt or in earlier
// ones.
func TestABillHasCallsThatWereNotAnswered(t *testing.T) {
	lost := func(n int, held float64) results.Unanswered { return results.Unanswered{Lost: n, Held: held} }
	for _, c := range []struct {
		records []results.Record
		spent   float64
		want    string
	}{
		{[]results.Record{{Attempt: 1, Cost: 6, Unanswered: lost(8, 4)}}, 10, "cost $6.00; up to $10.00 with 8 calls of unknown cost\n"},
		{[]results.Record{{Attempt: 1, Cost: 6, Unanswered: lost(1, 4)}}, 10, "cost $6.00; up to $10.00 with 1 call of unknown cost\n"},
		{[]results.Record{{Attempt: 1, Cost: 6, Unanswered: lost(0, 4)}}, 10, "cost $6.00; up to $10.00 with calls of unknown cost\n"},
		{[]results.Record{{Attempt: 1, Cost: 6, Unanswered: lost(3, 0)}}, 6, "cost $6.00\n"},
		{
			[]results.Record{{Attempt: 1, Cost: 2, Unanswered: lost(1, 1)}, {Attempt: 2, Cost: 6, Unanswered: lost(1, 3)}},
			12, "cost $6.00 ($8.00 with all attempts ever made in this directory; up to $12.00 with 2 calls of unknown cost)\n",
		},
	} {
		for i := range c.records {
			c.records[i].InstanceID, c.records[i].Status, c.records[i].Outcome = "a__1", vocab.StatusSubmitted, vocab.OutcomeSubmitted
		}
		var b bytes.Buffer
		if err := report.Summary(&b, report.SummaryData{Records: c.records, Spent: c.spent}); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(b.String(), "\n  ", " "); !strings.Contains(got, c.want) {
			t.Errorf("want %q in\n%s", c.want, b.String())
		}
	}
}

// What another tool paid for is in no journal, and so not in what the directory's store has spent.
func TestABillHasTheAttemptsOfOtherTools(t *testing.T) {
	other := results.Record{InstanceID: "a__1", Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Cost: 2}
	own := results.Record{InstanceID: "a__2", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Cost: 1}
	again := own
	again.InstanceID = other.InstanceID
	for want, snap := range map[string]*results.Snapshot{
		"$2.00": {Records: []results.Record{other}},
		"$3.00": {Records: []results.Record{other, own}, Spent: 1},
		"$1.00 ($3.00 with all attempts ever made in this directory)": {Records: []results.Record{other, again}, Spent: 1},
	} {
		bill := report.BillOf(snap)
		if s := report.NewStatus(snap); bill.String() != want || s.Cost != bill.Cost || s.Spent != bill.Ever {
			t.Errorf("%s, in the status cost %v and spent %v; want %s", bill, s.Cost, s.Spent, want)
		}
	}
}

// An attempt without times has no part in a mean.
func TestTheTimePerAttemptIsOfTheTimedOnes(t *testing.T) {
	snap := &results.Snapshot{Records: []results.Record{
		{InstanceID: "a", Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Time: results.Phases{Model: 30, Total: 30}},
		{InstanceID: "b", Attempt: 1, Status: vocab.StatusRunning, Outcome: vocab.OutcomePending},
	}}
	var b bytes.Buffer
	if err := report.NewStatus(snap).Write(&b, false); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "per attempt (of 1)") || !regexp.MustCompile(`model +30s +30s`).MatchString(got) {
		t.Errorf("want 30s per attempt of 1 in\n%s", got)
	}
}

// Only a failure that may pass by itself is retried without a correction.
func TestASummaryNamesWhatNeedsACorrection(t *testing.T) {
	failed := func(id string, status vocab.Status) results.Record {
		return results.Record{InstanceID: id, Attempt: 1, Status: status, Outcome: vocab.OutcomeInfrastructure}
	}
	for want, records := range map[string][]results.Record{
		"0 of 1 instance has a result; 1 needs a correction of its configuration, script, row or image": {
			failed("a", vocab.StatusUsageFault),
		},
		"0 of 3 instances have a result; 1 failed for infrastructure reasons and will be retried; 2 need a correction of their configuration, script, row or image": {
			failed("a", vocab.StatusUsageFault), failed("b", vocab.StatusInstanceFault), failed("c", vocab.StatusHostFault),
		},
	} {
		var b bytes.Buffer
		if err := report.Summary(&b, report.SummaryData{Records: records}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, want+" cost") {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}

// The wait for another attempt's scrub was in Pull too: 409 of 300 seconds.
func TestAWaitForAScrubIsCountedOnce(t *testing.T) {
	sum := 0.0
	for _, part := range report.Parts(results.Phases{Pull: 130, Prepare: 2, ScrubWait: 111, Model: 160, Commands: 8, Total: 300, Scrub: 111}) {
		sum += part.Seconds
	}
	if sum != 300 {
		t.Errorf("the parts of 300 s are %v s", sum)
	}
}
