package compare_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/report/stats"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
)

// entry makes an entry with one attempt per text. A text has a letter for each instance: y
// resolved, n not, i infrastructure, g not graded, q quarantined, . not asked for. The instances
// are r0__p-0, r1__p-1 and so on, of four repositories.
func entry(name string, attempts ...string) scores.Side {
	e := scores.Side{Name: name, Model: "model-" + name}
	for n, text := range attempts {
		a := scores.Run{Path: fmt.Sprintf("runs/%s-%d", name, n+1), Scores: map[string]scores.Score{}}
		for i, c := range text {
			id := fmt.Sprintf("r%d__p-%02d", i%4, i)
			s := scores.Score{ID: id, Repo: scores.RepoOf(id)}
			switch c {
			case 'y', 'n':
				resolved := c == 'y'
				s.Resolved = &resolved
			case '.':
				continue
			default:
				s.Left = map[rune]scores.Reason{'i': scores.Infrastructure, 'g': scores.NotGraded, 'q': scores.Quarantined}[c]
			}
			a.Scores[id] = s
		}
		e.Runs = append(e.Runs, a)
	}
	return e
}

// measured gives the scores of an entry a cost, steps and seconds that grow with the instance.
func measured(e scores.Side, factor float64) scores.Side {
	for _, a := range e.Runs {
		for id, s := range a.Scores {
			n := float64(len(a.Scores)) + float64(id[len(id)-1]-'0')
			cost, steps, seconds := factor*n/10, int(n), 10*factor*n
			s.Cost, s.Steps, s.Seconds = &cost, &steps, &seconds
			a.Scores[id] = s
		}
	}
	return e
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestCountsByHand(t *testing.T) {
	//                                         0123456789
	a, b := entry("a", "yyynnnyiqg"), entry("b", "yynynyyyyi")
	p := *compare.New([]scores.Side{a, b}, compare.Options{}).Pair
	if p.N != 7 || p.Both != 3 || p.OnlyA != 1 || p.OnlyB != 2 || p.Neither != 1 {
		t.Errorf("counts: %+v", p)
	}
	if !near(p.RateA, 4.0/7) || !near(p.RateB, 5.0/7) || !near(p.Difference, 1.0/7) {
		t.Errorf("rates: %v %v %v", p.RateA, p.RateB, p.Difference)
	}
	if p.P < 0.5 || p.Method != stats.ByInstance || !p.Tied || p.Low > p.Difference || p.High < p.Difference || p.Holm != nil {
		t.Errorf("%+v", p)
	}
	want, _ := stats.Bootstrap{}.Rate([]float64{1, 1, 1, 0, 0, 0, 1}, make([]string, 7))
	if p.IntervalA != want {
		t.Errorf("interval of A: got %v, want %v", p.IntervalA, want)
	}
	if l := p.LeftOut; l.Instances != 3 || l.A[scores.Infrastructure] != 1 || l.A[scores.Quarantined] != 1 || l.A[scores.NotGraded] != 1 || l.B[scores.Infrastructure] != 1 || len(l.B) != 1 {
		t.Errorf("left out: %+v", l)
	}
	var ids []string
	for _, d := range p.Discordant {
		ids = append(ids, fmt.Sprintf("%s:%g,%g", d.ID, d.A, d.B))
	}
	if got := strings.Join(ids, " "); got != "r1__p-05:0,1 r2__p-02:1,0 r3__p-03:0,1" {
		t.Errorf("discordant: %s", got)
	}
	if p.Cost != nil || p.Steps != nil || p.Seconds != nil {
		t.Errorf("nothing was measured: %+v", p)
	}
}

// With two attempts, A's mean on the four instances is 1, 1/2, 1/2 and 0, B's 1, 1, 0 and 1.
func TestSeveralAttemptsByHand(t *testing.T) {
	c := compare.New([]scores.Side{entry("a", "yynni", "ynyni"), entry("b", "yyniq", "yynyy")}, compare.Options{})
	p := *c.Pair
	if p.N != 4 || !near(p.Both, 1.5) || !near(p.OnlyA, 0.5) || !near(p.OnlyB, 1.5) || !near(p.Neither, 0.5) {
		t.Errorf("counts: %+v", p)
	}
	if !near(p.RateA, 0.5) || !near(p.RateB, 0.75) || !near(p.Difference, 0.25) || p.HigherA != 1 || p.HigherB != 2 || p.P < 0.5 {
		t.Errorf("%+v", p)
	}
	if l := p.LeftOut; l.Instances != 1 || l.A[scores.Infrastructure] != 1 || l.B[scores.Quarantined] != 1 || l.Attempts != 1 {
		t.Errorf("left out: %+v", l)
	}
	flaky := c.Entries[0].Flaky
	if len(flaky) != 2 || flaky[0] != (compare.Flaky{ID: "r1__p-01", Resolved: 1, Scored: 2}) || flaky[1].ID != "r2__p-02" || len(c.Entries[1].Flaky) != 0 {
		t.Errorf("flaky: %+v, %+v", flaky, c.Entries[1].Flaky)
	}
	if len(c.Notes) == 0 || !strings.Contains(c.Notes[0], "sums of fractions") {
		t.Errorf("notes: %q", c.Notes)
	}
}

func TestMeasuresByHand(t *testing.T) {
	a, b := entry("a", strings.Repeat("yn", 10)), entry("b", strings.Repeat("y", 19)+"i")
	for i := range 20 { // instances that only one side knows are not compared
		id := fmt.Sprintf("r%d__p-%02d", i%4, i)
		x, y := a.Runs[0].Scores[id], b.Runs[0].Scores[id]
		ca, cb, sa, sb := float64(i), float64(2*i), 10, 12
		x.Cost, x.Steps = &ca, &sa
		if y.Cost, y.Steps = &cb, &sb; i == 0 {
			y.Cost = nil
		}
		a.Runs[0].Scores[id], b.Runs[0].Scores[id] = x, y
	}
	p := compare.New([]scores.Side{a, b}, compare.Options{}).Pair
	m := p.Cost // 1 to 18 against 2 to 36
	if m.N != 18 || !near(m.MeanA, 9.5) || !near(m.MeanB, 19) || !near(m.Difference, 9.5) || !near(m.Median, 9.5) || !near(*m.Relative, 1) {
		t.Errorf("cost: %+v", m)
	}
	if m.Interval == nil || !m.Interval.Contains(9.5) || m.RelativeInterval == nil || !near(m.RelativeInterval.Low, 1) || !near(m.RelativeInterval.High, 1) {
		t.Errorf("intervals: %+v %+v", m.Interval, m.RelativeInterval)
	}
	if s := p.Steps; s.N != 19 || !near(s.Difference, 2) || !near(s.Median, 2) || !near(*s.Relative, 0.2) {
		t.Errorf("steps: %+v", s)
	}
	if p.Seconds != nil {
		t.Errorf("seconds: %+v", p.Seconds)
	}
}

// random makes an entry with n instances that it resolves with a probability.
func random(r *rand.Rand, name string, n, attempts int, probability float64) scores.Side {
	var texts []string
	for range attempts {
		text := make([]byte, n)
		for i := range text {
			switch u := r.Float64(); {
			case u < 0.05:
				text[i] = "igq."[r.IntN(4)]
			case u < 0.05+0.95*probability:
				text[i] = 'y'
			default:
				text[i] = 'n'
			}
		}
		texts = append(texts, string(text))
	}
	return measured(entry(name, texts...), 0.5+r.Float64())
}

func TestExchangingTheSidesNegatesTheDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		n, attempts := 1+r.IntN(90), 1+r.IntN(3)
		a, b := random(r, "a", n, attempts, r.Float64()), random(r, "b", n, 1+r.IntN(3), r.Float64())
		o := compare.Options{Bootstrap: stats.Bootstrap{Draws: 1000, Level: []float64{0, 0.5, 0.9, 0.999}[r.IntN(4)]}}
		p, q := compare.New([]scores.Side{a, b}, o).Pair, compare.New([]scores.Side{b, a}, o).Pair
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("n %d: %v", n, err)
		}
		if p.N != q.N || !near(p.Difference, -q.Difference) || !near(p.Low, -q.High) || !near(p.High, -q.Low) || !near(p.P, q.P) {
			t.Fatalf("n %d: %+v\nexchanged: %+v", n, p, q)
		}
		if !near(p.OnlyA, q.OnlyB) || !near(p.Both, q.Both) || p.Tied != q.Tied || p.HigherA != q.HigherB || len(p.Discordant) != len(q.Discordant) {
			t.Fatalf("n %d: %+v\nexchanged: %+v", n, p, q)
		}
		if sum := p.Both + p.OnlyA + p.OnlyB + p.Neither; math.Abs(sum-float64(p.N)) > 1e-9 {
			t.Fatalf("the counts add up to %v of %d", sum, p.N)
		}
		if p.N > 0 && (p.Low > p.Difference+1e-12 || p.High < p.Difference-1e-12) {
			t.Fatalf("%v is not in %v to %v", p.Difference, p.Low, p.High)
		}
		if (p.Steps == nil) != (q.Steps == nil) || p.Steps != nil && math.Abs(p.Steps.Difference+q.Steps.Difference) > 1e-9 {
			t.Fatalf("steps: %+v\nexchanged: %+v", p.Steps, q.Steps)
		}
	}
}

func TestTheSameEntriesGiveTheSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := random(r, "a", 80, 2, 0.4), random(r, "b", 80, 2, 0.6)
	var first string
	for range 5 {
		text, err := json.Marshal(compare.New([]scores.Side{a, b}, compare.Options{Bootstrap: stats.Bootstrap{Draws: 1000, Seed: 7}}))
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		}
		if string(text) != first {
			t.Fatal("two comparisons of the same entries differ")
		}
	}
}

func TestSeveralEntries(t *testing.T) {
	good, same, bad := strings.Repeat("y", 40), "n"+strings.Repeat("y", 39), strings.Repeat("n", 36)+"yyyy"
	entries := []scores.Side{entry("bad", bad), entry("good", good), entry("same", same)}
	c := compare.New(entries, compare.Options{})
	if c.Pair != nil || len(c.Pairs) != 2 || c.Best != "good" || !slices.Equal(c.TiedSet, []string{"good", "same"}) || c.Common != 40 {
		t.Errorf("%+v", c)
	}
	for _, p := range c.Pairs {
		if p.A != "bad" || p.Tied || p.Holm == nil || *p.Holm < p.P || p.Low <= 0 {
			t.Errorf("%+v", p)
		}
	}
	// All pairs count, also hidden ones.
	all := compare.New(entries, compare.Options{AllPairs: true})
	if len(all.Pairs) != 3 || all.Pairs[2].A != "good" || !all.Pairs[2].Tied {
		t.Errorf("all pairs: %+v", all.Pairs)
	}
	p := stats.Holm([]float64{all.Pairs[0].P, all.Pairs[1].P, all.Pairs[2].P})
	for i, pair := range c.Pairs {
		if !near(*pair.Holm, p[i]) || !near(*all.Pairs[i].Holm, p[i]) {
			t.Errorf("Holm: %v and %v, want %v", *pair.Holm, *all.Pairs[i].Holm, p[i])
		}
	}
}

