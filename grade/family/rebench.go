package family

import (
	"context"
	"path"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
)

// SWE-rebench, its leaderboard and SWE-bench-extra have the form of SWE-bench 4, but each row has
// its commands and the name of its parser in install_config (SWE-rebench/SWE-bench-fork). The rule
// is SWE-bench's.
func isRebench(r row) bool { return r.object("install_config") != nil }

func fillRebench(r row, t *Task) error {
	config := r.object("install_config")
	c, err := commandsIn(r, config)
	if err != nil {
		return err
	}
	t.Script = evalscript.Python(scriptRow(r), c)
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.Workdir = testbed
	name, err := parserIn(r, config)
	if name == "" {
		return err
	}
	t.named(name)
	t.parse = asInV4(t.parse)
	return knownParser(r, t, "install_config.log_parser")
}

func commandsIn(r row, config map[string]any) (c evalscript.Commands, err error) {
	for key, to := range map[string]*[]string{"test_cmd": &c.TestCmd, "install": &c.Install, "eval_commands": &c.EvalCommands} {
		if *to, err = commandsOf(config[key]); err != nil {
			return c, r.fault("column install_config: %s: %w", key, err)
		}
	}
	if len(c.TestCmd) == 0 && r.options.EvalScript == "" {
		return c, r.fault("column install_config has no test_cmd").WithHint("%s", bringYourOwn)
	}
	return c, nil
}

// parserIn returns the name of the parser in install_config. It is "" with an error, and if the
// user's own parser replaces it.
func parserIn(r row, config map[string]any) (string, error) {
	if r.options.Parser != "" {
		return "", nil
	}
	name, _ := config["log_parser"].(string)
	if name == "" {
		return "", r.fault("column install_config has no log_parser").WithHint("%s", bringYourOwn)
	}
	return name, nil
}

// SWE-rebench V2 has many languages, and each repository in a folder with its name
// (SWE-rebench/SWE-rebench-V2, scripts/eval.py).
func isRebench2(r row) bool { return r.object("install_config") != nil && r.has("language") }

func fillRebench2(r row, t *Task) error {
	config := r.object("install_config")
	c, err := commandsIn(r, config)
	if err != nil {
		return err
	}
	t.Workdir = "/" + path.Base(r.in.Repo)
	t.Setup = "git reset -q --hard HEAD\n"
	t.Script = script([]string{
		"cd " + bash.Quote(t.Workdir) + needed,
		applyCommand("-v --3way --recount --ignore-space-change --whitespace=nowarn", r.in.TestPatch) + needed,
	}, untilOneFails(c.TestCmd))
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.rule = rebench2
	name, err := parserIn(r, config)
	if name == "" {
		return err
	}
	t.Parser = name
	t.parse = func(_ context.Context, log string, _ logparse.Rules) (logparse.Statuses, []string, error) {
		statuses, err := logparse.RebenchV2(name, log)
		return statuses, nil, err
	}
	return knownParser(r, t, "install_config.log_parser")
}

// rebench2 requires every test to have passed. Test runners add the duration to a test's name: as
// in the reference, names are compared without it.
func rebench2(s logparse.Statuses, t grade.Tests) outcome {
	timeless := make(logparse.Statuses, len(s))
	for name, status := range s {
		name = withoutTimes(name)
		if timeless[name] != logparse.Passed {
			timeless[name] = status
		}
	}
	ok := func(test string) bool { return timeless[withoutTimes(test)] == logparse.Passed }
	return all(t, ok, ok)
}

// withoutTimes applies logparse.NormalizeRebenchV2 until nothing is left to remove, since the
// parser has already removed some of it from the names in the log.
func withoutTimes(name string) string {
	for {
		short := logparse.NormalizeRebenchV2(name)
		if short == name {
			return name
		}
		name = short
	}
}
