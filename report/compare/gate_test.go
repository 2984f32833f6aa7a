package compare_test

import (
	"bytes"
	"strings"
	"testing"

	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

func TestGates(t *testing.T) {
	better := []scores.Side{measured(entry("a", strings.Repeat("n", 40)), 1), measured(entry("b", strings.Repeat("y", 30)+strings.Repeat("n", 10)), 1.05)}
	for text, want := range map[string]string{
		"resolved >= -1pt":     "gate passed: resolved >= -1pt: the interval is +5",
		"resolved>0pt":         "gate passed: resolved > 0pt: the interval is +5",
		"resolved <= 10.5pt":   "gate failed: resolved <= 10.5pt: the interval reaches +8",
		"resolved < 100pt":     "gate passed: ",
		"resolved >= +60pt":    "gate failed: resolved >= +60pt: the interval reaches +5",
		"cost <= +10%":         "gate passed: cost <= +10%: the interval is +5.0% to +5.0%",
		"cost <= +4.9%":        "gate failed: cost <= +4.9%: the interval reaches +5.0%",
		" seconds  <  10%  ":   "gate passed: seconds < 10%: the interval is +5.0% to +5.0%",
		"steps <= 0%":          "gate passed: steps <= 0%: the interval is 0.0% to 0.0%",
		"steps < 0%":           "gate failed: steps < 0%: the interval reaches 0.0%",
		"steps >= -0.0000001%": "gate passed: ",
	} {
		g, err := compare.ParseGate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c := compare.New(better, compare.Options{Gates: []compare.Gate{g}})
		if r := c.Gates[0]; !strings.HasPrefix(r.Text, want) || r.Passed != strings.HasPrefix(want, "gate passed") || c.Passed() != r.Passed {
			t.Errorf("%s: got %+v, want %q", text, r, want)
		}
	}
}

// A gate applies to every entry against the first, and fails without an interval.
func TestAGateIsForAllEntries(t *testing.T) {
	g, err := compare.ParseGate("resolved > 0pt")
	if err != nil {
		t.Fatal(err)
	}
	cost, err := compare.ParseGate("cost <= 10%")
	if err != nil {
		t.Fatal(err)
	}
	entries := []scores.Side{entry("a", strings.Repeat("n", 40)), entry("b", strings.Repeat("y", 40)), entry("c", strings.Repeat("n", 40))}
	c := compare.New(entries, compare.Options{AllPairs: true, Gates: []compare.Gate{g, cost}})
	if len(c.Gates) != 4 || c.Passed() || !c.Gates[0].Passed || c.Gates[1].Passed {
		t.Fatalf("%+v", c.Gates)
	}
	if want := "gate failed: resolved > 0pt of c: the interval reaches "; !strings.HasPrefix(c.Gates[1].Text, want) {
		t.Errorf("got %q", c.Gates[1].Text)
	}
	if r := c.Gates[2]; r.Passed || r.Interval != nil || !strings.Contains(r.Text, "costs are not known on both sides of any instance") {
		t.Errorf("%+v", r)
	}
}

func TestGatesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "expected METRIC SIGN VALUE",
		"resolved":          "expected METRIC SIGN VALUE",
		"resolved == 0pt":   "expected METRIC SIGN VALUE",
		"resolved >= -1":    "-1 of what? resolved takes points (pt): write -1pt",
		"resolved >= -1%":   "-1% of what? resolved takes points (pt): write -1pt",
		"cost <= 10":        "10 of what? cost takes a percentage of the first one's mean (%): write 10%",
		"cost <= 10pt":      "write 10%",
		"price <= 10%":      `unknown metric "price": expected resolved, cost, steps or seconds`,
		"resolved >= 1e3pt": "expected METRIC SIGN VALUE",
		"resolved >= NaNpt": "expected METRIC SIGN VALUE",
		"resolved >= --1pt": "expected METRIC SIGN VALUE",
		"cost <= 10% or so": "expected METRIC SIGN VALUE",
		"steps >= " + strings.Repeat("9", 400) + "%": "value out of range",
	} {
		if _, err := compare.ParseGate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	for _, seed := range []string{"resolved >= -1pt", "cost <= +10%", "steps<5.5%", "", "resolved > pt", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := compare.ParseGate(text)
		if err != nil {
			return
		}
		c := compare.New([]scores.Side{entry("a", "yn"), entry("b", "yy")}, compare.Options{Gates: []compare.Gate{g}})
		if len(c.Gates) != 1 || c.Gates[0].Text == "" {
			t.Fatalf("%+v", c.Gates)
		}
	})
}

func gates(t *testing.T, texts ...string) []compare.Gate {
	t.Helper()
	var list []compare.Gate
	for _, text := range texts {
		g, err := compare.ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g)
	}
	return list
}

