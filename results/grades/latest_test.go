package grades_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

func TestLatest(t *testing.T) {
	const (
		yes, no, slow     = vocab.VerdictResolved, vocab.VerdictUnresolved, vocab.VerdictTimedOut
		infra, ungradable = vocab.VerdictInfrastructure, vocab.VerdictUngradeable
	)
	g := func(v vocab.Verdict, script, image string, repeat int) grades.Grade {
		return grades.Grade{InstanceID: "i", Attempt: 1, Patch: "p", Verdict: v, Script: script, ImageID: image, Repeat: repeat}
	}
	withdrawn := g(infra, "", "", 0)
	withdrawn.Withdraws = true
	for name, c := range map[string]struct {
		list []grades.Grade
		want string
	}{
		"one":                                {[]grades.Grade{g(infra, "", "", 0)}, "infrastructure []"},
		"the last":                           {[]grades.Grade{g(yes, "s", "1", 0), g(no, "s", "1", 0)}, "unresolved []"},
		"our failure changes nothing":        {[]grades.Grade{g(yes, "s", "1", 0), g(infra, "s", "1", 0), g(ungradable, "s", "1", 0)}, "resolved []"},
		"a failure before all is known":      {[]grades.Grade{g(yes, "s", "1", 0), g(infra, "s", "", 0), g(ungradable, "", "", 0)}, "resolved []"},
		"after a failure":                    {[]grades.Grade{g(infra, "s", "1", 0), g(no, "s", "1", 0)}, "unresolved []"},
		"the last of two failures":           {[]grades.Grade{g(infra, "s", "1", 0), g(ungradable, "s", "1", 0)}, "ungradeable []"},
		"our failure with another script":    {[]grades.Grade{g(yes, "s", "1", 0), g(infra, "t", "1", 0)}, "infrastructure []"},
		"our failure with another image":     {[]grades.Grade{g(yes, "s", "1", 0), g(infra, "s", "2", 0)}, "infrastructure []"},
		"repeated":                           {[]grades.Grade{g(yes, "s", "1", 1), g(yes, "s", "1", 2)}, "resolved [resolved resolved]"},
		"unstable: not resolved":             {[]grades.Grade{g(yes, "s", "1", 1), g(no, "s", "1", 2), g(yes, "s", "1", 3)}, "unresolved [resolved unresolved resolved] unstable"},
		"unstable: as many":                  {[]grades.Grade{g(no, "s", "1", 1), g(yes, "s", "1", 2)}, "unresolved [unresolved resolved] unstable"},
		"unstable: all different":            {[]grades.Grade{g(yes, "s", "1", 1), g(slow, "s", "1", 2), g(no, "s", "1", 3)}, "timed out [resolved timed out unresolved] unstable"},
		"a repetition failed and came later": {[]grades.Grade{g(infra, "s", "1", 1), g(no, "s", "1", 2), g(yes, "s", "1", 3), g(no, "s", "1", 1)}, "unresolved [unresolved resolved unresolved] unstable"},
		"a failure within":                   {[]grades.Grade{g(yes, "s", "1", 1), g(infra, "s", "1", 2), g(yes, "s", "1", 3)}, "resolved [resolved resolved]"},
		"repeated again":                     {[]grades.Grade{g(yes, "s", "1", 1), g(yes, "s", "1", 2), g(no, "s", "1", 1)}, "unresolved [unresolved]"},
		"repeated after one without":         {[]grades.Grade{g(yes, "s", "1", 0), g(no, "s", "1", 1)}, "unresolved [unresolved]"},
		"withdrawn":                          {[]grades.Grade{g(yes, "s", "1", 0), withdrawn}, "infrastructure []"},
		"repeated, and withdrawn":            {[]grades.Grade{g(yes, "s", "1", 1), g(yes, "s", "1", 2), withdrawn, g(infra, "s", "1", 1)}, "infrastructure [infrastructure]"},
		"withdrawn, and judged again":        {[]grades.Grade{g(yes, "s", "1", 0), withdrawn, g(infra, "s", "1", 0), g(no, "s", "1", 0)}, "unresolved []"},
		"one without after repeated":         {[]grades.Grade{g(yes, "s", "1", 1), g(no, "s", "1", 2), g(no, "s", "1", 0)}, "unresolved []"},
		"repeated in another image":          {[]grades.Grade{g(yes, "s", "1", 1), g(no, "s", "2", 2)}, "unresolved [unresolved]"},
	} {
		before := slices.Clone(c.list)
		all := grades.Latest(c.list)
		got := all[grades.Prediction{InstanceID: "i", Attempt: 1, Patch: "p"}]
		text := fmt.Sprintf("%v %v", got.Verdict, got.Verdicts)
		if got.Unstable {
			text += " unstable"
		}
		if text != c.want || len(all) != 1 {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
		for i := range before {
			if before[i].Verdict != c.list[i].Verdict || c.list[i].Verdicts != nil {
				t.Errorf("%s: the list was changed", name)
			}
		}
	}
}

func TestRepetitionsJudgedByOtherRulesAreNotMixed(t *testing.T) {
	list := []grades.Grade{
		{InstanceID: "i", Verdict: vocab.VerdictUnresolved, Repeat: 1, Rules: "v4"},
		{InstanceID: "i", Verdict: vocab.VerdictResolved, Repeat: 2, Rules: "v5"},
	}
	if g := grades.Latest(list)[list[0].Prediction()]; g.Verdict != vocab.VerdictResolved || g.Unstable {
		t.Errorf("%v, unstable %v; want the verdict of the later rules alone", g.Verdict, g.Unstable)
	}
}

func TestLatestKeepsPredictionsApart(t *testing.T) {
	list := []grades.Grade{
		{InstanceID: "i", Attempt: 1, Patch: "p", Verdict: vocab.VerdictResolved},
		{InstanceID: "i", Attempt: 1, Patch: "q", Verdict: vocab.VerdictUnresolved},
		{InstanceID: "i", Attempt: 2, Patch: "p", Verdict: vocab.VerdictNoApply},
		{InstanceID: "j", Attempt: 1, Patch: "", Verdict: vocab.VerdictEmpty},
	}
	if all := grades.Latest(list); len(all) != 4 || all[list[0].Prediction()].Verdict != vocab.VerdictResolved {
		t.Errorf("%v: want 4 predictions, the first resolved", all)
	}
	if grades.PatchDigest("") != "" || grades.PatchDigest("x") == grades.PatchDigest("y") {
		t.Error("digests: want an empty one for an empty patch, and different ones for different patches")
	}
}

func TestQuarantined(t *testing.T) {
	dir := t.TempDir()
	if ids, err := grades.Quarantined(dir); ids != nil || err != nil {
		t.Errorf("without a file: %q, %v; want none", ids, err)
	}
	for text, want := range map[string]string{
		"": "", "\ufeffb\r\n\r\n# all\n  a # gold is not resolved\nb\n#\n": "a b", "a#1 #x": "a#1",
		"a\nb c\n": "line 2: 2 words", "a\nb c # d": "line 2: 2 words",
	} {
		if err := os.WriteFile(filepath.Join(dir, grades.QuarantineFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		ids, err := grades.Quarantined(dir)
		got := strings.Join(ids, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
}
