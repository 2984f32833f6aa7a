package submission_test

import (
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/grade/submission"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

const patch = "diff --git a/x b/x\n"

// good returns a run of two instances that breaks no rule.
func good() *submission.Run {
	instance := func(id string, v vocab.Verdict) submission.Instance {
		resolved := v == vocab.VerdictResolved
		return submission.Instance{
			ID: id, Repo: "django/django", Predictions: 1, Attempt: 1, Model: "openai/gpt-5", Patch: patch, Results: 1, Trace: true, Verdict: v,
			Log: swebench.Log{
				Folder:   "logs/" + id,
				Sizes:    map[string]int64{"patch.diff": 1, "eval.sh": 1, "test_output.txt": 1, "report.json": 1, "run_instance.log": 1},
				Patch:    []byte(patch),
				Resolved: &resolved,
			},
		}
	}
	return &submission.Run{
		Dir: "run", Dataset: "demo", Split: "test", Batch: "1.0", Prompts: "batch's built-in default",
		Config: map[string]any{
			"agent":       map[string]any{"instance_template": "{{ task }}"},
			"environment": map[string]any{"network": "none", "run_args": []any{}},
		},
		Instances: []submission.Instance{instance("x__1", vocab.VerdictResolved), instance("x__2", vocab.VerdictUnresolved)},
	}
}

func metadata() submission.Metadata {
	yes, no := true, false
	return submission.Metadata{
		Name: "My Agent + GPT-5", Site: "https://my.example/agent", Report: "https://my.example/report",
		Authors: []string{"A. Author", "B. Author"}, Org: []string{"My Lab"}, OSModel: &no, OSSystem: &yes, Logo: "logo.png", Repo: "https://my.example/repo",
	}
}

func board(t *testing.T, name string) submission.Board {
	t.Helper()
	b, err := submission.FindBoard(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestARunThatBreaksNoRule(t *testing.T) {
	if f := submission.CheckLeaderboard(good(), submission.Target{Split: "test"}, metadata(), "20261123_x"); f.Err("x") != nil {
		t.Error(f.Violations)
	}
	lite := submission.Target{Board: board(t, "lite"), Split: "test"}
	if f := submission.CheckSBCLI(good(), lite); f.Err("x") != nil {
		t.Error(f.Violations)
	}
}

func TestEveryRuleOfTheLeaderboard(t *testing.T) {
	first := func(change func(*submission.Instance)) func(*submission.Run, *submission.Metadata, *submission.Target) {
		return func(r *submission.Run, _ *submission.Metadata, _ *submission.Target) { change(&r.Instances[0]) }
	}
	meta := func(change func(*submission.Metadata)) func(*submission.Run, *submission.Metadata, *submission.Target) {
		return func(_ *submission.Run, m *submission.Metadata, _ *submission.Target) { change(m) }
	}
	config := func(section, key string, value any) func(*submission.Run, *submission.Metadata, *submission.Target) {
		return func(r *submission.Run, _ *submission.Metadata, _ *submission.Target) {
			r.Config = map[string]any{section: map[string]any{key: value}}
		}
	}
	for want, change := range map[string]func(*submission.Run, *submission.Metadata, *submission.Target){
		"metadata: --name NAME is missing":                                      meta(func(m *submission.Metadata) { m.Name = "" }),
		"metadata: --site URL is missing":                                       meta(func(m *submission.Metadata) { m.Site = "" }),
		"metadata: --report URL is missing":                                     meta(func(m *submission.Metadata) { m.Report = "" }),
		"metadata: --authors NAME,... is missing":                               meta(func(m *submission.Metadata) { m.Authors = nil }),
		"metadata: --org NAME is missing":                                       meta(func(m *submission.Metadata) { m.Org = nil }),
		"metadata: --os-model=true|false is missing":                            meta(func(m *submission.Metadata) { m.OSModel = nil }),
		"metadata: --os-system=true|false is missing":                           meta(func(m *submission.Metadata) { m.OSSystem = nil }),
		"metadata: --site my.example: expected a link":                          meta(func(m *submission.Metadata) { m.Site = "my.example" }),
		"metadata: --logo logo.pdf: expected a file of type":                    meta(func(m *submission.Metadata) { m.Logo = "logo.pdf" }),
		"predictions: 1 instance (x__1) without one":                            first(func(in *submission.Instance) { *in = submission.Instance{ID: in.ID} }),
		"predictions: more than one for 1 instance (x__1)":                      first(func(in *submission.Instance) { in.Predictions = 2 }),
		"predictions: 2 values of model_name_or_path (other, openai/gpt-5)":     first(func(in *submission.Instance) { in.Model = "other" }),
		"pass@1: attempted again after a result: 1 instance (x__1)":             first(func(in *submission.Instance) { in.Results = 2 }),
		"grades: 1 instance (x__1) without a verdict; run `batch grade run`":    first(func(in *submission.Instance) { in.Verdict = "" }),
		"grades: 1 instance (x__1) without a verdict":                           first(func(in *submission.Instance) { in.Verdict = vocab.VerdictInfrastructure }),
		"logs: eval.sh is missing for 1 instance (x__1)":                        first(func(in *submission.Instance) { delete(in.Log.Sizes, "eval.sh") }),
		"logs: test_output.txt of x__1 has 200 MB":                              first(func(in *submission.Instance) { in.Log.Sizes["test_output.txt"] = 200_000_000 }),
		"logs: patch.diff is not the predicted patch of 1 instance (x__1)":      first(func(in *submission.Instance) { in.Log.Patch = []byte("other") }),
		"logs: report.json has another verdict than grades.jsonl for 1":         first(func(in *submission.Instance) { *in.Log.Resolved = false }),
		"trajs: 1 instance (x__1) without a trajectory":                         first(func(in *submission.Instance) { in.Trace = false }),
		"knowledge: run.env_startup_command uses hints_text":                    config("run", "env_startup_command", "echo {{ hints_text }}"),
		"knowledge: agent.instance_template uses FAIL_TO_PASS":                  config("agent", "instance_template", "{{ FAIL_TO_PASS }}"),
		"knowledge: environment.run_args[0] uses test_patch":                    config("environment", "run_args", []any{"test_patch"}),
		"predictions: the run has 2 of the 500 instances of SWE-bench Verified": func(_ *submission.Run, _ *submission.Metadata, t *submission.Target) { t.Board = mustFind("verified") },
		"instances: 1 instance (x__1) cannot be of SWE-bench Verified": func(r *submission.Run, _ *submission.Metadata, t *submission.Target) {
			t.Board = mustFind("verified")
			t.Board.Instances = 2
			r.Instances[0].Repo = "demo/roman"
		},
		"split: lite takes split test, and the run has dev": func(_ *submission.Run, _ *submission.Metadata, t *submission.Target) {
			*t = submission.Target{Board: mustFind("lite"), Split: "dev"}
		},
		`knowledge: the predictions of "oracle" are the dataset's own patches`: func(r *submission.Run, _ *submission.Metadata, _ *submission.Target) {
			for i := range r.Instances {
				r.Instances[i].Model = "oracle"
			}
		},
		"predictions: model_name_or_path is missing": func(r *submission.Run, _ *submission.Metadata, _ *submission.Target) {
			for i := range r.Instances {
				r.Instances[i].Model = ""
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			r, m, target := good(), metadata(), submission.Target{Split: "test"}
			change(r, &m, &target)
			f := submission.CheckLeaderboard(r, target, m, "20261123_x")
			if len(f.Violations) != 1 || !strings.Contains(f.Violations[0], want) {
				t.Errorf("got %q, want one violation: %q", f.Violations, want)
			}
			err := f.Err("exporting run")
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), want) {
				t.Errorf("got %v with hint %q, want a usage fault with a hint that lists it", err, fault.HintOf(err))
			}
		})
	}
}

func mustFind(name string) submission.Board {
	b, err := submission.FindBoard(name)
	if err != nil {
		panic(err)
	}
	return b
}

func TestAllBrokenRulesAreListed(t *testing.T) {
	r := good()
	r.Instances[0].Results = 2
	r.Instances[1].Trace = false
	f := submission.CheckLeaderboard(r, submission.Target{Split: "test"}, submission.Metadata{}, "20261123_x")
	if len(f.Violations) != 9 {
		t.Errorf("got %d violations, want the seven of the metadata and two more: %q", len(f.Violations), f.Violations)
	}
}

func TestWhatOtherVerdictsLeaveBehind(t *testing.T) {
	for verdict, files := range map[vocab.Verdict][]string{
		vocab.VerdictNoApply:  {"patch.diff", "run_instance.log"},
		vocab.VerdictTimedOut: {"patch.diff", "eval.sh", "test_output.txt", "run_instance.log"},
		vocab.VerdictEmpty:    nil,
	} {
		r := good()
		in := &r.Instances[0]
		in.Verdict, in.Log.Sizes, in.Log.Resolved = verdict, map[string]int64{}, nil
		if verdict == vocab.VerdictEmpty {
			in.Patch = ""
		}
		f := submission.CheckLeaderboard(r, submission.Target{Split: "test"}, metadata(), "20261123_x")
		if len(f.Violations) != len(files) {
			t.Errorf("%s without logs: got %q, want %d violations", verdict, f.Violations, len(files))
		}
		for _, name := range files {
			in.Log.Sizes[name] = 1
		}
		if f := submission.CheckLeaderboard(r, submission.Target{Split: "test"}, metadata(), "20261123_x"); f.Err("x") != nil {
			t.Errorf("%s with %q: %q", verdict, files, f.Violations)
		}
	}
}

func TestThePatchAsBytesIsThePrediction(t *testing.T) {
	r := good()
	r.Instances[0].Exact = []byte("diff \xff\n")
	r.Instances[0].Log.Patch = []byte("diff \xff\n")
	if f := submission.CheckLeaderboard(r, submission.Target{Split: "test"}, metadata(), "20261123_x"); f.Err("x") != nil {
		t.Error(f.Violations)
	}
}

func TestEveryRuleOfSBCLI(t *testing.T) {
	lite := submission.Target{Board: board(t, "lite"), Split: "test"}
	for want, c := range map[string]struct {
		target submission.Target
		change func(*submission.Run)
	}{
		"dataset: sb-cli evaluates swe-bench_lite, swe-bench_verified and swe-bench-m, and this is demo": {target: submission.Target{Split: "test"}},
		`split: sb-cli has no split "dev" of swe-bench_verified`:                                         {target: submission.Target{Board: board(t, "verified"), Split: "dev"}},
		`split: sb-cli has no split "train" of swe-bench_lite`:                                           {target: submission.Target{Board: board(t, "lite"), Split: "train"}},
		"predictions: more than one for 1 instance (x__1)":                                               {lite, func(r *submission.Run) { r.Instances[0].Predictions = 2 }},
		"predictions: 2 values of model_name_or_path":                                                    {lite, func(r *submission.Run) { r.Instances[0].Model = "other" }},
		"predictions: the run has none":                                                                  {lite, func(r *submission.Run) { r.Instances = []submission.Instance{{ID: "x__1", Repo: "django/django"}} }},
	} {
		t.Run(want, func(t *testing.T) {
			r := good()
			if c.change != nil {
				c.change(r)
			}
			f := submission.CheckSBCLI(r, c.target)
			if len(f.Violations) != 1 || !strings.Contains(f.Violations[0], want) {
				t.Errorf("got %q, want one violation: %q", f.Violations, want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	whole := good()
	for len(whole.Instances) < 500 {
		whole.Instances = append(whole.Instances, whole.Instances[0])
	}
	network := good()
	network.Config = map[string]any{"environment": map[string]any{"network": "bridge"}}
	odd := good()
	odd.Instances[0].Suspicious = []string{"suspicious: resolved only with conftest.py of the patch"}
	odd.Instances[1].Quarantined, odd.Instances[1].Said = true, 2
	unsent := good()
	unsent.Instances[1] = submission.Instance{ID: "x__2", Repo: "django/django"}
	bare := metadata()
	bare.Logo, bare.Repo = "", ""
	none, verified := submission.Target{Split: "test"}, submission.Target{Board: board(t, "verified"), Split: "test"}
	for want, f := range map[string]submission.Findings{
		"since 2025-11-18, SWE-bench Verified takes":               submission.CheckLeaderboard(whole, verified, metadata(), "20261123_x"),
		"network of the agent: bridge; the point":                  submission.CheckLeaderboard(network, none, metadata(), "20261123_x"),
		"suspicious: 1 instance (x__1)":                            submission.CheckLeaderboard(odd, none, metadata(), "20261123_x"),
		"with the verb say of batch ctl: 1 instance (x__2);":       submission.CheckLeaderboard(odd, none, metadata(), "20261123_x"),
		"in quarantine here":                                       submission.CheckLeaderboard(odd, none, metadata(), "20261123_x"),
		"--logo FILE":                                              submission.CheckLeaderboard(good(), none, bare, "20261123_x"),
		"name it with --artifacts":                                 submission.CheckLeaderboard(whole, verified, bare, "20261123_x"),
		"rename out for the pull request":                          submission.CheckLeaderboard(good(), none, metadata(), "some/out"),
		"and this is demo":                                         submission.CheckLeaderboard(good(), none, metadata(), "20261123_x"),
		"evaluate the predictions with sb-cli":                     submission.CheckLeaderboard(good(), submission.Target{Board: board(t, "multimodal"), Split: "test"}, metadata(), "x"),
		"1 instance (x__2) without a prediction: not in the file":  submission.CheckSBCLI(unsent, verified),
		"the run has 2 of the 500 instances of swe-bench_verified": submission.CheckSBCLI(good(), verified),
	} {
		if f.Err("x") != nil || !strings.Contains(strings.Join(f.Notes, "\n"), want) {
			t.Errorf("got notes %q and violations %q, want the note %q alone", f.Notes, f.Violations, want)
		}
	}
	if f := submission.CheckLeaderboard(whole, verified, metadata(), "20261123_x"); len(f.Notes) != 1 {
		t.Errorf("got notes %q, want the one about research", f.Notes)
	}
}

func TestBoardOf(t *testing.T) {
	for name, want := range map[string]string{
		"verified": "verified ", "lite": "lite ", "full": "test ", "multilingual": "multilingual ", "multimodal": "multimodal ",
		"SWE-bench/SWE-bench_Verified": "verified ", "princeton-nlp/SWE-bench": "test ", "SWE-bench/SWE-bench_Multimodal": "multimodal ",
		"data/SWE-bench_Lite-dev.parquet": "lite dev", "SWE-bench_Verified-test.parquet": "verified test", "swe-bench-test.jsonl.gz": "test test",
		"demo": "", "smith": "", "SWE-bench/SWE-smith": "", "SWE-bench-Live/SWE-bench-Live": "", "ScaleAI/SWE-bench_Pro": "", "rows.jsonl": "", "test": "", "test.parquet": "", "": "",
	} {
		b, split, ok := submission.BoardOf(name)
		got := ""
		if ok {
			got = b.Name + " " + split
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
