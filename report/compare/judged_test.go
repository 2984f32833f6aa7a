package compare_test

import (
	"strings"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/scores"
	"batch.example/batch/vocab"
)

// judgedBy gives an entry a grade for each score, modified by change.
func judgedBy(e scores.Side, change func(i int, g *grades.Grade)) scores.Side {
	a := &e.Runs[0]
	a.Snapshot = &results.Snapshot{}
	i := 0
	for _, id := range []string{"r0__p-00", "r1__p-01", "r2__p-02", "r3__p-03"} {
		g := &grades.Grade{
			InstanceID: id, Rules: "v5", Parser: "pytest", Script: "s", ImageID: "i", Verdict: vocab.VerdictResolved,
			Basis: grades.Basis{Tests: "t", Files: "f", Gold: "g", Limits: "l", Network: "none", Rules: 3},
		}
		change(i, g)
		a.Snapshot.Records = append(a.Snapshot.Records, results.Record{InstanceID: id, Grade: g})
		i++
	}
	return e
}

func TestWhatWasJudgedByOtherThingsIsNamed(t *testing.T) {
	for want, change := range map[string]func(i int, g *grades.Grade){
		"":                                     func(int, *grades.Grade) {},
		"other rules (4 instances, v5 and v4)": func(_ int, g *grades.Grade) { g.Rules = "v4" },
		"another network (2 instances, none and net)":                                        func(i int, g *grades.Grade) { g.Basis.Network = []string{"none", "net"}[i%2] },
		"another parser (4 instances, pytest and x)":                                         func(_ int, g *grades.Grade) { g.Parser = "x" },
		"other expected tests (1 instance)":                                                  func(i int, g *grades.Grade) { g.Basis.Tests = strings.Repeat("t", 1+i/3) },
		"another eval script (4 instances)":                                                  func(_ int, g *grades.Grade) { g.Script = "z" },
		"another version of the row (files of the tests, gold patch or setup) (4 instances)": func(_ int, g *grades.Grade) { g.Basis.Gold = "z" },
		"another image (4 instances)":                                                        func(_ int, g *grades.Grade) { g.ImageID = "z" },
		"other rules of batch itself (4 instances)":                                          func(_ int, g *grades.Grade) { g.Basis.Rules = 4 },
		"other limits (4 instances)":                                                         func(_ int, g *grades.Grade) { g.Basis.Limits = "z" },
		"another version of the parser's program (4 instances)":                              func(_ int, g *grades.Grade) { g.Basis.Parser = "z" },
		"what the verdict was made by is not recorded on one side (4 instances)":             func(_ int, g *grades.Grade) { g.Basis = grades.Basis{} },
		"other expected tests (4 instances); another eval script (4 instances); an":          func(_ int, g *grades.Grade) { g.Basis.Tests, g.Script, g.ImageID = "z", "z", "z" },
	} {
		same := func(int, *grades.Grade) {}
		c := compare.New([]scores.Side{judgedBy(entry("a", "ynyn"), same), judgedBy(entry("b", "nyny"), change)}, compare.Options{RatesOnly: true})
		notes := strings.Join(c.Notes, "\n")
		if want == "" && (strings.Contains(notes, "not made in the same way") || len(c.Pairs[0].Judged) > 0) || !strings.Contains(notes, want) {
			t.Errorf("%s: got %s", want, notes)
		}
	}
}

// Only instances with a score on both sides are compared.
func TestAVerdictThatIsNotComparedIsNotNamed(t *testing.T) {
	same := func(int, *grades.Grade) {}
	other := func(i int, g *grades.Grade) { g.Rules = "v4" }
	c := compare.New([]scores.Side{judgedBy(entry("a", "yyyi"), same), judgedBy(entry("b", "ngyy"), other)}, compare.Options{RatesOnly: true})
	if list := c.Pairs[0].Judged; len(list) != 1 || list[0].Instances != 2 {
		t.Errorf("%+v, want 2 instances", list)
	}
}
