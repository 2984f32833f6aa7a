package logparse_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

func TestAnUnknownParserIsTheCallersFault(t *testing.T) {
	_, _, err := logparse.Parse("parse_log_pytset", "", logparse.Row{}, logparse.V5)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "did you mean parse_log_pytest?") ||
		!strings.Contains(fault.HintOf(err), "JSON") {
		t.Errorf("got %v (hint %q), want a usage fault that suggests parse_log_pytest and says how to bring one's own",
			err, fault.HintOf(err))
	}
}

func TestALogWithoutResultsGivesAnEmptyMap(t *testing.T) {
	for _, name := range logparse.Names() {
		got, _, err := logparse.Parse(name, "", logparse.Row{InstanceID: "jekyll__jekyll-9141"}, logparse.V5)
		if fault.KindOf(err) == fault.Instance { // it chooses by the instance, or reads JSON
			continue
		}
		if err != nil || got == nil || len(got) > 0 {
			t.Errorf("%s gives %v, %v; want an empty map", name, got, err)
		}
	}
}

func TestAllNamesOfTheReferenceAreThere(t *testing.T) {
	if n := len(logparse.Names()); n != 57 {
		t.Errorf("%d parsers, want 57", n)
	}
	for _, repo := range logparse.Repos() {
		if name, _ := logparse.ForRepo(repo); !slices.Contains(logparse.Names(), name) {
			t.Errorf("%s has the parser %s, which is not registered", repo, name)
		}
	}
}

func TestARepositoryHasTheParserOfV4(t *testing.T) {
	for repo, want := range map[string]string{
		"django/django": "parse_log_django", "BurntSushi/ripgrep": "parse_log_cargo", "chartjs/Chart.js": "parse_log_chart_js",
		"own/nothing": "",
	} {
		if name, ok := logparse.ForRepo(repo); name != want || ok != (want != "") {
			t.Errorf("%s has the parser %q, %v; want %q", repo, name, ok, want)
		}
	}
}

func TestRules(t *testing.T) {
	for _, r := range []logparse.Rules{logparse.V5, logparse.V4} {
		if got, err := logparse.ParseRules(r.String()); err != nil || got != r {
			t.Errorf("%v reads back as %v, %v", r, got, err)
		}
	}
	if _, err := logparse.ParseRules("v3"); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v for v3, want a usage fault", err)
	}
}

// One suite's name before a million tests must not take a million times its memory.
func TestNamesThatAreLongerThanTheLogAreRefused(t *testing.T) {
	for parser, log := range map[string]string{
		"parse_log_phpunit": strings.Repeat("x", 1<<20) + " (Suite)\n" + strings.Repeat("✔ a\n", 1000),
		"parse_log_doctest": `<doctest><TestCase name="` + strings.Repeat("x", 1<<20) + `">` +
			strings.Repeat("<SubCase/>", 1000) + "</TestCase></doctest>",
		"parse_log_calypso":     " ./node_modules/.bin/jest \n  " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("    ✓ a\n", 1000),
		"parse_log_highlightjs": "  " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("✓ a\n", 1000),
		"parse_log_karma":       "Starting browser\n  " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("✔ a\n", 1000),
	} {
		if _, _, err := logparse.Parse(parser, log, logparse.Row{}, logparse.V5); fault.KindOf(err) != fault.Instance {
			t.Errorf("%s: got %v, want an instance fault", parser, err)
		}
	}
}

func TestTestCasesDeepInEachOtherAreRefused(t *testing.T) {
	log := "<doctest>" + strings.Repeat(`<TestCase name="x">`, 1000) + strings.Repeat("</TestCase>", 1000) + "</doctest>"
	if _, _, err := logparse.Parse("parse_log_doctest", log, logparse.Row{}, logparse.V5); fault.KindOf(err) != fault.Instance {
		t.Errorf("got %v, want an instance fault", err)
	}
}

// FuzzParse checks that every parser takes any text: statuses for it or a fault that blames
// the instance, the same each time, and each name once in the order.
func FuzzParse(f *testing.F) {
	names := logparse.Names()
	for _, o := range oddLogs(f) {
		for i, n := range names {
			if n == o.Parser {
				f.Add(i, o.Log, o.ID, o.Version, false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, parser int, log, id, version string, v4 bool) {
		name, rules := names[uint(parser)%uint(len(names))], logparse.V5
		if v4 {
			rules = logparse.V4
		}
		row := logparse.Row{InstanceID: id, Version: version}
		statuses, order, err := logparse.Parse(name, log, row, rules)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok || fault.KindOf(err) != fault.Instance || statuses != nil {
				t.Fatalf("%s: got %v and the error %v, want no statuses and an instance fault", name, statuses, err)
			}
			return
		}
		if statuses == nil || len(order) != len(statuses) {
			t.Fatalf("%s: %d names in order, want the %d that have a status", name, len(order), len(statuses))
		}
		for _, n := range order {
			if _, ok := statuses[n]; !ok {
				t.Fatalf("%s: %q has no status", name, n)
			}
		}
		again, _, err := logparse.Parse(name, log, row, rules)
		if err != nil || len(again) != len(statuses) {
			t.Fatalf("%s: the second time gives %d statuses, %v; want %d", name, len(again), err, len(statuses))
		}
	})
}