// 120 of 500 instances can look as good as the baseline while the others failed.
func TestAGateDoesNotPassWhileMostOfASideHasNoScore(t *testing.T) {
	base := entry("base", strings.Repeat("yn", 250))
	few := entry("new", strings.Repeat("yy", 60)+strings.Repeat("i", 380))
	most := entry("new", strings.Repeat("yy", 125)+strings.Repeat("i", 250))
	quarantined := entry("new", strings.Repeat("yy", 60)+strings.Repeat("q", 380))
	for _, c := range []struct {
		a, b   scores.Side
		share  float64
		passed bool
		want   string
	}{
		{base, few, 0, false, "gate failed: resolved >= -1pt: 380 of the 500 instances of new have no score (380 infrastructure)"},
		{few, base, 0, false, "380 of the 500 instances of new have no score"},
		{base, few, 0.76, true, "gate passed"},
		{base, few, 0.75, false, "more than 75.0% may not be without one"},
		{base, most, 0, true, "gate passed"},
		{base, quarantined, 0, true, "gate passed"},
	} {
		o := compare.Options{Gates: gates(t, "resolved >= -1pt", "resolved >= 0%"), MaxLeftOut: c.share, RatesOnly: true}
		got := compare.New([]scores.Side{c.a, c.b}, o)
		if c.a.Name == "new" { // the new entry is worse
			o.Gates = gates(t, "resolved >= -100pt")
			got = compare.New([]scores.Side{c.a, c.b}, o)
			c.want = strings.Replace(c.want, "-1pt", "-100pt", 1)
		}
		if got.Passed() != c.passed || !strings.Contains(got.Gates[0].Text, c.want) {
			t.Errorf("%s with %v: %+v, want passed %v, %q", c.b.Name, c.share, got.Gates, c.passed, c.want)
		}
	}
}

// Each of two sides can have a score for more than half of the instances while hardly any instance
// has a score on both sides.
func TestAGateDoesNotPassWhileMostOfAPairHasNoScore(t *testing.T) {
	a, b := entry("base", strings.Repeat("n", 260)+strings.Repeat("i", 240)), entry("new", strings.Repeat("i", 240)+strings.Repeat("y", 260))
	o := compare.Options{Gates: gates(t, "resolved >= -1pt", "resolved >= 50%"), RatesOnly: true}
	got := compare.New([]scores.Side{a, b}, o)
	want := "gate failed: resolved >= -1pt: 480 of the 500 instances of base and new have no score on one side, and more than 50.0% may not be without one"
	if got.Gates[0].Text != want || got.Gates[0].Passed || !got.Gates[1].Passed {
		t.Errorf("%+v, want %q, and that the rate of one passes", got.Gates, want)
	}
	if o.MaxLeftOut = 0.96; !compare.New([]scores.Side{a, b}, o).Passed() {
		t.Error("what is allowed does not pass")
	}
}

// A rate satisfies a gate if its whole interval does.
func TestGatesOfOneEntry(t *testing.T) {
	e := entry("new", strings.Repeat("y", 80)+strings.Repeat("n", 20)+"iq")
	for text, want := range map[string]string{
		"resolved >= 50%": "gate passed: resolved >= 50% of new: the interval is ",
		"resolved >= 79%": "gate failed: resolved >= 79% of new: the interval reaches ",
		"resolved < 95%":  "gate passed: ",
		"resolved <= 81%": "gate failed: ",
	} {
		one := compare.NewOne(e, compare.Options{Gates: gates(t, text)})
		if r := one.Gates[0]; !strings.HasPrefix(r.Text, want) || one.Passed() != strings.HasPrefix(want, "gate passed") {
			t.Errorf("%s: %+v, want %q", text, r, want)
		}
		pair := compare.New([]scores.Side{entry("base", strings.Repeat("y", 10)), e}, compare.Options{Gates: gates(t, text), RatesOnly: true})
		if len(pair.Gates) != 1 || pair.Gates[0].Text != one.Gates[0].Text {
			t.Errorf("beside another entry: %+v, want %q", pair.Gates, one.Gates[0].Text)
		}
	}
	one := compare.NewOne(entry("new", "yiii"), compare.Options{Gates: gates(t, "resolved >= 0%")})
	var b bytes.Buffer
	if err := one.Write(&b); err != nil || one.Passed() {
		t.Error(err, one.Gates)
	}
	for _, want := range []string{"1 instance with a score, resolved 100.0%", "left out: 3 infrastructure", "3 of the 4 instances of new have no score"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("got\n%s\nwant %q", b.String(), want)
		}
	}
	if none := compare.NewOne(entry("new", "iii"), compare.Options{Gates: gates(t, "resolved >= 0%")}); none.Passed() || none.Gates[0].Interval != nil {
		t.Errorf("%+v", none.Gates)
	}
	if gate, found := compare.OnDifference(gates(t, "resolved >= 1%", "cost <= 1%")); !found || gate != "cost <= 1%" {
		t.Errorf("%q, %v", gate, found)
	}
}
