package compare_test

import (
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