func TestTwoThatDiffer(t *testing.T) {
	c := compare.New([]scores.Side{entry("a", strings.Repeat("n", 40)), entry("b", strings.Repeat("y", 40))}, compare.Options{})
	if c.Tied || c.Difference != 1 || !slices.Equal(c.TiedSet, []string{"b"}) || c.Power.Needed == nil || *c.Power.Needed > 10 {
		t.Errorf("%+v, %+v", c.Pair, c.TiedSet)
	}
}

func TestNothingInCommon(t *testing.T) {
	for _, texts := range [][2]string{{"yy..", "..nn"}, {"ii", "yy"}, {"", ""}, {"q", "q"}} {
		c := compare.New([]scores.Side{entry("a", texts[0]), entry("b", texts[1])}, compare.Options{})
		if p, nothing := c.Nothing(); !nothing || p.A != "a" || p.B != "b" {
			t.Errorf("%q: %+v", texts, c.Pairs)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%q: %v", texts, err)
		}
	}
	c := compare.New([]scores.Side{entry("a", "y"), entry("b", "y")}, compare.Options{})
	if p, nothing := c.Nothing(); nothing {
		t.Errorf("%+v", p)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatDifferAreNoted(t *testing.T) {
	with := func(e scores.Side, m *manifest.Manifest) scores.Side {
		e.Runs[0].Snapshot = &results.Snapshot{Manifest: m}
		return e
	}
	one := manifest.Manifest{Model: "a", Config: map[string]any{"agent": map[string]any{"step_limit": 10}}, Dataset: manifest.Dataset{Name: "d", Digest: "1"}}
	other := manifest.Manifest{Model: "b", Config: map[string]any{"agent": map[string]any{"step_limit": 20}}, Dataset: manifest.Dataset{Name: "d", Digest: "2"}}
	c := compare.New([]scores.Side{with(entry("a", "y"), &one), with(entry("b", "y"), &other)}, compare.Options{})
	text := strings.Join(c.Notes, "\n")
	for _, want := range []string{"a and b ran different datasets", "1 setting that affects results: agent.step_limit"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in %q", want, text)
		}
	}
	if len(c.Settings) != 2 {
		t.Errorf("settings: %+v", c.Settings)
	}
	same := one
	same.Model = "b"
	if c := compare.New([]scores.Side{with(entry("a", "y"), &one), with(entry("b", "y"), &same)}, compare.Options{}); strings.Contains(strings.Join(c.Notes, "\n"), "differ") {
		t.Errorf("a difference of models is expected, want no note about it: %q", c.Notes)
	}
}

// Means say of how many instances they are, if not of all.
func TestAMeanOfAPartSaysSo(t *testing.T) {
	timed := func(e scores.Side) scores.Side {
		for id, s := range e.Runs[0].Scores {
			if !strings.HasSuffix(id, "-00") && !strings.HasSuffix(id, "-03") {
				s.Seconds = nil
				e.Runs[0].Scores[id] = s
			}
		}
		return e
	}
	sides := []scores.Side{timed(measured(entry("a", "ynynyn"), 1)), timed(measured(entry("b", "yynynn"), 2)), timed(measured(entry("c", "yynnnn"), 2))}
	for n, want := range map[int]string{2: "time of 2, mean", 3: "(of 2)"} {
		c := compare.New(sides[:n], compare.Options{})
		var text, markdown strings.Builder
		if err := errors.Join(c.Write(&text, false), c.WriteMarkdown(&markdown, false)); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{text.String(), markdown.String()} {
			if !strings.Contains(got, want) || strings.Contains(got, "cost of") || strings.Contains(got, "(of 6)") {
				t.Errorf("want %q in\n%s", want, got)
			}
		}
	}
}

// in spreads the scores of an entry over another number of repositories.
func in(repositories int, e scores.Side) scores.Side {
	for _, a := range e.Runs {
		for id, s := range a.Scores {
			n, _ := strconv.Atoi(id[len(id)-2:])
			s.Repo = fmt.Sprintf("r%d", n%repositories)
			a.Scores[id] = s
		}
	}
	return e
}

// The text says what the interval covers, and when no p value could be low enough.
func TestFewRepositoriesAreNoted(t *testing.T) {
	good, bad := strings.Repeat("y", 42), strings.Repeat("n", 42)
	few, instances, pairs := "instances of fewer than 6 repositories", "fewer than 6 instances, p is above 0.05", "so few repositories cannot show a difference among 3 entries"
	for name, c := range map[string]struct {
		entries []scores.Side
		want    []string
		better  bool
	}{
		"five repositories":         {[]scores.Side{in(5, entry("a", bad)), in(5, entry("b", good))}, []string{few}, true},
		"five instances":            {[]scores.Side{entry("a", bad[:5]), entry("b", good[:5])}, []string{few, instances}, false},
		"six repositories":          {[]scores.Side{in(6, entry("a", bad)), in(6, entry("b", good))}, nil, true},
		"six, of three entries":     {[]scores.Side{in(6, entry("a", bad)), in(6, entry("b", good)), in(6, entry("c", bad))}, nil, true},
		"six instances, of three":   {[]scores.Side{entry("a", bad[:6]), entry("b", good[:6]), entry("c", bad[:6])}, []string{few}, true},
		"five instances, of three":  {[]scores.Side{entry("a", bad[:5]), entry("b", good[:5]), entry("c", bad[:5])}, []string{few, pairs}, false},
		"seven, of three entries":   {[]scores.Side{in(7, entry("a", bad)), in(7, entry("b", good)), in(7, entry("c", bad))}, nil, true},
		"nothing for one of a pair": {[]scores.Side{in(7, entry("a", bad)), in(7, entry("b", good)), in(7, entry("c", "i"))}, nil, true},
	} {
		compared := compare.New(c.entries, compare.Options{})
		text := strings.Join(compared.Notes, "\n")
		for _, note := range []string{few, instances, pairs} {
			if got := strings.Contains(text, note); got != slices.Contains(c.want, note) {
				t.Errorf("%s: %q is in the notes: %v\n%s", name, note, got, text)
			}
		}
		if p := compared.Pairs[0]; p.Tied == c.better {
			t.Errorf("%s: tied is %v at p = %v of at least %v", name, p.Tied, p.P, p.LeastP)
		}
	}
}

// If the repositories disagree, more instances of the same repositories do not help, and the text
// says so.
func TestNoNumberOfInstancesIsSaid(t *testing.T) {
	a, b := in(6, entry("a", strings.Repeat("yynnnn", 10))), in(6, entry("b", strings.Repeat("nnyyyy", 10)))
	c := compare.New([]scores.Side{a, b}, compare.Options{})
	var text strings.Builder
	if err := c.Write(&text, false); err != nil {
		t.Fatal(err)
	}
	if want := "no number of instances of these repositories shows a difference of 33.3 points"; c.Power.Needed != nil || !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
		t.Errorf("want %q in\n%s", want, &text)
	}
}

