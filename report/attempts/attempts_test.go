package attempts

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// entry makes an entry from one line per instance: its repository, then one letter per attempt: +
// (resolved), - (not), i (infrastructure), g (not graded) or . (not asked for). Each attempt costs
// a dollar.
func entry(lines ...string) scores.Side {
	e := scores.Side{Name: "model", Model: "m/one"}
	for n, line := range lines {
		repo, marks, _ := strings.Cut(line, " ")
		for i, mark := range marks {
			if i == len(e.Runs) {
				e.Runs = append(e.Runs, scores.Run{Path: fmt.Sprintf("runs/%d", i+1), Scores: map[string]scores.Score{}})
			}
			cost := 1.0
			s := scores.Score{ID: fmt.Sprintf("%s__%d", repo, n+1), Repo: repo, Cost: &cost}
			switch mark {
			case '+', '-':
				resolved := mark == '+'
				s.Resolved = &resolved
			case 'i':
				s.Left, s.Cost = scores.Infrastructure, nil
			case 'g':
				s.Left = scores.NotGraded
			case '.':
				continue
			}
			e.Runs[i].Scores[s.ID] = s
		}
	}
	return e
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-12 {
		t.Errorf("%s: %v, want %v", what, value(got), want)
	}
}

func value(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func TestByHand(t *testing.T) {
	// c of n: 2 of 4, 4 of 4, 0 of 4, 1 of 2.
	table := New(entry("a ++--", "a ++++", "b ----", "b +-i."))
	if table.Attempts != 4 || table.Instances != 4 || table.Counted != 4 || len(table.Rows) != 4 {
		t.Fatalf("%+v", table)
	}
	// pass@1 = mean(1/2, 1, 0, 1/2) = 1/2; pass@2 = mean(1-1/6, 1, 0, 1) = 17/24;
	// pass@3 = mean(1, 1, 0) = 2/3, of three instances.
	near(t, "pass@1", table.Rows[0].PassAtK.Value, 0.5)
	near(t, "mean", table.Mean.Value, 0.5)
	near(t, "pass@2", table.Rows[1].PassAtK.Value, 17.0/24)
	near(t, "pass@3", table.Rows[2].PassAtK.Value, 2.0/3)
	// pass^2 = mean(1/6, 1, 0, 0); pass^4 = mean(0, 1, 0).
	near(t, "pass^1", table.Rows[0].PassHatK.Value, 0.5)
	near(t, "pass^2", table.Rows[1].PassHatK.Value, 7.0/24)
	near(t, "pass^4", table.Rows[3].PassHatK.Value, 1.0/3)
	// Clusters a: deviations 0 + 1/2, b: -1/2 + 0. SE = sqrt(2/1 * (1/4 + 1/4)) / 4.
	near(t, "clustered SE", table.Mean.SE, math.Sqrt(2*0.5)/4)
	for i, want := range []struct{ instances, few int }{{4, 0}, {4, 0}, {3, 1}, {3, 1}} {
		if r := table.Rows[i]; r.Instances != want.instances || r.TooFew != want.few || r.K != i+1 {
			t.Errorf("k = %d: %+v", i+1, r)
		}
		near(t, "cost", table.Rows[i].Cost, float64(i+1))
	}
	if len(table.Flaky) != 2 || table.Flaky[0] != (Flaky{"a__1", 2, 4}) || table.Flaky[1] != (Flaky{"b__4", 1, 2}) {
		t.Errorf("flaky are %v", table.Flaky)
	}
	if table.LeftOut[scores.Infrastructure] != 1 || table.LeftOut[scores.Missing] != 1 {
		t.Errorf("left out are %v", table.LeftOut)
	}
	if i := table.Rows[3].PassHatK.Interval; i == nil || i.Low > 1.0/3 || i.High < 1.0/3 {
		t.Errorf("the interval of pass^4 is %v", i)
	}
}

func TestOddEntries(t *testing.T) {
	for name, e := range map[string]scores.Side{
		"no attempts":    {Name: "x"},
		"no instances":   {Name: "x", Runs: []scores.Run{{Path: "a"}, {Path: "b"}}},
		"nothing graded": entry("a gg", "b ig"),
		"one instance":   entry("a +-"),
		"one attempt":    entry("a +"),
		"all resolved":   entry("a ++", "b ++"),
		"none resolved":  entry("a --", "a --"),
		"no repository":  entry(" +-", " ++"),
	} {
		table := New(e)
		text, err := json.Marshal(table)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, list := range []string{"rows", "flaky", "paths", "left_out"} {
			if strings.Contains(string(text), `"`+list+`":null`) {
				t.Errorf("%s: %s is null in %s", name, list, text)
			}
		}
		for _, r := range table.Rows {
			for _, estimate := range []Estimate{r.PassAtK, r.PassHatK} {
				if i := estimate.Interval; i != nil && !(i.Low >= 0 && i.High <= 1 && i.Low <= *estimate.Value && *estimate.Value <= i.High) {
					t.Errorf("%s, k = %d: %v is not in %v", name, r.K, *estimate.Value, *i)
				}
			}
		}
		if err := table.Write(&bytes.Buffer{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func selection(id, decided string, choices, attempt int, cost float64) selections.Selection {
	one, all := cost/2, cost
	s := selections.Selection{InstanceID: id, By: "program", Decided: decided, Choices: choices, Attempt: attempt, AttemptsCost: &all, Why: "because\x1b[31m"}
	for i := range 2 {
		s.Candidates = append(s.Candidates, selections.Candidate{Attempt: i + 1, Cost: &one})
	}
	return s
}

// best is a selection at five instances: at most 3 of 4 can be found, and two are.
func best() Best {
	e := entry("a +-", "a -+", "b +-", "b --", "b gg", "c ii")
	chosen := entry("a +", "a +", "b -", "b -", "b g")
	list := []selections.Selection{
		selection("a__1", "program", 2, 1, 2), selection("a__2", "program", 2, 2, 2), selection("b__3", "majority", 2, 2, 2),
		selection("b__4", "majority", 1, 1, 4), selection("b__5", "program", 2, 1, 2),
	}
	return NewBest(e, "./choose.py\x1b[31m", list, chosen.Runs[0])
}

func TestBestOfN(t *testing.T) {
	b := best()
	if b.Instances != 6 || b.Selected != 5 || b.Graded != 4 || b.Ungraded != 1 || len(b.Unselected) != 1 || b.Unselected[0] != "c__6" {
		t.Errorf("%+v", b)
	}
	near(t, "one attempt", b.One.Resolved.Value, 1.5/4)
	near(t, "best of 2", b.Chosen.Resolved.Value, 0.5)
	near(t, "any of 2", b.Any.Resolved.Value, 0.75)
	near(t, "cost of one", b.One.Cost, 5.0/4)
	near(t, "cost of the best", b.Chosen.Cost, 10.0/4)
	near(t, "cost of any", b.Any.Cost, 2.5)
	if b.Decided["program"] != 3 || b.Decided["majority"] != 2 {
		t.Errorf("decided %v", b.Decided)
	}
	if b := NewBest(scores.Side{}, "majority", nil, scores.Run{}); b.Graded != 0 || b.One.Resolved.Value != nil {
		t.Errorf("of nothing: %+v", b)
	}
}

func TestTexts(t *testing.T) {
	hostile := entry("a/b ++--", "a/b ++++", "c/d ----", "c/d +-i.", "e/f +---", "g/h igig")
	hostile.Name = "model\x1b[2J"
	hostile.Runs[0].Notes = []string{"a line\nis damaged"}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table":   func(b *bytes.Buffer) error { return New(hostile).Write(b) },
		"nothing": func(b *bytes.Buffer) error { return New(entry("a gg")).Write(b) },
		"best":    func(b *bytes.Buffer) error { return best().Write(b) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got.String() != string(want) {
			t.Errorf("%s: %v; wrote\n%s\nwant\n%s", path, err, &got, want)
		}
		if strings.Contains(got.String(), "\x1b") {
			t.Errorf("%s: text from outside controls the terminal", name)
		}
	}
}