// A file of another tool may have any cost. Sums that overflow are unknown; JSON cannot hold them,
// and the rest of the comparison is still needed.
func TestHugeCostsAreNotKnown(t *testing.T) {
	priced := func(e scores.Side, cost ...float64) scores.Side {
		n := 0
		for id, s := range e.Runs[0].Scores {
			s.Cost, s.Seconds = &cost[n%len(cost)], &cost[n%len(cost)]
			e.Runs[0].Scores[id] = s
			n++
		}
		return e
	}
	for name, costs := range map[string][2][]float64{
		"sums":         {{math.MaxFloat64}, {1}},
		"differences":  {{-1e308, 0, 0, 0, 0, 0, 0, 0}, {1.7e308, 0, 0, 0, 0, 0, 0, 0}},
		"shares":       {{5e-324}, {1e300}},
		"not a number": {{math.NaN(), math.Inf(1)}, {math.Inf(-1)}},
	} {
		a, b := priced(entry("a", "yyyynnnn"), costs[0]...), priced(entry("b", "yynnyynn"), costs[1]...)
		g, err := compare.ParseGate("cost <= 10%")
		if err != nil {
			t.Fatal(err)
		}
		c := compare.New([]scores.Side{a, b}, compare.Options{Gates: []compare.Gate{g}})
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.Passed() {
			t.Errorf("%s: the gate passed: %+v", name, c.Gates)
		}
	}
}
